/** What a task object leases to a consumer, and what it hears of it. */

import type { FailureCode } from "../errors.ts";
import type { Operation, Provider } from "../providers/provider.ts";
import { longestHoldMs } from "./start-clock.ts";
import type { Result, Submission, Task } from "./record.ts";

/** What the consumer is asked to do, under a lease it has to show with its answer. */
export interface Work {
  step: "start" | "collect";
  lease: string;
  task: Task;
}

/** How a consumer's step went. */
export type StepOutcome =
  /** `route` is missing in reports of the revision before. */
  | { outcome: "accepted"; operation: Operation; pollAfterMs: number; route?: number }
  | { outcome: "completed"; result: Result }
  | { outcome: "failed"; code: FailureCode }
  /** Accepted or not, or made and not to be had: nobody may ask again, here or elsewhere. */
  | { outcome: "lost"; reason: string }
  /** No verdict: asked again, elsewhere, or given up. */
  | { outcome: "fault"; reason: string; retryable: boolean; isUntouched?: boolean; retryAfterMs?: number | undefined; code?: FailureCode };

/** Time a consumer has to store outputs; its lease lasts a little longer. Short enough for another try before the deadline. */
export const collectTimeoutMs: Record<Submission["kind"], number> = { image: 40_000, character: 40_000, video: 90_000, remix: 90_000 };

/** The most time from a start's claim to its end: its clock stands still while a picture, or a file in its answer, waits for its turn. */
export const longestStartMs = ({ submission: { inputs, characters } }: Task, provider: Provider, kind: Submission["kind"]) =>
  provider.startTimeoutMs(kind) + (!provider.repeatable || inputs.length + characters.length > 0 ? longestHoldMs : 0);
