/** Every transition that a task can make. Pure: time comes in as an argument, nothing here waits or stores. */

import type { FailureCode } from "../errors.ts";
import type { Operation } from "../providers/provider.ts";
import { type CallbackDue, callbackDue } from "./callback.ts";
import { earlierResumed, type EarlierWork, type Hedging, nextEarlier, nextRoute, releaseEarlier, toEarlier } from "./hedge.ts";
import { currentRoute, isFinal, type Result, type Step, type Submission, type Task } from "./record.ts";

const reserveWaitMs = 30_000;
const resendMs = 30_000;
/** A start that no consumer has taken after this long is done by the object itself: consumers are at most 250 a queue, alarms have no such limit. */
const consumerWaitMs = 10_000;
const settleRetryMs = 30_000;
const mostStartFaults = 5;
/** With another route at hand a provider that does not answer is not waited for. */
const mostFaultsBeforeNext = 1;
const mostWaitBeforeNextMs = 2_000;

/** 1, 2, 4, ... times `firstMs`, at most `mostMs`. */
const backoff = (faults: number, firstMs: number, mostMs: number) => Math.min(mostMs, firstMs * 2 ** faults);

export function newTask(id: string, submission: Submission, now: number): Task {
  return {
    id,
    submission,
    createdAt: now,
    deadline: now + submission.deadlineSeconds * 1000,
    status: "queued",
    step: { do: "reserve", at: now + reserveWaitMs },
    faults: 0,
    route: 0,
    attempts: [],
    progress: 0,
    reportsProgress: false,
    mayHaveAssets: false,
  };
}

/** When the object has to wake. */
export const wakeAt = (task: Task) =>
  Math.min(
    task.step.at,
    isFinal(task) || task.step.do === "reserve" ? Infinity : task.deadline,
    task.callback?.step?.at ?? Infinity,
    nextEarlier(task)?.at ?? Infinity,
  );

export type Due =
  | CallbackDue
  | "poll_earlier"
  | "abandon"
  | "dispatch"
  | "undertake"
  | "lapse"
  | "poll"
  | "deadline"
  | "settle"
  | "erase"
  | "forget";

const dueAtStep: Record<Step["do"], Due> = {
  reserve: "abandon",
  start: "dispatch",
  collect: "dispatch",
  starting: "lapse",
  collecting: "lapse",
  poll: "poll",
  settle: "settle",
  erase: "erase",
  forget: "forget",
};

/** What has to be done now, or undefined when it is too early for anything. */
export function due(task: Task, now: number): Due | undefined {
  if (!isFinal(task) && task.step.do !== "reserve" && now >= task.deadline) return "deadline";
  // The callback and the work of routes that gave way have schedules of their own beside the task's step; the earliest is next.
  const callbackAt = task.callback?.step?.at ?? Infinity;
  const earlierAt = nextEarlier(task)?.at ?? Infinity;
  if (earlierAt <= Math.min(task.step.at, callbackAt)) return now < earlierAt ? undefined : "poll_earlier";
  if (callbackAt <= task.step.at) return callbackDue(task, now);
  if (now < task.step.at) return undefined;
  return task.step.do === "start" && task.step.sent > 0 ? "undertake" : dueAtStep[task.step.do];
}

/** The ledger holds the price: the task is accepted. */
export const reserved = (task: Task, now: number): Task => ({ ...task, step: { do: "start", at: now + consumerWaitMs, sent: 1 } });

/** The ledger did not answer and the submission was refused: what it may hold is given back, again and again until it says so. */
export const abandoned = (task: Task, now: number): Task => ({
  ...task,
  faults: task.faults + 1,
  step: { do: "reserve", at: now + backoff(task.faults, 5_000, 60_000) },
});

/** A message was sent (again). A collection's further ones wait twice as long each, so that a backlog is not fed. */
export function dispatched(task: Task, now: number): Task {
  if (task.step.do !== "start" && task.step.do !== "collect") return task;
  const { do: step, sent } = task.step;
  const waitMs = step === "start" ? consumerWaitMs : backoff(sent, resendMs, 300_000);
  return { ...task, step: { do: step, at: now + waitMs, sent: sent + 1 } };
}

/** The queue did not take the message: a collection's is sent again soon, a start is not left waiting for it. */
export function notSent(task: Task, now: number): Task {
  if (task.step.do !== "start" && task.step.do !== "collect") return task;
  return { ...task, step: { ...task.step, at: now + 2_000 } };
}

