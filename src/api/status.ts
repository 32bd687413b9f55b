/** The three status queries differ only in their views: query the task, wait if requested, answer or return 304. */

import { BoundedCache } from "../bounded-cache.ts";
import { ApiError } from "../errors.ts";
import { toObjectId } from "../ids.ts";
import { commonHeaders } from "../tasks/view-headers.ts";
import { type Answer, answerHeaders, finalAnswer, finalStatus, type Question, type ViewName } from "../tasks/status-answer.ts";
import { admit } from "./auth.ts";
import { maySee } from "./browser-tokens.ts";
import { onError } from "./errors.ts";
import { unlessKnown } from "./etag.ts";
import { type AppContext, assetBase, withMiddleware, queryParameter } from "./frame.ts";
import { parseParameter } from "./query.ts";
import { routing } from "./router.ts";
import { waitField } from "./schema/queries.ts";

/**
 * Answers of final tasks never change, so repeated queries are answered from this cache. A task has one answer for each view, language and
 * host.
 */
const finals = new BoundedCache<Answer>(8 * 1024 * 1024);
/** Removes the cached answers of a deleted task. Other isolates serve theirs for at most a minute. */
export const forgetAnswers = (taskId: string) => finals.deleteUnder(`${taskId} `);

const waitStepMs = 1_000;
/** Object ids of recent queries: callers query a task repeatedly, and computing its id costs as much as serialising the answer. */
const objectIds = new Map<string, DurableObjectId>();
const maxObjectIds = 4_096;

export const readQuestion = (c: AppContext, view: ViewName): Question => ({
  accountId: c.get("caller").accountId,
  view,
  language: c.get("language"),
  base: assetBase(c),
});

/**
 * The answer about a task with all headers. undefined if the task was never issued, belongs to another account, is of another kind, or is
 * deleted.
 */
export async function askTask(c: AppContext, taskId: string, view: ViewName): Promise<Response | undefined> {
  if (!maySee(c.get("caller"), taskId)) return undefined;
  const { language, accountId, base } = readQuestion(c, view);
  const question = `${view}/${language}/${accountId}/${base}`;
  const key = `${taskId} ${question}`;
  const kept = ({ text, ...answer }: Answer) =>
    new Response(text, { headers: { ...answerHeaders(answer, language), ...commonHeaders(c.get("requestId"), c.get("limit")) } });
  const known = finals.get(key);
  if (known?.keptUntil !== undefined && known.keptUntil > Date.now()) return kept(known);
  const id = objectIds.get(taskId) ?? toObjectId(c.env.TASKS, taskId);
  if (!id) return undefined;
  const response = await c.env.TASKS.get(id).fetch(`http://task/${c.get("requestId")}/${c.get("limit") ?? "-"}/${question}`);
  if (!response.ok) return undefined;
  if (!objectIds.has(taskId)) {
    if (objectIds.size >= maxObjectIds) objectIds.clear();
    objectIds.set(taskId, id);
  }
  // Only a final answer is cached. Headers of an object's response are immutable: it is copied if CORS headers will be added.
  if (response.status !== finalStatus) return c.get("allowOrigin") === undefined ? response : new Response(response.body, response);
  const answer = await finalAnswer(response);
  finals.set(key, answer, answer.text.length);
  return kept(answer);
}

/** The answer about a task, or 404. `?wait=` holds it until the task is final or the seconds have passed. */
async function awaitTask(c: AppContext, taskId: string, view: ViewName): Promise<Response> {
  c.set("task", taskId.slice(0, 64));
  const until = c.get("started") + 1000 * waitSeconds(c);
  for (;;) {
    const response = await askTask(c, taskId, view);
    if (!response) throw new ApiError("task_not_found");
    const left = until - Date.now();
    // A final answer has no Retry-After, so there is nothing to wait for.
    if (left <= 0 || !response.headers.has("retry-after")) return response;
    await response.body?.cancel();
    // Polled every second: if the object itself waited, its waiting time would be billed.
    await scheduler.wait(Math.min(waitStepMs, left));
  }
}

function waitSeconds(c: AppContext): number {
  const text = queryParameter(c, "wait");
  return text === undefined ? 0 : parseParameter("wait", waitField(), text);
}

/** Answers a status query with a view of the task `:id`. */
async function answerStatus(c: AppContext, view: ViewName): Promise<Response> {
  await admit(c, "read", "browser tokens");
  const response = await awaitTask(c, c.req.param("id") ?? "", view);
  c.set("hasCommonHeaders", true);
  return unlessKnown(c, response);
}

const asked = (view: ViewName) => withMiddleware((c) => answerStatus(c, view), onError);

/** One handler for a path, including its middleware: several handlers would make hono build a chain, which costs the most frequent request a tenth of its time. */
export const statusQueries = routing()
  .get("/v1/tasks/:id", asked("generic"))
  .get("/v1/videos/generations/:id", asked("video"))
  .get("/v1/characters_tasks/:id", asked("character"));
