/** Accepted work whose route gave way to the next one: it goes on beside the new route until one of them has a usable result. Pure. */

import type { Operation } from "../providers/provider.ts";
import { isFinal, type OpenTask, type Task } from "./record.ts";

/** When a route that has accepted the work gives way: never, when it fails or falls silent, or also when it is slow. */
export type Hedging = "off" | "failed" | "slow";

/** Accepted by a route that gave way, without a verdict yet. */
export interface EarlierWork {
  route: number;
  operation: Operation;
  /** When the provider is asked next. */
  at: number;
  faults: number;
}

/** A provider that answers no poll for this long is taken for dead. */
const silenceMs = 60_000;
/** The pace at which a provider is asked that is silent, or whose result is not wanted any more. */
const idlePollMs = 30_000;

/** The route that was not tried yet, or undefined. Each route that gave way has left an attempt. */
export function nextRoute({ route, attempts, submission }: Task): number | undefined {
  const next = Math.max(route, attempts.length) + 1;
  return next < submission.routes.length ? next : undefined;
}

/** Why the route has to give way although nothing failed, or undefined. `now` is the time of a poll's answer, or of its fault. */
export function reasonToHedge(task: Task, hedging: Hedging, now: number): { next: number; reason: "silent" | "slow" } | undefined {
  const next = nextRoute(task);
  if (hedging === "off" || next === undefined) return undefined;
  if (task.silentSince !== undefined && now - task.silentSince >= silenceMs) return { next, reason: "silent" };
  const runningMs = now - (task.askedAt ?? task.startedAt ?? task.createdAt);
  return hedging === "slow" && runningMs > 2_000 * task.submission.typicalSeconds ? { next, reason: "slow" } : undefined;
}

/** The earlier work that is asked about next. */
export const nextEarlier = ({ earlier = [] }: Task): EarlierWork | undefined => [...earlier].sort((a, b) => a.at - b.at)[0];

const without = ({ earlier = [] }: Task, one: EarlierWork) => earlier.filter(({ operation }) => operation !== one.operation);

/** The task's current operation as work of a route that gave way; none when nothing was accepted. */
export const toEarlier = ({ route, operation, faults }: Task, now: number): EarlierWork[] =>
  operation === undefined ? [] : [{ route, operation, at: now + idlePollMs, faults }];

/** The work has ended without a result, was cancelled, or its outcome was reported to the operator. */
export function earlierDropped<T extends Task>(task: T, one: EarlierWork): T {
  const left = without(task, one);
  const rest = { ...task, earlier: left };
  if (left.length === 0) delete (rest as Task).earlier;
  return rest;
}

/** No verdict yet: asked again after `afterMs`, but not beyond the deadline of a task that has ended. */
export const earlierPending = <T extends Task>(task: T, one: EarlierWork, faults: number, now: number, afterMs = idlePollMs): T =>
  isFinal(task) && now >= task.deadline
    ? earlierDropped(task, one)
    : { ...task, earlier: [...without(task, one), { ...one, faults, at: now + afterMs }] };

/** The earlier work becomes the task's own again: no other route has a chance any more, or it has the first result. */
export function earlierResumed(task: OpenTask, one: EarlierWork, now: number): OpenTask {
  const { operation: _operation, askedAt: _askedAt, isUnknown: _isUnknown, silentSince: _silentSince, ...rest } = earlierDropped(task, one);
  return {
    ...rest,
    route: one.route,
    operation: one.operation,
    reportsProgress: false,
    faults: 0,
    step: { do: "poll", at: Math.max(now, one.at) },
  };
}

/** Whether a result of earlier work is wanted: not after the end, nor when the current route has a result already. */
export const wantsEarlier = (task: Task): task is OpenTask => !isFinal(task) && !task.step.do.startsWith("collect");

/** After the end every earlier work is cancelled at once. */
export const releaseEarlier = ({ earlier }: Task, now: number): Pick<Task, "earlier"> =>
  earlier ? { earlier: earlier.map((one) => ({ ...one, at: now })) } : {};

/** Whether an operation that a provider accepted for a lease that is over belongs to no route of the task: it has to be cancelled. */
export const isUnwanted = (task: Task, operation: Operation): boolean =>
  task.operation === undefined
    ? task.status === "failed"
    : task.operation !== operation && !(task.earlier ?? []).some((one) => one.operation === operation);
