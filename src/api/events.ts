/** `/v1/events`: the account's final tasks in the order in which they ended, for clients that were offline. */

import type * as z from "zod/mini";
import { lifeTimes } from "../config.ts";
import { listEndedTasks, settledAt } from "../db/ended-tasks.ts";
import { toObjectId } from "../ids.ts";
import { writeEnded } from "../tasks/wallets.ts";
import { eventTaskId, eventType, toEventId } from "../tasks/event.ts";
import { admitted } from "./auth.ts";
import { type AppContext, answer } from "./frame.ts";
import { requireRow, toList } from "./page.ts";
import { readQuery } from "./query.ts";
import { routing } from "./router.ts";
import { eventsQuery } from "./schema/queries.ts";

/** The interval between D1 queries while a caller waits; each reads at most one row. */
const waitStepMs = 2_000;

export const events = routing().get("/", admitted("read"), async (c) => list(c, await readQuery(c, eventsQuery)));

async function list(c: AppContext, { limit, after, wait = 0 }: z.output<ReturnType<typeof eventsQuery>>): Promise<Response> {
  const { accountId } = c.get("caller");
  const { DB, OPERATIONS, TASKS, WALLETS } = c.env;
  await writeEnded(WALLETS, accountId);
  let place: number | undefined;
  await requireRow(after, async (id) => {
    const taskId = eventTaskId(id);
    if (taskId !== undefined && toObjectId(TASKS, taskId))
      place = (await settledAt(DB, accountId, taskId)) ?? (await OPERATIONS?.findArchived(accountId, taskId))?.closedAt;
    return place !== undefined;
  });
  const until = Date.now() + 1000 * wait;
  for (;;) {
    const since = Math.max(place ?? 0, Date.now() - lifeTimes(c.env).recordMs);
    const rows = await listEndedTasks(DB, accountId, since, limit + 1);
    const left = until - Date.now();
    if (rows.length > 0 || left <= 0) {
      const data = rows.slice(0, limit).map(({ taskId, outcome, at }) => ({
        id: toEventId(taskId),
        type: eventType(outcome),
        at: Math.floor(at / 1000),
        task: taskId,
      }));
      return answer(c, toList(data, rows.length > limit));
    }
    await scheduler.wait(Math.min(waitStepMs, left));
    await writeEnded(WALLETS, accountId);
  }
}
