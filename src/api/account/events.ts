/** `/v1/events`: the account's final tasks and ended deliveries in the order in which they ended, for clients that were offline. */

import type { AppContext } from "../request/context.ts";
import { lifeTimes } from "../../config.ts";
import { deliveryEndedAt, isOfDelivery } from "../../db/delivery-events.ts";
import { listEndedTasks, settledAt } from "../../db/ledger-reports.ts";
import { toObjectId } from "../../base/ids.ts";
import { retryRestart } from "../../base/retry.ts";
import { toSeconds } from "../../base/times.ts";
import { eventTaskId, eventType, toEventId } from "../../tasks/answers/event.ts";
import { answer } from "../request/answer.ts";
import { type OpenWait, openWait } from "../request/open-wait.ts";
import { readQuery, requireRow, toList } from "../request/query.ts";
import { eventsQuery } from "../schema/queries.ts";

/** How often the wallet is asked while a caller waits. D1 is asked only once it has something new: thousands of waits may be open. */
const waitStepMs = 2_000;

export async function listEvents(c: AppContext): Promise<Response> {
  const { limit, after, wait: seconds = 0 } = readQuery(c, eventsQuery);
  const { accountId } = c.get("caller");
  const { DB, OPERATIONS, TASKS, WALLETS } = c.env;
  const write = () => retryRestart("list", { account: accountId }, async () => WALLETS.getByName(accountId).writeEnded());
  let written = await write();
  let place: number | undefined;
  await requireRow(after, async (id) => {
    const { taskId, ofDelivery } = eventTaskId(id) ?? {};
    const objectId = taskId === undefined ? undefined : toObjectId(TASKS, taskId);
    if (taskId === undefined || !objectId) return false;
    if (ofDelivery) place = await deliveryEndedAt(DB, accountId, taskId);
    place ??= (await settledAt(DB, accountId, taskId)) ?? (await OPERATIONS?.findArchived(accountId, taskId))?.closedAt;
    if (place !== undefined) return true;
    // A restored database has lost the event: the reader continues from the end of its task.
    const task = await retryRestart("read", taskId, async () => TASKS.get(objectId).read(accountId));
    place = task?.finalAt;
    return place !== undefined;
  });
  const until = Date.now() + 1000 * seconds;
  let wait: OpenWait | undefined;
  try {
    const read = () => listEndedTasks(DB, accountId, Math.max(place ?? 0, Date.now() - lifeTimes(c.env).recordMs), limit + 1);
    for (let rows = await read(); ;) {
      const left = until - Date.now();
      if (rows.length > 0 || left <= 0) {
        const data = rows.slice(0, limit).map(({ taskId, outcome, at }) => ({
          id: toEventId(taskId, isOfDelivery(outcome)),
          type: eventType(outcome),
          at: toSeconds(at),
          task: taskId,
        }));
        return answer(c, toList(data, rows.length > limit));
      }
      wait ??= await openWait(c);
      await wait.pause(Math.min(waitStepMs, left));
      const before = written;
      written = await write();
      // An object of the release before returns nothing.
      if (written !== before || (written as unknown) === undefined) rows = await read();
    }
  } finally {
    wait?.end();
  }
}
