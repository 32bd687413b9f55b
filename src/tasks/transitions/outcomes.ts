/** The transitions caused by an action of a provider, a consumer or the caller: pure, like those in `task.ts`. */

import type { Hedging } from "../../base/hedging.ts";
import type { FailureCode } from "../../base/errors.ts";
import type { Billed } from "../../catalog/costs.ts";
import type { Operation } from "../../providers/provider.ts";
import { keptSubmission, shortSubmission } from "./kept-submission.ts";
import { earlierResumed, nextEarlier, nextRoute, releaseEarlier, toEarlier, withoutWork } from "./hedge.ts";
import { type CompletedTask, currentRoute, type FailedTask, type OpenTask, type Result, type Task, type EarlierWork } from "../record.ts";
import { billed, booked, failedByMaker, isBooked } from "../booking.ts";
import { backoff, progressAt } from "./task.ts";
import { collectLeaseMs } from "../work.ts";

const settleRetryMs = 30_000;
const maxStartFaults = 5;
/** The longest time between two starts of a batch's line: hundreds of them may wait for a maker. */
const maxBusyDelayMs = 60_000;
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

/** The provider has finished, which it bills: its outputs wait to be collected. The alarm set here is also right for the consumer's lease. */
export const ready = (task: OpenTask, now: number, made?: Billed): OpenTask => ({
  ...billed(task, made),
  readyAt: now,
  faults: 0,
  step: { do: "collect", at: now + collectLeaseMs(task), sent: 1 },
});

/** An earlier route has the first result. The current route's accepted work continues until the result is stored. */
export const earlierReady = (task: OpenTask, one: EarlierWork, now: number, made?: Billed): OpenTask =>
  ready(
    { ...earlierResumed(task, one, now), earlier: [...(task.earlier ?? []).filter((other) => other !== one), ...toEarlier(task, now)] },
    now,
    made,
  );

interface Fault {
  reason: string;
  retryable: boolean;
  /** True if the provider has certainly accepted nothing. */
  isUntouched?: boolean;
  retryAfterMs?: number | undefined;
  code?: FailureCode;
}

/**
 * A consumer could not complete its start. A start that keeps failing is replaced by the next route; after the last route the task fails. The
 * line of a batch waits for the last route for half of its time, so that the work has the other half; then its batch makes it again.
 */
export function startFailed(task: OpenTask, fault: Fault, now: number): Task {
  const isUnknown = task.isUnknown === true || !fault.isUntouched;
  const canGiveWay = !isUnknown && nextRoute(task) !== undefined;
  const maxFaults = canGiveWay ? maxFaultsBeforeNext : maxStartFaults;
  const isWorthWaiting = !canGiveWay || (fault.retryAfterMs ?? 0) <= maxWaitBeforeNextMs;
  const isBusy = task.submission.batch !== undefined && fault.retryable && !isUnknown && !canGiveWay && fault.code === undefined;
  const { askedAt: _askedAt, ...untouched } = task;
  const again = repeated(isUnknown ? { ...task, isUnknown } : untouched, "start", fault, now, isBusy ? maxBusyDelayMs : undefined);
  const mayWait = task.faults < maxFaults || (isBusy && again.step.at < (task.createdAt + task.deadline) / 2);
  if (fault.retryable && mayWait && isWorthWaiting) return again;
  // The caller's own host does not answer: no other provider could reach it.
  if (fault.code) return failed(task, fault.code, now);
  // Outcome unknown: another route could generate it twice.
  if (isUnknown) return lost(task, now);
  const next = routeFailed(task, fault.reason, now);
  // Makers that bill failures would bill each repetition.
  const isFree = Object.values(next.costs ?? {}).every((cost) => cost === 0);
  return next.status === "failed" && isBusy && isFree ? { ...next, isBusy } : next;
}

/** A consumer could not complete its collection. It is repeated until the deadline, because its result is generated and paid for. */
export const collectFailed = (task: OpenTask, fault: Fault, now: number): Task =>
  fault.retryable ? repeated(task, "collect", fault, now) : lost(task, now);

const repeated = (task: OpenTask, step: "start" | "collect", { retryAfterMs }: Fault, now: number, maxMs = 15_000): OpenTask => ({
  ...task,
  isTidy: false,
  faults: task.faults + 1,
  step: { do: step, at: now + (retryAfterMs ?? backoff(task.faults, 1_000, maxMs)), sent: 0 },
});

/**
 * The provider has failed the work. If the fault is the provider's own, the next route starts, because no result was made. If the content
 * was refused, the task fails; so it does if the work was accepted and the operator switched hedging off. `bill`: the maker bills the failure.
 */
