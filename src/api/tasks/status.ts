/** The three status queries differ only in their views: query the task, wait if requested, answer or return 304. Submissions wait here too. */

import { answerTagged } from "../request/answer.ts";
import { type AppContext, assetBase, type Handle, hasQuery } from "../request/context.ts";
import { BoundedCache } from "../../base/bounded-cache.ts";
import { ApiError } from "../../base/errors.ts";
import { toObjectId } from "../../base/ids.ts";
import { retryRestart } from "../../base/retry.ts";
import type { Answer, Question, ViewName } from "../../tasks/answers/status.ts";
import { maySee } from "../request/client-tokens.ts";
import { type OpenWait, openWait } from "../request/open-wait.ts";
import { readQuery } from "../request/query.ts";
import { isOwnTask } from "../request/roles.ts";
import { statusQuery } from "../schema/queries.ts";

/**
 * Answers of final tasks never change, so repeated queries are answered from this cache. A task has one answer for each view, language and
 * host.
 */
const finals = new BoundedCache<Answer>(8 * 1024 * 1024);
/** Removes the cached answers of a deleted task. Other isolates serve theirs for at most a minute. */
export const forgetAnswers = (taskId: string) => finals.deleteUnder(`${taskId} `);

const waitStepMs = 1_000;

export const readQuestion = (c: AppContext, view: ViewName): Question => ({
  accountId: c.get("caller").accountId,
  view,
  language: c.get("language"),
  base: assetBase(c),
});

/** The answer about a task; undefined if it was never issued, belongs to another account or member, is of another kind, or is deleted. */
export const askTask = async (c: AppContext, taskId: string, view: ViewName): Promise<Answer | undefined> =>
  maySee(c.get("caller"), taskId) && (await isOwnTask(c, taskId)) ? askAnyTask(c, taskId, view) : undefined;

/** The same about a task that the caller has just submitted: its client token was opened before. */
export const askSubmitted = (c: AppContext, taskId: string): Promise<Answer | undefined> => askAnyTask(c, taskId, "generic");

async function askAnyTask(c: AppContext, taskId: string, view: ViewName): Promise<Answer | undefined> {
  const question = readQuestion(c, view);
  const key = `${taskId} ${view} ${question.language} ${question.accountId} ${question.base}`;
  const kept = finals.get(key);
  if (kept?.keptUntil !== undefined && kept.keptUntil > Date.now()) return kept;
  const id = toObjectId(c.env.TASKS, taskId);
  const answer = id && (await retryRestart("status", taskId, async () => c.env.TASKS.get(id).status(question)));
  if (!answer) return undefined;
  if (answer.keptUntil !== undefined) finals.set(key, answer, answer.text.length);
  return answer;
}

/**
 * Asks about a task until it is final or the time has come; returns the last answer. Opens a wait if it has to wait and gets none;
 * ends it in either case. Throws `task_not_found`, what `OpenWait` throws, and `unavailable` once the caller has disconnected.
 */
export async function awaitTask(c: AppContext, ask: () => Promise<Answer | undefined>, until: number, opened?: OpenWait): Promise<Answer> {
  let wait = opened;
  try {
    for (;;) {
      const answer = await ask();
      if (!answer) throw new ApiError("task_not_found");
      const left = until - Date.now();
      if (left <= 0 || answer.retryAfter === undefined) return answer;
      wait ??= await openWait(c);
      // Polled every second: if the object itself waited, its waiting time would be billed.
      await wait.pause(Math.min(waitStepMs, left));
      // The caller has disconnected. On OpenAI's paths a repeat of the request then continues this attempt.
      if (c.req.raw.signal.aborted) throw new ApiError("unavailable");
    }
  } finally {
    wait?.end();
  }
}

/** Answers a status query with a view of the task. */
export const showStatus =
  (view: ViewName): Handle =>
  async (c, taskId) => {
    c.set("task", taskId.slice(0, 64));
    c.set("isSampled", true);
    const { wait = 0 } = hasQuery(c) ? readQuery(c, statusQuery) : {};
    const { text, etag, retryAfter } = await awaitTask(c, () => askTask(c, taskId, view), c.get("started") + 1000 * wait);
    return answerTagged(c, text, etag, retryAfter === undefined ? {} : { "retry-after": String(retryAfter) });
  };
