/** The transitions caused by what a provider, a consumer or the caller has done: pure, like those in `task.ts`. */

import type { FailureCode } from "../errors.ts";
import type { Operation } from "../providers/provider.ts";
import { earlierResumed, type EarlierWork, type Hedging, nextEarlier, nextRoute, releaseEarlier, toEarlier, withoutWork } from "./hedge.ts";
import { type CompletedTask, currentRoute, type FailedTask, type OpenTask, type Result, type Submission, type Task } from "./record.ts";
import { backoff, progressAt } from "./task.ts";
import { collectLeaseMs } from "./work.ts";

const settleRetryMs = 30_000;
const maxStartFaults = 5;
/** If there is another route, the task does not wait for a provider that does not answer. */
const maxFaultsBeforeNext = 1;
const maxWaitBeforeNextMs = 2_000;

/**
 * A lease expired, because its consumer crashed or is too slow. A start that may not be repeated has an unknown outcome, which ends the
 * task.
 */
export function leaseExpired(task: OpenTask, now: number): Task {
  if (task.step.do !== "starting" && task.step.do !== "collecting") return task;
  if (!task.step.repeatable) return lost(task, now);
  const isStart = task.step.do === "starting";
  return {
    ...task,
    ...(isStart && { isUnknown: true }),
    isTidy: false,
    faults: task.faults + 1,
    step: { do: isStart ? "start" : "collect", at: now, sent: 0 },
  };
}

/**
 * The provider accepted the work. `isMade`: the provider answered with the outputs and the consumer could not store them; it may have left
 * files.
 */
export const accepted = (
  task: OpenTask,
  {
    operation,
    pollAfterMs,
    callsBack,
    isMade = false,
  }: { operation: Operation; pollAfterMs: number; callsBack?: boolean; isMade?: boolean },
  reportsProgress: boolean,
  now: number,
): OpenTask => ({
  ...task,
  ...(isMade && { isTidy: false }),
  operation,
  ...(callsBack && { callsBack }),
  progress: progressAt(task, now),
  reportsProgress,
  faults: 0,
  step: { do: "poll", at: now + pollAfterMs },
});

/** The provider is still working. */
export const progressed = (
  { silentSince: _silentSince, ...task }: OpenTask,
  progress: number | undefined,
  pollAfterMs: number,
  now: number,
): OpenTask => ({
  ...task,
  progress: Math.max(task.progress, Math.min(99, Math.floor(progress ?? 0))),
  faults: 0,
  step: { do: "poll", at: now + pollAfterMs },
});

/** The poll failed and gave no outcome: it is repeated until the deadline. */
export const pollFailed = (task: OpenTask, retryAfterMs: number | undefined, now: number): OpenTask => ({
  ...task,
  silentSince: task.silentSince ?? now,
  faults: task.faults + 1,
  step: { do: "poll", at: now + (retryAfterMs ?? backoff(task.faults, 2_000, 30_000)) },
});

/** The provider has finished: its outputs wait to be collected. The alarm set here is also right for the consumer's lease. */
export const ready = (task: OpenTask, now: number): OpenTask => ({
  ...task,
  faults: 0,
  step: { do: "collect", at: now + collectLeaseMs(task), sent: 1 },
});

/** An earlier route has the first result. The current route's accepted work continues until the result is stored. */
export const earlierReady = (task: OpenTask, one: EarlierWork, now: number): OpenTask =>
  ready(
    { ...earlierResumed(task, one, now), earlier: [...(task.earlier ?? []).filter((other) => other !== one), ...toEarlier(task, now)] },
    now,
  );

/**
 * The consumer could not complete its step. A start that keeps failing is replaced by the next route; after the last route the task fails.
 * A collection is retried until the deadline, because its result is generated and paid for.
 */
export function startFailed(
  task: OpenTask,
  fault: { reason: string; retryable: boolean; isUntouched?: boolean; retryAfterMs?: number | undefined; code?: FailureCode },
  now: number,
): Task {
  const isCollect = task.step.do === "collecting";
  const isUnknown = !isCollect && (task.isUnknown === true || !fault.isUntouched);
  const canGiveWay = !isCollect && !isUnknown && nextRoute(task) !== undefined;
  const maxFaults = isCollect ? Infinity : canGiveWay ? maxFaultsBeforeNext : maxStartFaults;
  const isWorthWaiting = !canGiveWay || (fault.retryAfterMs ?? 0) <= maxWaitBeforeNextMs;
  const { askedAt: _askedAt, ...untouched } = task;
  if (fault.retryable && task.faults < maxFaults && isWorthWaiting)
    return {
      ...(isCollect ? task : isUnknown ? { ...task, isUnknown } : untouched),
      isTidy: false,
      faults: task.faults + 1,
      step: { do: isCollect ? "collect" : "start", at: now + (fault.retryAfterMs ?? backoff(task.faults, 1_000, 15_000)), sent: 0 },
    };
  if (isCollect) return lost(task, now);
  // The caller's own host does not answer: no other provider could reach it.
  if (fault.code) return failed(task, fault.code, now);
  // Outcome unknown: another route could generate it twice.
  return isUnknown ? lost(task, now) : routeFailed(task, fault.reason, now);
}