/** The consumer takes what is waiting for it, or undefined when nothing is: a duplicate or late message. */
export function claimed(task: Task, lease: string, leaseMs: number, repeatable: boolean, now: number): Task | undefined {
  const isLapsed = (task.step.do === "starting" && task.step.repeatable) || task.step.do === "collecting";
  if (isFinal(task) || now >= task.deadline) return undefined;
  const isCollect = task.step.do === "collect" || task.step.do === "collecting";
  if (task.step.do !== "start" && task.step.do !== "collect" && !(isLapsed && now >= task.step.at)) return undefined;
  return {
    ...task,
    status: "in_progress",
    startedAt: task.startedAt ?? now,
    mayHaveAssets: true,
    ...(!isCollect && { askedAt: task.askedAt ?? now }),
    ...(task.step.do === "starting" && { isUnknown: true }),
    step: isCollect
      ? { do: "collecting", at: now + leaseMs, lease, repeatable: true }
      : { do: "starting", at: now + leaseMs, lease, repeatable },
  };
}

export const holdsLease = (task: Task, lease: string) =>
  !isFinal(task) && (task.step.do === "starting" || task.step.do === "collecting") && task.step.lease === lease;

/** A lease ran out: the consumer is gone. A start that may not be repeated has an unknown outcome, which ends the task. */
export function leaseExpired(task: Task, now: number): Task {
  if (task.step.do !== "starting" && task.step.do !== "collecting") return task;
  if (!task.step.repeatable) return lost(task, now);
  const isStart = task.step.do === "starting";
  return {
    ...task,
    ...(isStart && { isUnknown: true }),
    faults: task.faults + 1,
    step: { do: isStart ? "start" : "collect", at: now, sent: 0 },
  };
}

/** The provider works on it. */
export const accepted = (task: Task, operation: Operation, pollAfterMs: number, reportsProgress: boolean, now: number): Task => ({
  ...task,
  operation,
  progress: progressAt(task, now),
  reportsProgress,
  faults: 0,
  step: { do: "poll", at: now + pollAfterMs },
});

/** Still working. */
export const progressed = (
  { silentSince: _silentSince, ...task }: Task,
  progress: number | undefined,
  pollAfterMs: number,
  now: number,
): Task => ({
  ...task,
  progress: Math.max(task.progress, Math.min(99, Math.floor(progress ?? 0))),
  faults: 0,
  step: { do: "poll", at: now + pollAfterMs },
});

/** The poll gave no verdict: it is asked again, until the deadline. */
export const pollFailed = (task: Task, retryAfterMs: number | undefined, now: number): Task => ({
  ...task,
  silentSince: task.silentSince ?? now,
  faults: task.faults + 1,
  step: { do: "poll", at: now + (retryAfterMs ?? backoff(task.faults, 2_000, 30_000)) },
});

/** The provider is done: its outputs wait to be fetched. */
export const ready = (task: Task, now: number): Task => ({ ...task, faults: 0, step: { do: "collect", at: now + resendMs, sent: 1 } });

/** Work of a route that gave way has the first result. What the current route has accepted goes on until the result is stored. */
export const earlierReady = (task: Task, one: EarlierWork, now: number): Task =>
  ready(
    { ...earlierResumed(task, one, now), earlier: [...(task.earlier ?? []).filter((other) => other !== one), ...toEarlier(task, now)] },
    now,
  );

/**
 * The consumer could not do its step. A start that keeps failing gives way to the next route and, after the last, fails;
 * a collection is tried until the deadline, for what it fetches is made and paid for.
 */
export function startFailed(
  task: Task,
  fault: { reason: string; retryable: boolean; isUntouched?: boolean; retryAfterMs?: number | undefined; code?: FailureCode },
  now: number,
): Task {
  const isCollect = task.step.do === "collecting";
  const isUnknown = !isCollect && (task.isUnknown === true || !fault.isUntouched);
  const canGiveWay = !isCollect && !isUnknown && nextRoute(task) !== undefined;
  const mostFaults = isCollect ? Infinity : canGiveWay ? mostFaultsBeforeNext : mostStartFaults;
  const isWorthWaiting = !canGiveWay || (fault.retryAfterMs ?? 0) <= mostWaitBeforeNextMs;
  const { askedAt: _askedAt, ...untouched } = task;
  if (fault.retryable && task.faults < mostFaults && isWorthWaiting)
    return {
      ...(isCollect ? task : isUnknown ? { ...task, isUnknown } : untouched),
      faults: task.faults + 1,
      step: { do: isCollect ? "collect" : "start", at: now + (fault.retryAfterMs ?? backoff(task.faults, 1_000, 15_000)), sent: 0 },
    };
  if (isCollect) return lost(task, now);
  // The caller's own host does not answer: no other provider would reach it.
  if (fault.code) return failed(task, fault.code, now);
  // Accepted or not, nobody knows: made elsewhere too it could be made twice.
  return isUnknown ? lost(task, now) : routeFailed(task, fault.reason, now);
}

