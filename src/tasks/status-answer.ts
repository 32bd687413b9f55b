/** The answer to a status query: its body, its headers, and how long it may be cached. */

import { pollSeconds } from "../catalog/models.ts";
import type { Language } from "../messages/index.ts";
import { isFinal, type Submission, type Task } from "./record.ts";
import { progressAt } from "./task.ts";
import { characterView, genericView, signLinks, videoView } from "./views.ts";

/** The maximum time for which an isolate may still answer with a deleted task. */
const keptMs = 60_000;

/** The three status queries: of every task, of videos, of characters. */
export type ViewName = "generic" | "video" | "character";

/** The parameters of a status query. */
export interface Question {
  accountId: string;
  view: ViewName;
  language: Language;
  /** The base URL of assets, without a trailing slash. */
  base: string;
}

/** The answer to a status query. */
export interface Answer {
  etag: string;
  /** The body, JSON. */
  text: string;
  /** Seconds until the next poll; undefined if the task is final. */
  retryAfter?: number | undefined;
  /** Until when a final answer may be served from a cache; it changes only if the task is deleted. undefined while the task is open. */
  keptUntil?: number | undefined;
}

const views: Record<ViewName, { kinds: Submission["kind"][]; view: typeof genericView | typeof videoView | typeof characterView }> = {
  generic: { kinds: ["image", "video", "character", "remix"], view: genericView },
  video: { kinds: ["video", "remix"], view: videoView },
  character: { kinds: ["character"], view: characterView },
};

/** The answer to a status query; null if the task is of another kind. `recordMs` is how long final records are kept. */
export async function answerStatusQuery(
  { view: name, language, base }: Question,
  task: Task,
  { secret, recordMs, now }: { secret: () => string; recordMs: () => number; now: number },
): Promise<Answer | null> {
  const { kinds, view } = views[name];
  if (!kinds.includes(task.submission.kind)) return null;
  const isOver = isFinal(task);
  return {
    // Identifies everything in the answer except the elapsed seconds.
    etag: `W/"${task.status}-${progressAt(task, now)}-${task.finalAt ?? task.createdAt}-${language}"`,
    text: JSON.stringify(view(task, await signLinks(task, base, secret), language, now)),
    retryAfter: isOver ? undefined : pollSeconds[task.submission.kind],
    keptUntil: isOver ? Math.min(task.finalAt + recordMs(), now + keptMs) : undefined,
  };
}

const keptHeader = "x-kept-until";

/**
 * The status of the object's response about a final task, which the Worker reads and answers itself: the headers of a response that it
 * passes on are not looked at, because the runtime would build an object of them.
 */
export const finalStatus = 203;

/**
 * The object's response. About an open task it has all headers for the caller, so that the Worker passes it on unchanged; about a final one
 * it has the time until which it may be cached.
 */
export const toResponse = (answer: Answer, language: Language, more: Record<string, string>): Response =>
  answer.keptUntil === undefined
    ? new Response(answer.text, { headers: { ...answerHeaders(answer, language), ...more } })
    : new Response(answer.text, { status: finalStatus, headers: { etag: answer.etag, [keptHeader]: String(answer.keptUntil) } });

/** The object's answer about a final task. */
export const finalAnswer = async (response: Response): Promise<Answer> => ({
  etag: response.headers.get("etag") ?? "",
  text: await response.text(),
  keptUntil: Number(response.headers.get(keptHeader)),
});

/** The headers of a response to a caller. */
export const answerHeaders = ({ etag, retryAfter }: Pick<Answer, "etag" | "retryAfter">, language: Language) => ({
  etag,
  "content-type": "application/json",
  "content-language": language,
  "cache-control": "private, no-cache",
  vary: "Accept-Language",
  ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
});