/**
 * The provider has failed the work. If the fault is the provider's own, the next route starts, because no result was made. If the content
 * was refused, the task fails; so it does if the work was accepted and the operator switched hedging off.
 */
export const providerFailed = (task: OpenTask, code: FailureCode, hedging: Hedging, now: number): Task =>
  code === "provider_error" && (hedging !== "off" || task.operation === undefined) ? routeFailed(task, code, now) : failed(task, code, now);

/**
 * The route's result cannot be fetched, and another route might generate it twice: only earlier accepted work can still complete the task.
 */
export function lost(task: OpenTask, now: number): Task {
  const earlier = nextEarlier(task);
  return earlier ? earlierResumed(task, earlier, now) : failed(task, "provider_error", now);
}

/** Starts the next route with the same reservation. After the last one the task fails, unless an earlier route may still complete it. */
function routeFailed(task: OpenTask, reason: string, now: number): Task {
  const next = nextRoute(task);
  return next === undefined ? lost(leaveRoute(task, reason), now) : startRoute(task, next, reason, now);
}

/** A route that accepted the work does not answer or is slow: the route `next` starts under the same reservation, and the first usable result is taken. */
export const hedged = (task: OpenTask, next: number, reason: "silent" | "slow", now: number): OpenTask => ({
  ...startRoute(task, next, reason, now),
  earlier: [...(task.earlier ?? []), ...toEarlier(task, now)],
});

/** The task without the fields of the current route, which is recorded as an attempt. */
const leaveRoute = (task: OpenTask, reason: string): OpenTask => ({
  ...withoutWork(task),
  isTidy: false,
  attempts: [...task.attempts, { provider: currentRoute(task).provider, outcome: reason }],
});

const startRoute = (task: OpenTask, route: number, reason: string, now: number): OpenTask => ({
  ...leaveRoute(task, reason),
  progress: progressAt(task, now),
  reportsProgress: false,
  route,
  faults: 0,
  step: { do: "start", at: now, sent: 0 },
});

/** The part of a submission that is kept after the task's end: without its content if the caller requested that. */
function keptSubmission({ submission }: OpenTask): Submission {
  if (submission.store !== false) return submission;
  const {
    prompt: _p,
    url: _u,
    images: _i,
    image_with_roles: _r,
    first_frame_image: _f,
    last_frame_image: _l,
    ...parameters
  } = submission.parameters;
  const { source, ...rest } = submission;
  const inputs = submission.inputs.filter(({ key }) => key !== undefined);
  // The source of a character may be a URL, which is removed; a task id is kept.
  return { ...rest, parameters, inputs, ...(source?.taskId !== undefined && { source }) };
}

/** Completes the task. Charges at most the reserved amount, and less if fewer images were generated. */
export function completed(task: OpenTask, result: Result, assetMs: number, now: number): CompletedTask {
  const { imagePrice, price } = task.submission;
  const charged = result.kind === "images" && imagePrice !== undefined ? Math.min(price, imagePrice * result.images.length) : price;
  // Callers get whole seconds: the expiry is exactly that many seconds after the completion.
  const finalAt = Math.floor(now / 1000) * 1000;
  return {
    ...task,
    submission: keptSubmission(task),
    status: "completed",
    progress: 100,
    result,
    ...("lease" in task.step && { endedBy: task.step.lease }),
    ...releaseEarlier(task, now),
    charged,
    finalAt,
    expiresAt: finalAt + assetMs,
    step: { do: "settle", at: now + settleRetryMs },
  };
}

/** Cancels the task at the caller's request. Without a charge, unless the operator charges for work that the provider has accepted and cannot cancel, or has already finished. */
export function cancelled(task: OpenTask, rules: { chargesAccepted: boolean; canCancel: boolean }, now: number): FailedTask {
  const isMade = task.step.do.startsWith("collect");
  const isCharged = rules.chargesAccepted && task.operation !== undefined && (isMade || !rules.canCancel);
  return { ...failed(task, "cancelled", now), charged: isCharged ? task.submission.price : 0 };
}

/** Fails the task without a charge. */
export const failed = (task: OpenTask, error: FailureCode, now: number): FailedTask => ({
  ...task,
  ...releaseEarlier(task, now),
  submission: keptSubmission(task),
  status: "failed",
  progress: progressAt(task, now),
  error,
  charged: 0,
  finalAt: now,
  step: { do: "settle", at: now + settleRetryMs },
});