/**
 * The provider's verdict. Its own fault gives way to the next route, for it made nothing; its verdict on the content does not, nor does
 * accepted work where the operator switched that off.
 */
export const providerFailed = (task: Task, code: FailureCode, hedging: Hedging, now: number): Task =>
  code === "provider_error" && (hedging !== "off" || task.operation === undefined) ? routeFailed(task, code, now) : failed(task, code, now);

/** The route's result cannot be had, and another route might make it twice: only work that was accepted before can still end it well. */
export function lost(task: Task, now: number): Task {
  const earlier = nextEarlier(task);
  return earlier ? earlierResumed(task, earlier, now) : failed(task, "provider_error", now);
}

/** The next route under the same reservation; after the last one the task fails, unless a route that gave way may still make it. */
function routeFailed(task: Task, reason: string, now: number): Task {
  const { operation: _operation, askedAt: _askedAt, isUnknown: _isUnknown, silentSince: _silentSince, ...rest } = task;
  const tried = { ...rest, attempts: [...task.attempts, { provider: currentRoute(task).provider, outcome: reason }] };
  const next = nextRoute(task);
  if (next === undefined) return lost(tried, now);
  return {
    ...tried,
    progress: progressAt(task, now),
    reportsProgress: false,
    route: next,
    faults: 0,
    step: { do: "start", at: now, sent: 0 },
  };
}

/** A route that accepted the work is silent or slow: the next one begins under the same reservation, and the first usable result wins. */
export const hedged = (task: Task, reason: "silent" | "slow", now: number): Task => ({
  ...routeFailed(task, reason, now),
  earlier: [...(task.earlier ?? []), ...toEarlier(task, now)],
});

/** The end, good: what is charged is at most what was held, and less when fewer pictures came. */
export function completed(task: Task, result: Result, assetMs: number, now: number): Task {
  const { imagePrice, price } = task.submission;
  const charged = result.kind === "images" && imagePrice !== undefined ? Math.min(price, imagePrice * result.images.length) : price;
  // Callers see whole seconds: the expiry is so many after the completion to the second.
  const finalAt = Math.floor(now / 1000) * 1000;
  return {
    ...task,
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

/** The end at the caller's request. Free, unless the operator charges for what the provider accepted and cannot cancel, or has made already. */
export function cancelled(task: Task, rules: { chargesAccepted: boolean; canCancel: boolean }, now: number): Task {
  const isMade = task.step.do.startsWith("collect");
  const isCharged = rules.chargesAccepted && task.operation !== undefined && (isMade || !rules.canCancel);
  return { ...failed(task, "cancelled", now), charged: isCharged ? task.submission.price : 0 };
}

/** The end, bad: it costs nothing. */
export const failed = (task: Task, error: FailureCode, now: number): Task => ({
  ...task,
  ...releaseEarlier(task, now),
  status: "failed",
  progress: progressAt(task, now),
  error,
  charged: 0,
  finalAt: now,
  step: { do: "settle", at: now + settleRetryMs },
});

export const settleFailed = (task: Task, now: number): Task => ({
  ...task,
  faults: task.faults + 1,
  step: { do: "settle", at: now + backoff(task.faults, 1_000, 60_000) },
});

/** The books are closed: what is left is to wait for the assets' expiry and the record's own end. */
export function settled(task: Task, assetMs: number, recordMs: number): Task {
  const forget: Step = { do: "forget", at: task.finalAt! + recordMs };
  if (!task.mayHaveAssets) return { ...task, step: forget };
  return { ...task, step: { do: "erase", at: task.expiresAt ?? task.finalAt! + assetMs } };
}

export const erased = (task: Task, recordMs: number): Task => ({ ...task, step: { do: "forget", at: task.finalAt! + recordMs } });

/** 0 to 99 while it runs, 100 when completed; never less than before. */
export function progressAt(task: Task, now: number): number {
  if (task.status !== "in_progress" || task.reportsProgress) return task.progress;
  const expected = 1000 * task.submission.typicalSeconds;
  return Math.max(task.progress, Math.min(95, Math.floor((95 * (now - (task.startedAt ?? now))) / expected)));
}

/** Seconds still expected, at least a tenth of those that have passed; undefined when it is final. */
export function remainingSeconds(task: Task, now: number): number | undefined {
  if (isFinal(task)) return undefined;
  const passed = (now - task.createdAt) / 1000;
  return Math.max(1, Math.ceil(Math.max(task.submission.typicalSeconds - passed, passed / 10)));
}
