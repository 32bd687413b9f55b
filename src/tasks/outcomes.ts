/** The transitions that follow from what a provider, a consumer or the caller has done: pure, as those in `task.ts`. */

import type { FailureCode } from "../errors.ts";
import type { Operation } from "../providers/provider.ts";
import { earlierResumed, type EarlierWork, type Hedging, nextEarlier, nextRoute, releaseEarlier, toEarlier, withoutWork } from "./hedge.ts";
import { type CompletedTask, currentRoute, type FailedTask, type OpenTask, type Result, type Submission, type Task } from "./record.ts";
import { backoff, progressAt } from "./task.ts";
import { collectLeaseMs } from "./work.ts";

const settleRetryMs = 30_000;
const maxStartFaults = 5;
/** If there is another route, a provider that does not answer is not waited for. */
const maxFaultsBeforeNext = 1;
const maxWaitBeforeNextMs = 2_000;

/** A lease expired: the consumer is gone. A start that may not be repeated has an unknown outcome, which ends the task. */
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

/** The provider accepted the work. Outputs that were answered at once and not stored are made already: the consumer may have left files. */
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

/** The poll gave no verdict: it is repeated until the deadline. */
export const pollFailed = (task: OpenTask, retryAfterMs: number | undefined, now: number): OpenTask => ({
  ...task,
  silentSince: task.silentSince ?? now,
  faults: task.faults + 1,
  step: { do: "poll", at: now + (retryAfterMs ?? backoff(task.faults, 2_000, 30_000)) },
});

/** The provider is done: its outputs wait to be collected. The alarm is right for the consumer's lease too. */
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
 * The consumer could not do its step. A start that keeps failing gives way to the next route and, after the last, fails;
 * a collection is tried until the deadline, for what it fetches is made and paid for.
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
 * The provider's verdict. Its own fault gives way to the next route, for it made nothing; its verdict on the content does not, nor does
 * accepted work where the operator switched that off.
 */
export const providerFailed = (task: OpenTask, code: FailureCode, hedging: Hedging, now: number): Task =>
  code === "provider_error" && (hedging !== "off" || task.operation === undefined) ? routeFailed(task, code, now) : failed(task, code, now);

/** The route's result is lost, and another route might make it twice: only earlier accepted work can still complete the task. */
export function lost(task: OpenTask, now: number): Task {
  const earlier = nextEarlier(task);
  return earlier ? earlierResumed(task, earlier, now) : failed(task, "provider_error", now);
}

/** Starts the next route with the same reservation; after the last one the task fails, unless an earlier route may still complete it. */
function routeFailed(task: OpenTask, reason: string, now: number): Task {
  const next = nextRoute(task);
  return next === undefined ? lost(leaveRoute(task, reason), now) : startRoute(task, next, reason, now);
}

/** A route that accepted the work is silent or slow: the route `next` begins under the same reservation, and the first usable result wins. */
export const hedged = (task: OpenTask, next: number, reason: "silent" | "slow", now: number): OpenTask => ({
  ...startRoute(task, next, reason, now),
  earlier: [...(task.earlier ?? []), ...toEarlier(task, now)],
});

/** Without what belongs to the current route, which is noted as tried. */
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

/** What is kept of a submission once its task has ended: without its content where the caller asked for that. */
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
  // The source of a character may be an address too; a task's id is kept.
  return { ...rest, parameters, inputs, ...(source?.taskId !== undefined && { source }) };
}

/** Completes the task: charges at most the reserved amount, and less if fewer images were made. */
export function completed(task: OpenTask, result: Result, assetMs: number, now: number): CompletedTask {
  const { imagePrice, price } = task.submission;
  const charged = result.kind === "images" && imagePrice !== undefined ? Math.min(price, imagePrice * result.images.length) : price;
  // Callers see whole seconds: the expiry is exactly that many seconds after the completion.
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

/** Cancels the task at the caller's request. Free, unless the operator charges for work that the provider accepted and cannot cancel, or has already made. */
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
