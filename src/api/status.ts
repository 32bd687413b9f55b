/** The three status queries share all but their views: look the task up, wait if asked to, answer or say "not modified". */

import { ApiError, invalid } from "../errors.ts";
import { lifeTimes } from "../config.ts";
import { objectIdOf } from "../ids.ts";
import { isFinal, type Task } from "../tasks/task.ts";
import { type AppContext, answer } from "./frame.ts";
import type { Language } from "./messages.ts";
import { etagOf, type Link, linksOf, retryAfterOf } from "./views.ts";

/** Final records never change, so repeats are answered without asking their object. */
const finals = new Map<string, Task>();
const mostFinals = 1_000;
const waitStepMs = 1_000;

/** The caller's task, or undefined: never issued, somebody else's, or gone. */
export async function findTask(c: AppContext, taskId: string): Promise<Task | undefined> {
  const { accountId } = c.get("caller");
  const key = `${taskId} ${accountId}`;
  const known = finals.get(key);
  if (known && known.finalAt! + lifeTimes(c.env).recordMs > Date.now()) return known;
  const id = objectIdOf(c.env.TASKS, taskId);
  const found = id && (await c.env.TASKS.get(id).fetch(`http://task/${accountId}`));
  if (!found?.ok) return undefined;
  const task = await found.json<Task>();
  if (isFinal(task)) {
    if (finals.size >= mostFinals) finals.delete(finals.keys().next().value!);
    finals.set(key, task);
  }
  return task;
}

/** The task of a status query, or 404. `?wait=` holds the answer until it is final or the seconds have passed. */
async function awaitTask(c: AppContext, taskId: string, isOfKind: (task: Task) => boolean): Promise<Task> {
  c.set("task", taskId.slice(0, 64));
  const until = Date.now() + 1000 * waitSeconds(c);
  for (;;) {
    const task = await findTask(c, taskId);
    if (!task || !isOfKind(task)) throw new ApiError("task_not_found");
    const left = until - Date.now();
    if (isFinal(task) || left <= 0) return task;
    // Read every second: an object that waited itself would be billed for the time.
    await scheduler.wait(Math.min(waitStepMs, left));
  }
}

function waitSeconds(c: AppContext): number {
  const text = c.req.query("wait");
  if (text === undefined) return 0;
  if (!/^\d{1,2}$/.test(text) || Number(text) < 1 || Number(text) > 60)
    throw invalid("wait", "not_one_of", { allowed: "1-60" }, { minimum: 1, maximum: 60 });
  return Number(text);
}

/** Answers a status query with the view of its path. */
export async function answerStatus(
  c: AppContext,
  taskId: string,
  isOfKind: (task: Task) => boolean,
  view: (task: Task, link: Link, language: Language, now: number) => Promise<object>,
): Promise<Response> {
  const task = await awaitTask(c, taskId, isOfKind);
  const now = Date.now();
  const etag = etagOf(task, c.get("language"), now);
  c.header("etag", etag);
  c.header("cache-control", "private, no-cache");
  const retryAfter = retryAfterOf(task);
  if (retryAfter !== undefined) c.header("retry-after", String(retryAfter));
  // Weak comparison (RFC 9110, 8.8.3.2): the mark of weakness does not count.
  const asked = c.req
    .header("if-none-match")
    ?.split(",")
    .map((tag) => tag.trim());
  if (asked?.some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag.slice(2))) return c.body(null, 304);
  return answer(c, await view(task, linksOf(c), c.get("language"), now));
}
