/** The answer to a status query: its body, its ETag, when to ask again, and how long it may be cached. */

import { taskKinds } from "../../base/words.ts";
import { pollSeconds } from "../../catalog/models.ts";
import type { Language } from "../../messages/index.ts";
import { isFinal, type Submission, type Task } from "../record.ts";
import { progressAt } from "../transitions/task.ts";
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

const views: Record<
  ViewName,
  { kinds: readonly Submission["kind"][]; view: typeof genericView | typeof videoView | typeof characterView }
> = {
  generic: { kinds: taskKinds, view: genericView },
  video: { kinds: ["video", "remix"], view: videoView },
  character: { kinds: ["character"], view: characterView },
};

/** True if the files of a completed task have not been delivered: its answer still changes, also after a failure, which its owner may repeat. */
const isUndelivered = ({ status, submission, delivery }: Task) =>
  status === "completed" && submission.deliverTo !== undefined && delivery?.state !== "delivered";

/** What has changed in the delivery. */
const deliveryMark = ({ delivery }: Task) =>
  delivery ? `-${delivery.state}-${delivery.files.length}-${delivery.attempts.at(-1)?.at ?? 0}` : "";

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
    etag: `W/"${task.status}-${progressAt(task, now)}-${task.finalAt ?? task.createdAt}${deliveryMark(task)}-${language}"`,
    text: JSON.stringify(view(task, await signLinks(task, base, secret), language, now)),
    retryAfter: isOver ? undefined : pollSeconds[task.submission.kind],
    keptUntil: isOver && !isUndelivered(task) ? Math.min(task.finalAt + recordMs(), now + keptMs) : undefined,
  };
}