export function providerFailed(given: OpenTask, code: FailureCode, hedging: Hedging, now: number, bill?: Billed): Task {
  const task = failedByMaker(given, given.route, bill);
  return code === "provider_error" && (hedging !== "off" || task.operation === undefined)
    ? routeFailed(task, code, now)
    : failed(task, code, now);
}

/**
 * The route's result cannot be fetched, and another route might generate it twice: only earlier accepted work can still complete the task. The
 * maker may have made it, so it counts as billed.
 */
export const lost = (task: OpenTask, now: number): Task => withoutRoute(billed({ ...task, isUnknown: true }), now);

/** Only earlier accepted work can still complete the task. */
function withoutRoute(task: OpenTask, now: number): Task {
  const earlier = nextEarlier(task);
  return earlier ? earlierResumed(task, earlier, now) : failed(task, "provider_error", now);
}

/** Starts the next route with the same reservation. After the last one the task fails, unless an earlier route may still complete it. */
function routeFailed(task: OpenTask, reason: string, now: number): Task {
  const next = nextRoute(task);
  return next === undefined ? withoutRoute(leaveRoute(task, reason, now), now) : startRoute(task, next, reason, now);
}

/** A route that accepted the work does not answer or is slow: the route `next` starts under the same reservation, and the first usable result is taken. */
export const hedged = (task: OpenTask, next: number, reason: "silent" | "slow", now: number): OpenTask => ({
  ...startRoute(task, next, reason, now),
  earlier: [...(task.earlier ?? []), ...toEarlier(task, now)],
});

/** Reasons to leave a route whose maker was not asked, or may still complete the task. */
const isOpenEnded = (reason: string) => ["put aside", "silent", "slow"].includes(reason);

/** The task without the fields of the current route, which is recorded as an attempt: one that costs nothing if its maker has failed and bills nothing. */
const leaveRoute = (task: OpenTask, reason: string, now: number): OpenTask => ({
  ...withoutWork(isOpenEnded(reason) || isBooked(task) ? task : booked(task, 0)),
  isTidy: false,
  attempts: [
    ...task.attempts,
    { provider: currentRoute(task).provider, outcome: reason, ...(task.askedAt !== undefined && { from: task.askedAt }), to: now },
  ],
});

const startRoute = (task: OpenTask, route: number, reason: string, now: number): OpenTask => ({
  ...leaveRoute(task, reason, now),
  progress: progressAt(task, now),
  reportsProgress: false,
  route,
  faults: 0,
  step: { do: "start", at: now, sent: 0 },
});

/** Completes the task. Charges at most the reserved amount, and less if fewer images were generated. */
export function completed(given: OpenTask, result: Result, assetMs: number, now: number, made?: Billed): CompletedTask {
  const task = billed(given, made ?? (result.kind === "images" ? { outputs: result.images.length } : undefined));
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

/** Cancels the task at the caller's request, for its price or without a charge. `stopped`: what its makers bill for the work that they have failed or stopped, in millionths; null if that is not known yet. */
export function cancelled(
  task: OpenTask,
  isCharged: boolean,
  now: number,
  stopped: ReadonlyMap<Operation, number | null> = new Map(),
): FailedTask {
  const { operation } = task;
  const bill = operation === undefined ? null : stopped.get(operation);
  const isMade = isCharged && bill === undefined;
  const own = typeof bill === "number" ? booked(task, bill) : isMade ? billed(task) : underWay(task);
  // Asked again, a maker may not know the work that it has stopped.
  const earlier = own.earlier?.map((one) => {
    const end = stopped.get(one.operation);
    return typeof end === "number" ? { ...one, end } : one;
  });
  return { ...failed({ ...own, ...(earlier && { earlier }) }, "cancelled", now), charged: isCharged ? task.submission.price : 0 };
}

/** The deadline has passed. */
export const expired = (task: OpenTask, now: number): FailedTask => failed(underWay(task), "deadline_exceeded", now);

/** A start that is under way counts as billed, because the maker may accept it. The consumer's late report corrects this. */
const underWay = (task: OpenTask): OpenTask =>
  task.step.do === "starting" || (task.step.do === "start" && task.isUnknown) ? billed(task) : task;

/** Fails the task without a charge. */
export const failed = (task: OpenTask, error: FailureCode, now: number): FailedTask => ({
  ...task,
  ...releaseEarlier(task, now),
  submission: shortSubmission(task, error),
  status: "failed",
  progress: progressAt(task, now),
  error,
  charged: 0,
  finalAt: now,
  step: { do: "settle", at: now + settleRetryMs },
});
