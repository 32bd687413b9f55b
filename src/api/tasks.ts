/** `/v1/tasks`: the list, and cancelling; other paths of a task have files of their own. */

import type * as z from "zod/mini";
import { allModels, deadlineSeconds, modelNamed } from "../catalog/models.ts";
import { once } from "../catalog/once.ts";
import { lifeTimes } from "../config.ts";
import { ApiError } from "../errors.ts";
import { toObjectId } from "../ids.ts";
import { listTasks, type Place, readPlace } from "../db/ledger-reports.ts";
import { withTasks } from "../tasks/unwritten.ts";
import { readUnwritten } from "../tasks/wallets.ts";
import { listReferenced } from "../db/references.ts";
import { admitted } from "./auth.ts";
import { maySee } from "./browser-tokens.ts";
import { readNoBody } from "./body.ts";
import { type AppContext, answer } from "./frame.ts";
import { isOpenAi } from "./openai.ts";
import { requireRow, toList } from "./page.ts";
import { readQuery } from "./query.ts";
import { routing } from "./router.ts";
import { tasksQuery } from "./schema/queries.ts";
import { taskKinds } from "./schema/words.ts";
import { askTask, forgetAnswers, readQuestion } from "./status.ts";
import { showReceipt } from "./receipts.ts";
import { repeatCallback, showCallback } from "./task-callback.ts";
import { streamTask } from "./task-events.ts";

/** All kinds of tasks that the model supports. */
const sorts = once(() =>
  allModels().flatMap(({ id, actions }) => taskKinds.filter((kind) => actions[kind]).map((kind) => ({ model: id, kind }))),
);
/** The longest duration of a task, plus the possible delay of its settlement. */
const longestMs = 1000 * Math.max(...Object.values(deadlineSeconds)) + 3_600_000;

export const tasks = routing()
  .get("/", admitted("read"), async (c) => list(c, await readQuery(c, tasksQuery)))
  .delete("/:id", admitted("read"), (c) => remove(c, c.req.param("id")))
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

/** Deletes a final task's files and record; its entry in the ledger stays. */
async function remove(c: AppContext, taskId: string): Promise<Response> {
  await readNoBody(c);
  const id = toObjectId(c.env.TASKS, taskId);
  if (!id) throw new ApiError("task_not_found");
  // Also if the RPC fails: the object may have deleted the task before its answer was lost.
  const removal = c.env.TASKS.get(id).remove(c.get("caller").accountId);
  const done = await removal.finally(() => forgetAnswers(taskId));
  if (!done) throw new ApiError("task_not_found");
  c.set("task", taskId);
  if (done === "open") throw new ApiError("task_not_final");
  if (done === "unavailable") throw new ApiError("unavailable");
  return c.body(null, 204);
}

interface ListedTask {
  status: string;
  model: string;
  metadata: { kind: string };
}

/**
 * The ledger has an account's tasks in order and the outcomes of settled ones; the state of an open task is only in its
 * object. Pages are therefore read from the ledger, and each record from its object.
 */
async function list(
  c: AppContext,
  { limit, after, status, kind, model: name, reference }: z.output<ReturnType<typeof tasksQuery>>,
): Promise<Response> {
  const { accountId } = c.get("caller");
  // Ask the wallet before D1: a task that is written in between is in both, and is listed once.
  const unwritten = await readUnwritten(c.env.WALLETS, accountId);
  let cursor: Place | undefined;
  await requireRow(
    after,
    async (id) =>
      (cursor =
        unwritten.find((entry) => entry.taskId === id && entry.kind !== "chat" && reference === undefined) ??
        (await findPlace(c, id, reference))) !== undefined,
  );
  const model = modelNamed(name ?? "")?.id;
  // OpenAI's list of videos includes remixes.
  const isOfKind = (one: string) => !kind || one === kind || (one === "remix" && isOpenAi(c.req.raw));
  const filters = {
    limit: limit + 1,
    sorts: sorts().filter((sort) => isOfKind(sort.kind) && (!model || sort.model === model)),
    isNarrowed: kind !== undefined || model !== undefined,
    outcome: status === "completed" || status === "failed" ? status : status && ("open" as const),
    endedSince: Date.now() - lifeTimes(c.env).recordMs,
    longestMs,
  };
  const found: ListedTask[] = [];
  let hasMore = true;
  while (found.length <= limit && hasMore) {
    const page = { ...filters, after: cursor };
    const rows =
      reference === undefined
        ? withTasks(unwritten, await listTasks(c.env.DB, accountId, page), page)
        : await listReferenced(c.env.DB, accountId, reference, page);
    hasMore = rows.length > limit;
    cursor = rows.at(-1);
    const answers = await Promise.all(rows.map(({ taskId }) => askTask(c, taskId, "generic")));
    const tasks = await Promise.all(answers.flatMap((answer) => answer?.json<{ data: ListedTask }>() ?? []));
    // Filtered again: D1 does not know the status of open tasks.
    found.push(
      ...tasks
        .map(({ data }) => data)
        .filter((task) => (!status || task.status === status) && isOfKind(task.metadata.kind) && (!model || task.model === model)),
    );
  }
  return answer(c, toList(found.slice(0, limit), found.length > limit || hasMore));
}

/** The position of a task in the list; undefined if it is not in it. Lists of a reference are in the order in which records were created. */
async function findPlace(c: AppContext, taskId: string, reference: string | undefined): Promise<Place | undefined> {
  const { accountId } = c.get("caller");
  const id = toObjectId(c.env.TASKS, taskId);
  if (reference === undefined)
    return (await readPlace(c.env.DB, accountId, taskId)) ?? (id && c.env.OPERATIONS?.findArchived(accountId, taskId));
  const task = id && (await c.env.TASKS.get(id).read(accountId));
  return task?.submission.reference === reference ? { at: task.createdAt, taskId } : undefined;
}
