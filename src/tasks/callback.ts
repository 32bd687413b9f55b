/** Every transition of a final task's callback: when it is attempted, and how it ends. Pure, like `task.ts`. */

import type { FinalTask, Task } from "./record.ts";

/** Milliseconds between attempts; after the last one the callback has failed. */
export const retryDelaysMs = [5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000];
/** The time limit for a receiver's answer. */
export const callTimeoutMs = 10_000;
/** A call that no consumer has claimed after this time, or whose message the queue refused, is made by the object itself: each object waits only for its own receiver. */
const consumerWaitMs = 2_000;
const leaseMs = callTimeoutMs + 10_000;
const postponedMs = 30_000;
/** The number of latest attempts in the record. */
const maxAttempts = 20;

/**
 * Why there is no status. `timeout`: no answer within 10 seconds. `unreachable`: no connection. `blocked_url`: the address is not public.
 * `interrupted`: the consumer ended before it could report.
 */
export type CallbackFault = "timeout" | "unreachable" | "blocked_url" | "interrupted";

/** One call of the receiver: its start and duration in milliseconds, and its outcome. */
export interface Attempt {
  at: number;
  ms: number;
  /** The receiver's HTTP status. */
  status?: number;
  /** Set if there is no status. */
  fault?: CallbackFault;
}

/** A consumer's report of a call. */
export type CallbackReport =
  | ({ outcome: "attempted" } & Attempt)
  /** The account's endpoint was removed in the meantime. */
  | { outcome: "no_endpoint" }
  /** Our own storage did not answer, so the receiver was not called. */
  | { outcome: "postponed" };

/** The callback of a final task. */
export interface Callback {
  /** `pending` while an attempt is due or running; `gone` after 410; `failed` after the last attempt. */
  state: "pending" | "delivered" | "gone" | "failed" | "no_endpoint";
  /** The next step; undefined unless pending. */
  step?:
    | { do: "wait"; at: number }
    /** A message for the consumer was sent; the object makes the call itself at `at`. */
    | { do: "call"; at: number }
    /** A consumer makes the call under a lease until `at`. */
    | { do: "calling"; at: number; lease: string };
  /** Consecutive failed attempts since the callback began or was last requested. */
  failures: number;
  attempts: Attempt[];
}

export type CallbackDue = "notify" | "call_back" | "call_lapsed";

const dueAtStep: Record<NonNullable<Callback["step"]>["do"], CallbackDue> = { wait: "notify", call: "call_back", calling: "call_lapsed" };

/** The due step of the callback, or undefined if none is due. */
export const callbackDue = ({ callback }: Task, now: number): CallbackDue | undefined =>
  callback?.step && now >= callback.step.at ? dueAtStep[callback.step.do] : undefined;

const withCallback = (task: FinalTask, change: Partial<Callback>): FinalTask => {
  const { step: _step, ...callback } = task.callback ?? { state: "pending", failures: 0, attempts: [] };
  return { ...task, callback: { ...callback, ...change } };
};

/**
 * Begins a round of calls, because the task is final and has an endpoint, or because its owner requests another round: a message is about to
 * be sent. Unchanged while a call is running.
 */
export const callbackBegun = (task: FinalTask, now: number): FinalTask =>
  task.callback?.step?.do === "calling"
    ? task
    : withCallback(task, { state: "pending", failures: 0, step: { do: "call", at: now + consumerWaitMs } });

/** A waiting attempt is due; its message is about to be sent. */
export const callbackSent = (task: FinalTask, now: number): FinalTask =>
  withCallback(task, { step: { do: "call", at: now + consumerWaitMs } });

/** A consumer claims the call; undefined if none is waiting, because the message is a duplicate or late. */
export const callbackClaimed = (task: FinalTask, lease: string, now: number): FinalTask | undefined =>
  task.callback?.step?.do === "call" ? withCallback(task, { step: { do: "calling", at: now + leaseMs, lease } }) : undefined;

/** Takes the report of a call made under `lease`; undefined if the lease is no longer valid. */
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

/** True if the receiver needs attention: its calls have failed for more than ten minutes, or its address is blocked. */
export const keepsFailing = ({ callback }: FinalTask): boolean =>
  callback !== undefined && (callback.failures >= 4 || callback.state === "failed") && callback.state !== "gone";

/** The lease expired: the receiver may have been called, which counts as a failed attempt. */
export const callLapsed = (task: FinalTask, now: number): FinalTask =>
  attempted(task, { at: task.callback!.step!.at - leaseMs, ms: leaseMs, fault: "interrupted" }, now);

function attempted(task: FinalTask, attempt: Attempt, now: number): FinalTask {
  const { failures, attempts: earlier } = task.callback!;
  const attempts = [...earlier, attempt].slice(-maxAttempts);
  const { status = 0, fault } = attempt;
  if (status >= 200 && status < 300) return withCallback(task, { state: "delivered", failures: 0, attempts });
  // The receiver refuses further calls.
  if (status === 410) return withCallback(task, { state: "gone", failures: failures + 1, attempts });
  const delayMs = retryDelaysMs[failures];
  // An address that is not allowed now will not be allowed later.
  if (delayMs === undefined || fault === "blocked_url") return withCallback(task, { state: "failed", failures: failures + 1, attempts });
  return withCallback(task, { failures: failures + 1, attempts, step: { do: "wait", at: now + delayMs } });
}
