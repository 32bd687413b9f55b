/** `/v1/tasks`: the generic query, the list, cancelling. */

import { Hono } from "hono";
import { databaseOf, lifeTimes } from "../config.ts";
import { ApiError } from "../errors.ts";
import { objectIdOf } from "../ids.ts";
import { listTasks } from "../quota.ts";
import type { Task } from "../tasks/task.ts";
import { authenticated, limited } from "./auth.ts";
import { readNoBody } from "./body.ts";
import { notAllowed, onTaskError, otherwise } from "./errors.ts";
import { type AppContext, type AppEnv, answer } from "./frame.ts";
import { choiceOf, listOf, pageOf } from "./page.ts";
import { answerStatus, findTask } from "./status.ts";
import { genericView, linksOf, taskData } from "./views.ts";

const statuses = ["queued", "in_progress", "completed", "failed"] as const;
const kinds = ["image", "video", "character", "remix"] as const;

export const tasks = new Hono<AppEnv>()
  .onError(onTaskError)
  .get("/", authenticated, limited("read"), list)
  .all("/", notAllowed("GET, HEAD"))
  .get("/:id", authenticated, limited("read"), (c) => answerStatus(c, c.req.param("id"), () => true, genericView))
  .post("/:id/cancel", authenticated, limited("read"), (c) => cancel(c, c.req.param("id")))
  .all(
    "/*",
    otherwise([
      [/\/tasks\/[^/]+$/, "GET, HEAD"],
      [/\/cancel$/, "POST"],
    ]),
  );

async function cancel(c: AppContext, taskId: string): Promise<Response> {
  await readNoBody(c);
  const id = objectIdOf(c.env.TASKS, taskId);
  const done = id && (await c.env.TASKS.get(id).cancel(c.get("caller").accountId));
  if (!done) throw new ApiError("task_not_found");
  c.set("task", taskId);
  if (!done.cancelled) throw new ApiError("task_already_final");
  return answer(c, await genericView(done.task, linksOf(c), c.get("language"), Date.now()));
}

/**
 * The ledger knows an account's tasks in their order and how the closed ones ended; what an open one is doing only its
 * object knows. So pages are filled from the ledger and each record is read.
 */
async function list(c: AppContext): Promise<Response> {
  const { limit, after } = pageOf(c);
  const status = choiceOf(c, "status", statuses);
  const kind = choiceOf(c, "kind", kinds);
  const { accountId } = c.get("caller");
  const outcome = status === "completed" || status === "failed" ? status : status && "open";
  const endedSince = Date.now() - lifeTimes(c.env).recordMs;
  const found: Task[] = [];
  let cursor = after;
  let hasMore = true;
  while (found.length <= limit && hasMore) {
    const rows = await listTasks(databaseOf(c.env, accountId), accountId, { limit: limit + 1, after: cursor, kind, outcome, endedSince });
    hasMore = rows.length > limit;
    cursor = rows.at(-1)?.taskId;
    const records = await Promise.all(rows.map(({ taskId }) => findTask(c, taskId)));
    found.push(...records.filter((task) => task !== undefined).filter((task) => !status || task.status === status));
  }
  const data = await Promise.all(found.slice(0, limit).map((task) => taskData(task, linksOf(c), c.get("language"), Date.now())));
  return answer(c, listOf(data, found.length > limit || hasMore));
}
