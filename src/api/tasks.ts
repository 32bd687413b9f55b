/** `/v1/tasks`: the list, cancelling; what else there is of a task has files of its own. */

import { Hono } from "hono";
import type * as z from "zod/mini";
import { allModels, deadlineSeconds, modelNamed } from "../catalog/models.ts";
import { lifeTimes } from "../config.ts";
import { ApiError } from "../errors.ts";
import { toObjectId } from "../ids.ts";
import { listTasks, type Place, readPlace } from "../db/ledger-reports.ts";
import { listReferenced } from "../db/references.ts";
import { admitted } from "./auth.ts";
import { maySee } from "./browser-tokens.ts";
import { readNoBody } from "./body.ts";
import { type AppContext, type AppEnv, answer } from "./frame.ts";
import { requireRow, toList } from "./page.ts";
import { query } from "./query.ts";
import { tasksQuery } from "./schema/queries.ts";
import { taskKinds } from "./schema/words.ts";
import { askTask, readQuestion } from "./status.ts";
import { showReceipt } from "./receipts.ts";
import { repeatCallback, showCallback } from "./task-callback.ts";
import { streamTask } from "./task-events.ts";

/** Every kind of task that a model can make. */
const sorts = allModels().flatMap(({ id, actions }) => taskKinds.filter((kind) => actions[kind]).map((kind) => ({ model: id, kind })));
/** The longest that a task may take, with the time that its settlement may be late. */
const longestMs = 1000 * Math.max(...Object.values(deadlineSeconds)) + 3_600_000;

export const tasks = new Hono<AppEnv>()
  .get("/", admitted("read"), query(tasksQuery), (c) => list(c, c.req.valid("query")))
  .post("/:id/cancel", admitted("read", "browser tokens"), (c) => cancel(c, c.req.param("id")))
  .get("/:id/events", admitted("read", "browser tokens"), (c) => streamTask(c, c.req.param("id")))
  .get("/:id/receipt", admitted("read"), (c) => showReceipt(c, c.req.param("id")))
  .get("/:id/callback", admitted("read"), (c) => showCallback(c, c.req.param("id")))
  .post("/:id/callback", admitted("submission"), (c) => repeatCallback(c, c.req.param("id")));

async function cancel(c: AppContext, taskId: string): Promise<Response> {
  await readNoBody(c);
  const id = maySee(c.get("caller"), taskId) ? toObjectId(c.env.TASKS, taskId) : undefined;
  const done = id && (await c.env.TASKS.get(id).cancel(readQuestion(c, "generic")));
  if (!done) throw new ApiError("task_not_found");
  c.set("task", taskId);
  if (done === "final") throw new ApiError("task_already_final");
  return answer(c, JSON.parse(done.text) as object);
}

/**
 * The ledger knows an account's tasks in their order and how the closed ones ended; what an open one is doing only its
 * object knows. So pages are filled from the ledger and each record is read.
 */
async function list(c: AppContext, { limit, after, status, kind, model: name, reference }: z.output<typeof tasksQuery>): Promise<Response> {
  const { accountId } = c.get("caller");
  let cursor: Place | undefined;
  await requireRow(after, async (id) => (cursor = await findPlace(c, id, reference)) !== undefined);
  const model = modelNamed(name ?? "")?.id;
  const filters = {
    limit: limit + 1,
    sorts: sorts.filter((sort) => (!kind || sort.kind === kind) && (!model || sort.model === model)),
    isNarrowed: kind !== undefined || model !== undefined,
    outcome: status === "completed" || status === "failed" ? status : status && ("open" as const),
    endedSince: Date.now() - lifeTimes(c.env).recordMs,
    longestMs,
  };
  const found: { status: string }[] = [];
  let hasMore = true;
  while (found.length <= limit && hasMore) {
    const page = { ...filters, after: cursor };
    const rows =
      reference === undefined ? await listTasks(c.env.DB, accountId, page) : await listReferenced(c.env.DB, accountId, reference, page);
    hasMore = rows.length > limit;
    cursor = rows.at(-1);
    const answers = await Promise.all(rows.map(({ taskId }) => askTask(c, taskId, "generic")));
    const tasks = await Promise.all(answers.flatMap((answer) => answer?.json<{ data: { status: string } }>() ?? []));
    found.push(...tasks.map(({ data }) => data).filter((task) => !status || task.status === status));
  }
  return answer(c, toList(found.slice(0, limit), found.length > limit || hasMore));
}

/** Where a task stands in the list; undefined when it is not in it. That of a reference is in the order in which records were made. */
async function findPlace(c: AppContext, taskId: string, reference: string | undefined): Promise<Place | undefined> {
  const { accountId } = c.get("caller");
  if (reference === undefined) return readPlace(c.env.DB, accountId, taskId);
  const id = toObjectId(c.env.TASKS, taskId);
  const task = id && (await c.env.TASKS.get(id).read(accountId));
  return task?.submission.reference === reference ? { at: task.createdAt, taskId } : undefined;
}
