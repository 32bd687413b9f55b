/** Every transition of a final task's callback: when it is attempted, and how it ends. Pure, like `task.ts`. */

import type { FinalTask, Task, Attempt, CallbackReport, Callback } from "../record.ts";

/** Milliseconds between attempts; after the last one the callback has failed. */
export const retryDelaysMs = [5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000];
/** The time limit for a receiver's answer. */
export const callTimeoutMs = 10_000;
/** The object itself makes a call that no consumer has claimed after this time, or whose message the queue refused. It waits only for its own receiver. */
const consumerWaitMs = 2_000;
const leaseMs = callTimeoutMs + 10_000;
const postponedMs = 30_000;
/** The number of latest attempts in the record. */
const maxAttempts = 20;

export type CallbackDue = "notify" | "call_back" | "call_lapsed";

const dueAtStep: Record<NonNullable<Callback["step"]>["do"], CallbackDue> = { wait: "notify", call: "call_back", calling: "call_lapsed" };

/** A task's two callbacks: about its end, and about the end of its delivery. */
type Sequence = "callback" | "deliveryCallback";

/** The callback whose step counts. A task's receiver gets one call at a time: the calls about the delivery wait until those about the task have ended. */
const current = ({ callback, deliveryCallback }: Task): Sequence => (callback?.step || !deliveryCallback ? "callback" : "deliveryCallback");

const stepOf = (task: Task) => task[current(task)]?.step;

/** When the next step of the callbacks is due; Infinity if there is none. */
export const nextCallAt = (task: Task): number => stepOf(task)?.at ?? Infinity;

/** The due step of the callbacks, or undefined if none is due. */
export function callbackDue(task: Task, now: number): CallbackDue | undefined {
  const step = stepOf(task);
  return step && now >= step.at ? dueAtStep[step.do] : undefined;
}

function withCallback(task: FinalTask, name: Sequence, change: Partial<Callback>): FinalTask {
  const { step: _step, ...callback } = task[name] ?? { state: "pending", failures: 0, attempts: [] };
  return { ...task, [name]: { ...callback, ...change } };
}

/**
 * Begins a round of calls about the task's end, because the task is final and has an endpoint, or because its owner requests another round: a
 * message is about to be sent. Unchanged while such a call is running.
 */
export const callbackBegun = (task: FinalTask, now: number): FinalTask =>
  task.callback?.step?.do === "calling"
    ? task
    : withCallback(task, "callback", { state: "pending", failures: 0, step: { do: "call", at: now + consumerWaitMs } });

/** Begins the calls about the end of the delivery. */
export const deliveryCallbackBegun = (task: FinalTask, now: number): FinalTask =>
  task.deliveryCallback ? task : withCallback(task, "deliveryCallback", { state: "pending", step: { do: "wait", at: now } });

/** A waiting attempt is due; its message is about to be sent. */
export const callbackSent = (task: FinalTask, now: number): FinalTask =>
  withCallback(task, current(task), { step: { do: "call", at: now + consumerWaitMs } });

/** A consumer claims the call; undefined if none is waiting, because the message is a duplicate or late. */
export const callbackClaimed = (task: FinalTask, lease: string, now: number): FinalTask | undefined =>
  stepOf(task)?.do === "call" ? withCallback(task, current(task), { step: { do: "calling", at: now + leaseMs, lease } }) : undefined;

/** True if the next or running call is about the end of the delivery. */
export const isAboutDelivery = (task: Task): boolean => current(task) === "deliveryCallback";

/** Takes the report of a call made under `lease`; undefined if the lease is no longer valid. */
export function callbackReported(task: FinalTask, lease: string, report: CallbackReport, now: number): FinalTask | undefined {
  // The owner may have requested the first callback again while the second was called.
  const name = (["callback", "deliveryCallback"] as const).find((one) => {
    const step = task[one]?.step;
    return step?.do === "calling" && step.lease === lease;
  });
  if (!name) return undefined;
  switch (report.outcome) {
    case "no_endpoint":
      return withCallback(task, name, { state: "no_endpoint" });
    case "postponed":
      return withCallback(task, name, { step: { do: "wait", at: now + postponedMs } });
    case "attempted": {
      const { outcome: _outcome, ...attempt } = report;
      return attempted(task, name, attempt, now);
    }
  }
}

/** True if the receiver needs attention: its calls have failed for more than ten minutes, or its address is blocked. */
export const keepsFailing = ({ callback, deliveryCallback }: FinalTask): boolean =>
  [callback, deliveryCallback].some((one) => one && (one.failures >= 4 || one.state === "failed") && one.state !== "gone");

/** The lease expired: the receiver may have been called, which counts as a failed attempt. */
export const callLapsed = (task: FinalTask, now: number): FinalTask =>
  attempted(task, current(task), { at: stepOf(task)!.at - leaseMs, ms: leaseMs, fault: "interrupted" }, now);

function attempted(task: FinalTask, name: Sequence, attempt: Attempt, now: number): FinalTask {
  const { failures, attempts: earlier } = task[name]!;
  const attempts = [...earlier, attempt].slice(-maxAttempts);
  const { status = 0, fault } = attempt;
  if (status >= 200 && status < 300) return withCallback(task, name, { state: "delivered", failures: 0, attempts });
  // The receiver refuses further calls.
  if (status === 410) return withCallback(task, name, { state: "gone", failures: failures + 1, attempts });
  const delayMs = retryDelaysMs[failures];
  // An address that is not allowed now will not be allowed later.
  if (delayMs === undefined || fault === "blocked_url")
    return withCallback(task, name, { state: "failed", failures: failures + 1, attempts });
  return withCallback(task, name, { failures: failures + 1, attempts, step: { do: "wait", at: now + delayMs } });
}
