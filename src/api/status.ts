/** The three status queries share all but their views: ask the task, wait if asked to, answer or say "not modified". */

import { ApiError, invalid } from "../errors.ts";
import { objectIdOf } from "../ids.ts";
import type { Answer, Question, ViewName } from "../views/task.ts";
import { type AppContext, assetBase } from "./frame.ts";

/** Answers of final tasks never change, so repeats are answered without asking the object. */
const finals = new Map<string, Answer>();
const mostFinals = 1_000;
const waitStepMs = 1_000;

export const questionOf = (c: AppContext, view: ViewName): Question => ({
  accountId: c.get("caller").accountId,
  view,
  language: c.get("language"),
  base: assetBase(c),
});

/** What the caller is answered about a task, or undefined: never issued, somebody else's, of another kind, or gone. */
export async function askTask(c: AppContext, taskId: string, view: ViewName): Promise<Answer | undefined> {
  const question = questionOf(c, view);
  const key = `${taskId} ${view} ${question.language} ${question.accountId} ${question.base}`;
  const known = finals.get(key);
  if (known && known.keptUntil! > Date.now()) return known;
  const id = objectIdOf(c.env.TASKS, taskId);
  const answer = id && (await c.env.TASKS.get(id).answer(question));
  if (answer?.keptUntil !== undefined) {
    if (finals.size >= mostFinals) finals.delete(finals.keys().next().value!);
    finals.set(key, answer);
  }
  return answer ?? undefined;
}

/** The answer about a task, or 404. `?wait=` holds it until the task is final or the seconds have passed. */
async function awaitTask(c: AppContext, taskId: string, view: ViewName): Promise<Answer> {
  c.set("task", taskId.slice(0, 64));
  const until = Date.now() + 1000 * waitSeconds(c);
  for (;;) {
    const answer = await askTask(c, taskId, view);
    if (!answer) throw new ApiError("task_not_found");
    const left = until - Date.now();
    if (answer.keptUntil !== undefined || left <= 0) return answer;
    // Asked every second: an object that waited itself would be billed for the time.
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
export async function answerStatus(c: AppContext, taskId: string, view: ViewName): Promise<Response> {
  const { etag, text, retryAfter } = await awaitTask(c, taskId, view);
  const isUnchanged = isKnown(c.req.header("if-none-match"), etag);
  // In one go: this is what callers ask most, and each header that is set on its own costs as much as all of them.
  return new Response(isUnchanged ? null : text, {
    status: isUnchanged ? 304 : 200,
    headers: {
      etag,
      "cache-control": "private, no-cache",
      vary: "Accept-Language",
      ...(!isUnchanged && { "content-type": "application/json", "content-language": c.get("language") }),
      ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    },
  });
}

/** Weak comparison (RFC 9110, 8.8.3.2): the mark of weakness does not count. */
const isKnown = (tags: string | undefined, etag: string) =>
  tags?.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag.slice(2)) ?? false;
