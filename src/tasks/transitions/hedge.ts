/** Work that an earlier route has accepted: it continues beside the next route until one of them has a usable result. Pure. */

import type { Hedging } from "../../base/hedging.ts";
import type { Operation } from "../../providers/provider.ts";
import { billedCost } from "../booking.ts";
import { isFinal, type OpenTask, type Task, type EarlierWork } from "../record.ts";

/** A provider that answers no poll for this long counts as failed. */
export const silenceMs = 60_000;
/** The poll interval for a provider that does not answer, or whose result is no longer wanted. */
const idlePollMs = 30_000;

/** The next untried route, or undefined. Each earlier route has one attempt in the record. */
export function nextRoute({ route, attempts, submission }: Task): number | undefined {
  const next = Math.max(route, attempts.length) + 1;
  return next < submission.routes.length ? next : undefined;
}

/** The reason to start the next route although there is no failure, or undefined. `now` is the time of a poll's answer or fault. */
export function reasonToHedge(task: Task, hedging: Hedging, now: number): { next: number; reason: "silent" | "slow" } | undefined {
  const next = nextRoute(task);
  if (hedging === "off" || next === undefined) return undefined;
  if (task.silentSince !== undefined && now - task.silentSince >= silenceMs) return { next, reason: "silent" };
  const runningMs = now - (task.askedAt ?? task.startedAt ?? task.createdAt);
  return hedging === "slow" && runningMs > 2_000 * task.submission.typicalSeconds ? { next, reason: "slow" } : undefined;
}

/** The earlier work that is polled next. */
export const nextEarlier = ({ earlier = [] }: Task): EarlierWork | undefined => [...earlier].sort((a, b) => a.at - b.at)[0];

const without = ({ earlier = [] }: Task, one: EarlierWork) => earlier.filter(({ operation }) => operation !== one.operation);

/** The task's current operation as earlier work; empty if the route accepted nothing. */
export const toEarlier = ({ route, operation, faults }: Task, now: number): EarlierWork[] =>
  operation === undefined ? [] : [{ route, operation, at: now + idlePollMs, faults }];

/** Removes earlier work that ended without a result, was cancelled, or whose outcome was logged. */
export function earlierDropped<T extends Task>(task: T, one: EarlierWork): T {
  const left = without(task, one);
  const rest = { ...task, earlier: left };
  if (left.length === 0) delete (rest as Task).earlier;
  return rest;
}

/** Still without an outcome: polled again after `afterMs`. */
export const earlierPending = <T extends Task>(task: T, one: EarlierWork, faults: number, now: number, afterMs = idlePollMs): T => ({
  ...task,
  earlier: [...without(task, one), { ...one, faults, at: now + afterMs }],
});

/** The task without the fields of the current route's work. */
export function withoutWork(task: OpenTask): OpenTask {
  const {
    operation: _operation,
    askedAt: _askedAt,
    isUnknown: _isUnknown,
    silentSince: _silentSince,
    callsBack: _callsBack,
    readyAt: _readyAt,
    ...rest
  } = task;
  return rest;
}

/** Makes the earlier work the current one again, because no other route is left or because it has the first result. */
export const earlierResumed = (task: OpenTask, one: EarlierWork, now: number): OpenTask => ({
  ...withoutWork(earlierDropped(task, one)),
  route: one.route,
  operation: one.operation,
  reportsProgress: false,
  faults: 0,
  step: { do: "poll", at: Math.max(now, one.at) },
});

/** The task with more work that a maker has accepted. */
export const withEarlier = <T extends Task>(task: T, one: EarlierWork): T => ({ ...task, earlier: [...(task.earlier ?? []), one] });

/** True if a result of earlier work can still be used: the task is open and the current route has no result yet. */
export const wantsEarlier = (task: Task): task is OpenTask => !isFinal(task) && !task.step.do.startsWith("collect");

/** Once the task is final, all earlier work is due at once for cancellation. */
export const releaseEarlier = (task: Task, now: number): Pick<Task, "earlier"> =>
  task.earlier ? { earlier: task.earlier.map((one) => ({ ...one, at: now, cost: billedCost(task, one.route) })) } : {};

/** True if an operation accepted under an expired lease belongs to none of the task's routes and must be cancelled. */
export const isUnwanted = (task: Task, operation: Operation): boolean =>
  task.operation === undefined
    ? task.status === "failed"
    : task.operation !== operation && !(task.earlier ?? []).some((one) => one.operation === operation);
