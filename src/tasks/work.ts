/** The work that a task object leases to a consumer, and the consumer's report. */

import type { Versioned } from "../base/versions.ts";
import type { FailureCode } from "../base/errors.ts";
import type { Billed } from "../catalog/costs.ts";
import type { Operation, Provider } from "../providers/provider.ts";
import type { Result, Submission, Task, FinalTask } from "./record.ts";

/** The work, under a lease that the report must contain. */
export interface Work {
  step: "start" | "collect";
  lease: string;
  task: Task;
  /** Outputs must be stored until then, in milliseconds, if that is earlier than usual. Set by the consumer or request that does the work, not by the object. */
  until?: number;
}

/** The outcome of a consumer's step, and the route of the work. */
export type StepOutcome = { route?: number } & Outcome;

type Outcome =
  /** `isMade`: the provider answered with the outputs, and they were not stored. `callsBack`: the provider has the task's callback URL. */
  | { outcome: "accepted"; operation: Operation; pollAfterMs: number; route: number; isMade?: boolean; callsBack?: boolean }
  /** `billed`: what the maker made and reports, for routes with a cost. */
  | { outcome: "completed"; result: Result; billed?: Billed }
  /** `billed`: the maker bills the failure. */
  | { outcome: "failed"; code: FailureCode; billed?: Billed }
  /** Outcome unknown or result unreachable: do not retry and do not fall back to another route. */
  | { outcome: "lost"; reason: string }
  /** No outcome: the work is retried, tried on another route, or given up. */
  | { outcome: "fault"; reason: string; retryable: boolean; isUntouched?: boolean; retryAfterMs?: number | undefined; code?: FailureCode };

/** The time a consumer has to store outputs; its lease lasts a little longer. Short enough for a second attempt before the deadline. */
export const collectTimeoutMs: Record<Submission["kind"], number> = {
  image: 40_000,
  character: 40_000,
  video: 90_000,
  remix: 90_000,
  file: 90_000,
};

/** What a lease depends on. */
type Traits = Pick<Provider, "repeatable" | "startTimeoutMs">;

/** The time from the end of the work to the end of its lease. */
const leaseGraceMs = 10_000;

export const collectLeaseMs = ({ submission: { kind } }: Pick<Task, "submission">) => collectTimeoutMs[kind] + leaseGraceMs;

/** The longest time from a start's claim to its end, including pauses of its timeout while an image or a file of its answer waits for a permit. */
const maxStartMs = ({ submission: { kind, inputs, characters } }: Task, provider: Traits) =>
  provider.startTimeoutMs(kind) + (!provider.repeatable || inputs.length + characters.length > 0 ? maxPauseMs : 0);

/** How long the waiting step is leased to the consumer that claims it. */
export function leaseMs(task: Task, provider: Traits): number {
  const isStart = task.step.do === "start" || task.step.do === "starting";
  // The lease of a start that may not be repeated includes the time to store its immediate outputs; otherwise they could be lost.
  const storeMs = isStart && provider.repeatable ? 0 : collectTimeoutMs[task.submission.kind];
  return (isStart ? maxStartMs(task, provider) : 0) + storeMs + leaseGraceMs;
}

/** A message that a task has waiting work or a waiting callback. */
export interface TaskMessage extends Versioned {
  taskId: string;
  /** The account, if the work reads URLs of its caller. */
  readsUrlsOf?: string;
}

/** A call to make, under a lease that its report must contain. */
export interface CallbackWork {
  lease: string;
  task: FinalTask;
  /** The call is about the end of the task's delivery. */
  ofDelivery?: boolean;
}

/** The longest total pause in milliseconds: leases must end. */
export const maxPauseMs = 30_000;
