/** Every transition of a final task's callback: what is attempted when, and how it ends. Pure, as `task.ts` is. */

import type { FinalTask, Task } from "./record.ts";

/** Milliseconds from one failed attempt to the next; after the last one the callback is given up. */
const retryDelaysMs = [5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000];
/** A receiver has to answer within this time. */
export const callTimeoutMs = 10_000;
/** A call that no consumer has taken after this long is made by the object itself: consumers are at most 250 a queue, alarms have no such limit. */
const consumerWaitMs = 10_000;
const leaseMs = callTimeoutMs + 10_000;
const postponedMs = 30_000;
/** The record keeps so many of the latest attempts. */
const maxAttempts = 20;

/**
 * Why a receiver gave no status: `timeout` no answer within 10 seconds, `unreachable` no connection, `blocked_url` an address that is not
 * public, `interrupted` our own consumer ended before it could report.
 */
export type CallbackFault = "timeout" | "unreachable" | "blocked_url" | "interrupted";

/** One call of the receiver: when it began, how long it took (both milliseconds), and what came of it. */
export interface Attempt {
  at: number;
  ms: number;
  /** The receiver's HTTP status. */
  status?: number;
  /** Set when there is no status. */
  fault?: CallbackFault;
}

/** What a consumer reports of a call. */
export type CallbackReport =
  | ({ outcome: "attempted" } & Attempt)
  /** The account's endpoint was removed meanwhile. */
  | { outcome: "no_endpoint" }
  /** Our own storage did not answer, so the receiver was not called. */
  | { outcome: "postponed" };

/** The callback of a final task. */
export interface Callback {
  /** `pending` while an attempt is due or under way; `gone` after 410; `failed` after the last attempt. */
  state: "pending" | "delivered" | "gone" | "failed" | "no_endpoint";
  /** What happens next; undefined unless pending. */
  step?:
    | { do: "wait"; at: number }
    /** A message for the consumer is under way; the object calls by itself at `at`. */
    | { do: "call"; at: number }
    /** A consumer calls under a lease until `at`. */
    | { do: "calling"; at: number; lease: string };
  /** Failed attempts in a row, since the callback began or was last asked for. */
  failures: number;
  attempts: Attempt[];
}

export type CallbackDue = "notify" | "call_back" | "call_lapsed";

const dueAtStep: Record<NonNullable<Callback["step"]>["do"], CallbackDue> = { wait: "notify", call: "call_back", calling: "call_lapsed" };

/** What the callback needs now, or undefined when it is too early for anything. */
export const callbackDue = ({ callback }: Task, now: number): CallbackDue | undefined =>
  callback?.step && now >= callback.step.at ? dueAtStep[callback.step.do] : undefined;

const withCallback = (task: FinalTask, change: Partial<Callback>): FinalTask => {
  const { step: _step, ...callback } = task.callback ?? { state: "pending", failures: 0, attempts: [] };
  return { ...task, callback: { ...callback, ...change } };
};

/** The task is final and has an address to call, or its owner asks for another round: a message is about to be sent. A call under way counts. */
export const callbackBegun = (task: FinalTask, now: number): FinalTask =>
  task.callback?.step?.do === "calling"
    ? task
    : withCallback(task, { state: "pending", failures: 0, step: { do: "call", at: now + consumerWaitMs } });

/** A waiting attempt is due: a message is about to be sent for it. */
export const callbackSent = (task: FinalTask, now: number): FinalTask =>
  withCallback(task, { step: { do: "call", at: now + consumerWaitMs } });

/** The queue did not take the message: the object is not left waiting for it. */
export const callbackNotSent = (task: FinalTask, now: number): FinalTask =>
  task.callback?.step?.do === "call" ? withCallback(task, { step: { do: "call", at: now + 2_000 } }) : task;

/** A consumer takes the call, or undefined when none waits for one: a duplicate or late message. */
export const callbackClaimed = (task: FinalTask, lease: string, now: number): FinalTask | undefined =>
  task.callback?.step?.do === "call" ? withCallback(task, { step: { do: "calling", at: now + leaseMs, lease } }) : undefined;

/** Takes the report of a call made under `lease`; undefined when the lease is no longer valid. */
export function callbackReported(task: FinalTask, lease: string, report: CallbackReport, now: number): FinalTask | undefined {
  const { step } = task.callback ?? {};
  if (step?.do !== "calling" || step.lease !== lease) return undefined;
  switch (report.outcome) {
    case "no_endpoint":
      return withCallback(task, { state: "no_endpoint" });
    case "postponed":
      return withCallback(task, { step: { do: "wait", at: now + postponedMs } });
    case "attempted": {
      const { outcome: _outcome, ...attempt } = report;
      return attempted(task, attempt, now);
    }
  }
}

/** The lease ran out: the receiver may or may not have been called, which counts as a failed attempt. */
export const callLapsed = (task: FinalTask, now: number): FinalTask =>
  attempted(task, { at: task.callback!.step!.at - leaseMs, ms: leaseMs, fault: "interrupted" }, now);

function attempted(task: FinalTask, attempt: Attempt, now: number): FinalTask {
  const { failures, attempts: earlier } = task.callback!;
  const attempts = [...earlier, attempt].slice(-maxAttempts);
  const { status = 0, fault } = attempt;
  if (status >= 200 && status < 300) return withCallback(task, { state: "delivered", failures: 0, attempts });
  // The receiver wants no more calls.
  if (status === 410) return withCallback(task, { state: "gone", failures: failures + 1, attempts });
  const delayMs = retryDelaysMs[failures];
  // An address that is not allowed now will not be so later.
  if (delayMs === undefined || fault === "blocked_url") return withCallback(task, { state: "failed", failures: failures + 1, attempts });
  return withCallback(task, { failures: failures + 1, attempts, step: { do: "wait", at: now + delayMs } });
}
