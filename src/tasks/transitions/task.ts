/** The transitions of a task from its creation to its lease, and when each step is due. Pure: the time is an argument; nothing here waits or stores. */

import { dayMs } from "../../base/times.ts";
import { type CallbackDue, callbackDue, nextCallAt } from "./receiver-calls.ts";
import { type DeliveryDue, deliveryDue } from "./delivery.ts";
import { nextEarlier } from "./hedge.ts";
import { type FinalTask, isFinal, type OpenTask, type Step, type Submission, type Task } from "../record.ts";

/** How long an idempotency key refers to its task. */
export const claimMs = dayMs;
const resendMs = 30_000;
/** A start that no consumer has claimed after this time is run by the object itself: a queue has at most 250 consumers, alarms have no such limit. */
const consumerWaitMs = 10_000;
/** Equal to the limit above, so that the alarm for one is also right for the other. */
const reserveWaitMs = consumerWaitMs;

/** 1, 2, 4, ... times `firstMs`, at most `maxMs`. */
export const backoff = (faults: number, firstMs: number, maxMs: number) => Math.min(maxMs, firstMs * 2 ** faults);

export function newTask(id: string, submission: Submission, now: number): OpenTask {
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
    isTidy: true,
    writes: 0,
  };
}

/** The time of the next alarm. */
export const wakeAt = (task: Task) =>
  Math.min(
    task.step.at,
    isFinal(task) || task.step.do === "reserve" ? Infinity : task.deadline,
    nextCallAt(task),
    task.delivery?.step?.at ?? Infinity,
    nextEarlier(task)?.at ?? Infinity,
  );

/** The steps that can be due before the end. */
export type OpenDue = "poll_earlier" | "abandon" | "dispatch" | "run_start" | "lapse" | "poll" | "deadline";
/** The steps that can be due after the end. */
export type FinalDue = CallbackDue | DeliveryDue | "poll_earlier" | "settle" | "erase" | "forget";

const dueAtStep: Record<Step["do"], OpenDue | FinalDue> = {
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

/** The due step, or undefined if none is due. */
export function due(task: OpenTask, now: number): OpenDue | undefined;
export function due(task: FinalTask, now: number): FinalDue | undefined;
export function due(task: Task, now: number): OpenDue | FinalDue | undefined;
export function due(task: Task, now: number): OpenDue | FinalDue | undefined {
  if (!isFinal(task) && task.step.do !== "reserve" && now >= task.deadline) return "deadline";
  // The callbacks, the delivery and the work of earlier routes have their own schedules beside the task's step; the earliest of these times.
  const callbackAt = nextCallAt(task);
  const deliveryAt = task.delivery?.step?.at ?? Infinity;
  const earlierAt = nextEarlier(task)?.at ?? Infinity;
  if (earlierAt <= Math.min(task.step.at, callbackAt, deliveryAt)) return now < earlierAt ? undefined : "poll_earlier";
  if (callbackAt <= Math.min(task.step.at, deliveryAt)) return callbackDue(task, now);
  if (deliveryAt <= task.step.at) return deliveryDue(task, now);
  if (now < task.step.at) return undefined;
  return task.step.do === "start" && task.step.sent > 0 ? "run_start" : dueAtStep[task.step.do];
}

/** The wallet holds the price: the task is accepted. */
export const reserved = (task: OpenTask): OpenTask => ({ ...task, step: { do: "start", at: task.createdAt + consumerWaitMs, sent: 1 } });

/**
 * The reservation's outcome is unknown and the submission was refused: the reservation is released, with retries until the ledger answers.
 */
export const abandoned = (task: OpenTask, now: number): OpenTask => ({
  ...task,
  faults: task.faults + 1,
  step: { do: "reserve", at: now + backoff(task.faults, 5_000, 60_000) },
});

/** A message was sent, possibly again. The interval between a collection's messages doubles, so that they do not fill a backlog. */
export function dispatched(task: OpenTask, now: number): OpenTask {
  if (task.step.do !== "start" && task.step.do !== "collect") return task;
  const { do: step, sent } = task.step;
  const waitMs = step === "start" ? consumerWaitMs : backoff(sent, resendMs, 300_000);
  return { ...task, step: { do: step, at: now + waitMs, sent: sent + 1 } };
}

/** The queue refused the message: that of a collection is sent again soon; a start is run by the object. */
export function notSent(task: OpenTask, now: number): OpenTask {
  if (task.step.do !== "start" && task.step.do !== "collect") return task;
  return { ...task, step: { ...task.step, at: now + 2_000 } };
}

/** A consumer claims the waiting work. undefined if none is waiting: the message is a duplicate or late. */
export function claimed(task: Task, lease: string, leaseMs: number, repeatable: boolean, now: number): OpenTask | undefined {
  if (isFinal(task) || now >= task.deadline) return undefined;
  const isLapsed = (task.step.do === "starting" && task.step.repeatable) || task.step.do === "collecting";
  const isCollect = task.step.do === "collect" || task.step.do === "collecting";
  if (task.step.do !== "start" && task.step.do !== "collect" && !(isLapsed && now >= task.step.at)) return undefined;
  return {
    ...task,
    status: "in_progress",
    startedAt: task.startedAt ?? now,
    mayHaveAssets: true,
    ...(!isCollect && { askedAt: task.askedAt ?? now }),
    ...(isLapsed && { isTidy: false }),
    ...(task.step.do === "starting" && { isUnknown: true }),
    step: isCollect
      ? { do: "collecting", at: now + leaseMs, lease, repeatable: true }
      : { do: "starting", at: now + leaseMs, lease, repeatable },
  };
}

/**
 * The lease of a collection. Its beginning depends only on the stored record, because claiming a collection writes nothing: after a restart the
 * object still recognises its consumer. The object may then have leased the same collection to another one, whose files have other names.
 */
export const collectLease = (task: Task, nonce: string) => `${toCollection(task)}${nonce}`;
const toCollection = ({ writes }: Task) => `c${writes}-`;

/** The task in the step that this lease is for; undefined if the lease is no longer valid. */
export function leased(task: Task, lease: string): OpenTask | undefined {
  if (isFinal(task)) return undefined;
  const { step } = task;
  if (step.do === "starting") return step.lease === lease ? task : undefined;
  // After a restart the object does not know that it leased the collection, or that the collection was due. The previous release has no nonce.
  const isCollected = step.do === "collecting" || ((step.do === "poll" || step.do === "collect") && task.operation !== undefined);
  if (!isCollected || !`${lease}-`.startsWith(toCollection(task))) return undefined;
  return { ...task, step: { do: "collecting", at: step.at, lease, repeatable: true } };
}

/** 0 to 99 while it runs, 100 when completed; never decreases. */
export function progressAt(task: Task, now: number): number {
  if (task.status !== "in_progress" || task.reportsProgress) return task.progress;
  const expected = 1000 * task.submission.typicalSeconds;
  return Math.max(task.progress, Math.min(95, Math.floor((95 * (now - (task.startedAt ?? now))) / expected)));
}

/** Estimated seconds until the end, at least a tenth of the elapsed ones; undefined if the task is final. While it is queued all its work is ahead. */
export function remainingSeconds(task: Task, now: number): number | undefined {
  if (isFinal(task)) return undefined;
  const passed = (now - task.createdAt) / 1000;
  const worked = (now - (task.startedAt ?? now)) / 1000;
  return Math.max(1, Math.ceil(Math.max(task.submission.typicalSeconds - worked, passed / 10)));
}
