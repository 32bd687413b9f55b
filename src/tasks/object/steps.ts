/** The steps of a task: what is due is done, by a consumer under a lease or by the task's object. */

import { logFields } from "../log-fields.ts";
import { assetPrefix, removeAssets, removeUnder } from "../../storage/assets.ts";
import { hedging, lifeTimes } from "../../config.ts";
import { countCall } from "../../db/recent-sums.ts";
import { recordIncident } from "../../db/alerts.ts";
import { limitWait } from "../../base/limit-wait.ts";
import { newId } from "../../base/ids.ts";
import { alert } from "../../base/log.ts";
import { logStep } from "../../step-log.ts";
import { listAssets } from "../answers/views.ts";
import { perform } from "../consumer/perform.ts";
import { callReceiver } from "../consumer/notify.ts";
import { announceDelivery, runDelivery } from "./delivering.ts";
import { abandon } from "./creating.ts";
import { apply, forget, settleOnce } from "./ending.ts";
import { sendCallback, sendDispatch } from "./messages.ts";
import { pollEarlier, pollOperation, runPoll } from "./polls.ts";
import type { RecordStore } from "./record-store.ts";
import { cancelLate, currentTraits } from "./upstream.ts";
import { bookLate } from "./wallet-calls.ts";
import { billedCost } from "../booking.ts";
import * as afterEnd from "../transitions/after-end.ts";
import { isUnwanted, withEarlier } from "../transitions/hedge.ts";
import * as outcomes from "../transitions/outcomes.ts";
import * as callbacks from "../transitions/receiver-calls.ts";
import * as deliveries from "../transitions/delivery.ts";
import * as transitions from "../transitions/task.ts";
import { type CallbackReport, type FinalTask, isFinal, type OpenTask, type Task } from "../record.ts";
import { type CallbackWork, leaseMs, type StepOutcome, type Work } from "../work.ts";

export const runDue = (task: Task, record: RecordStore, env: Env): Promise<unknown> =>
  isFinal(task) ? runFinal(task, record, env) : runOpen(task, record, env);

async function runOpen(task: OpenTask, record: RecordStore, env: Env): Promise<unknown> {
  const now = Date.now();
  switch (transitions.due(task, now)) {
    case undefined:
      return;
    case "poll_earlier":
      return runPoll(record, () => pollEarlier(task, record, env));
    case "abandon":
      return abandon(task, record, env);
    case "dispatch":
      if (task.step.do === "collect" && task.step.sent > 0) await countCall(env.DB, "queue collect", false);
      return record.task === task ? sendDispatch(record.commit(transitions.dispatched(task, now)), record, env) : undefined;
    case "run_start": {
      const work = claimStep(record, env);
      return work ? runStart(work, record, env) : undefined;
    }
    case "lapse":
      alert("dispatch", { ...logFields(task), outcome: "lease_lapsed" });
      return apply(outcomes.leaseExpired(task, now), record, env);
    case "poll":
      return pollOperation(task, record, env);
    case "deadline":
      return apply(outcomes.expired(task, now), record, env);
  }
}

async function runFinal(task: FinalTask, record: RecordStore, env: Env): Promise<unknown> {
  const now = Date.now();
  switch (transitions.due(task, now)) {
    case undefined:
      return;
    case "poll_earlier":
      return runPoll(record, () => pollEarlier(task, record, env));
    case "settle":
      return settleOnce(task, record, env);
    case "notify":
      return sendCallback(record.commit(callbacks.callbackSent(task, now)), env);
    case "call_back": {
      // No consumer has claimed the call. Each task object waits for its own receiver, so a slow receiver delays no other task.
      void countCall(env.DB, "queue notify", false);
      const work = claimCallback(record, true);
      return work && reportCallback(work.lease, await callReceiver(work, env), record, env);
    }
    case "call_lapsed":
      return record.commit(callbacks.callLapsed(task, now));
    case "deliver":
      return runDelivery(task, record, env);
    case "delivery_lapsed":
      return task.status === "completed" && record.commit(deliveries.deliveryLapsed(task, now));
    case "announce_delivery":
      return announceDelivery(task, record, env);
    case "erase":
      return eraseFiles(task, record, env);
    case "forget":
      return forget(task, record, env);
  }
}

async function eraseFiles(task: FinalTask, record: RecordStore, env: Env): Promise<void> {
  const { isTidy, isDeleted, result } = task;
  if (isTidy && result && !isDeleted)
    await removeAssets(
      env.ASSETS,
      listAssets(result).map(({ key }) => key),
    );
  else await removeUnder(env.ASSETS, assetPrefix(task.id));
  if (record.task === task) record.keep(afterEnd.erased(task, lifeTimes(env).recordMs));
}

/**
 * Leases the waiting start or collection; null if none is waiting. A consumer that asks again with its `nonce` gets the start that it has
 * leased: the first answer was lost.
 */
export function claimStep(record: RecordStore, env: Env, nonce = newId("")): Work | null {
  const { task } = record;
  if (!task) return null;
  if (task.step.do === "starting" && task.step.lease === nonce) return { step: "start", lease: nonce, task };
  const provider = currentTraits(task, env);
  const isStart = task.step.do === "start" || task.step.do === "starting";
  const lease = isStart ? nonce : transitions.collectLease(task, nonce);
  const claimed = transitions.claimed(task, lease, leaseMs(task, provider), provider.repeatable, Date.now());
  if (!claimed) return null;
  if ("sent" in task.step) void countCall(env.DB, `queue ${task.step.do}`, !isLate(task.step));
  // A collection may be claimed again after a crash: its lease is valid until the record is written again.
  return isStart ? { step: "start", lease, task: record.commit(claimed) } : { step: "collect", lease, task: record.keep(claimed) };
}

/** True if no consumer took the start in the time after which its object runs it, or the collection before its message was sent again. */
const isLate = ({ do: step, at, sent }: Extract<Task["step"], { sent: number }>) =>
  step === "start" ? sent > 0 && Date.now() >= at : sent > 1;

/** True if the step is still leased to this consumer. */
export const isLeased = (lease: string, { task }: RecordStore): boolean =>
  task !== undefined && transitions.leased(task, lease) !== undefined;

/** Applies the outcome of a leased step. False if the lease is no longer valid. */
export async function reportStep(lease: string, step: StepOutcome, record: RecordStore, env: Env): Promise<boolean> {
  const known = record.task;
  if (known?.endedBy === lease) {
    // The outcome was reported before and the answer was lost: the object may have crashed before the settlement.
    if (known.step.do === "settle") await settleOnce(known, record, env);
    return true;
  }
  const task = known && transitions.leased(known, lease);
  if (!task) {
    // The task ended or moved to another route during the start, so no consumer will collect this result. A repeated report repeats this.
    const cost = known && (await lateCost(known, step, env));
    if (known?.status !== "failed" || step.route !== known.route || cost === undefined || (known.isDeleted && cost !== 0)) return false;
    const { task: current } = record;
    // Kept with its end, which the alarm books: a repeated report must not ask the maker again for work that it has stopped.
    if (step.outcome === "accepted" && current)
      record.commit(withEarlier(current, { route: step.route, operation: step.operation, at: Date.now(), faults: 0, end: cost }));
    else await bookLate(known, known.route, cost, env);
    return false;
  }
  await apply(reported(task, step, record.polls.isCalled, env), record, env);
  return true;
}

/** What the maker bills for a start that is reported after its task has ended; undefined if that is not known. Cancels work that was accepted. */
async function lateCost(task: Task, step: StepOutcome, env: Env): Promise<number | null | undefined> {
  switch (step.outcome) {
    case "accepted":
      if (!isUnwanted(task, step.operation)) return undefined;
      return ((await cancelLate({ ...task, route: step.route }, step.operation, env)) ?? { cost: billedCost(task, step.route) }).cost;
    case "completed":
      return billedCost(task, task.route, step.billed);
    case "failed":
      return step.billed ? billedCost(task, task.route, step.billed) : 0;
    case "fault":
      return step.isUntouched ? 0 : undefined;
    case "lost":
      return undefined;
  }
}

/** The record after the report of a leased step. `isCalled`: the provider called back before the consumer reported the start. */
function reported(task: OpenTask, step: StepOutcome, isCalled: boolean, env: Env): Task {
  const now = Date.now();
  switch (step.outcome) {
    case "accepted":
      return outcomes.accepted(task, isCalled ? { ...step, pollAfterMs: 0 } : step, currentTraits(task, env).reportsProgress, now);
    case "completed":
      return outcomes.completed(task, step.result, lifeTimes(env).assetMs, now, step.billed);
    case "failed":
      return outcomes.providerFailed(task, step.code, hedging(env), now, step.billed);
    case "lost":
      return outcomes.lost(task, now);
    case "fault":
      return task.step.do === "starting" ? outcomes.startFailed(task, step, now) : outcomes.collectFailed(task, step, now);
  }
}

/**
 * Runs a start in the task's own object, because no consumer has claimed it in time. It has a lease, like a consumer: a message that arrives
 * meanwhile finds no waiting work. No other alarm fires while this one runs, so it waits for the start only until another step is due or the
 * task has ended.
 */
async function runStart(work: Work, record: RecordStore, env: Env): Promise<void> {
  logStep(env, "dispatch", { ...logFields(work.task), outcome: "undertaken" });
  const ended = new Promise<void>((resolve) => (record.onFinal = resolve));
  const started = perform(work, env, {
    holdsLease: async (lease) => isLeased(lease, record),
    report: (lease, outcome) => reportStep(lease, outcome, record, env),
  });
  try {
    await limitWait(transitions.wakeAt(work.task) - Date.now(), Promise.race([started, ended]), undefined);
  } finally {
    record.onFinal = undefined;
    started.catch((error: unknown) => alert("dispatch", { ...logFields(work.task), outcome: "fault" }, error));
  }
}

/**
 * Leases the waiting call of the receiver; null if none is waiting. A consumer of an earlier version would send the wrong event for a call
 * about a delivery (`mayBeDelivery` is false): the object makes that call itself.
 */
export function claimCallback(record: RecordStore, mayBeDelivery: boolean): CallbackWork | null {
  const lease = newId("");
  const { task } = record;
  if (!task || !isFinal(task)) return null;
  const ofDelivery = callbacks.isAboutDelivery(task);
  if (ofDelivery && !mayBeDelivery) return null;
  const claimed = callbacks.callbackClaimed(task, lease, Date.now());
  return claimed ? { lease, task: record.commit(claimed), ...(ofDelivery && { ofDelivery }) } : null;
}

/** Applies the report of a leased call. Ignored if the lease is no longer valid. */
export async function reportCallback(lease: string, report: CallbackReport, record: RecordStore, env: Env): Promise<void> {
  const { task } = record;
  const after = task && isFinal(task) ? callbacks.callbackReported(task, lease, report, Date.now()) : undefined;
  if (!after) return;
  record.commit(after);
  if (callbacks.keepsFailing(after)) await recordIncident(env.DB, "callback", after.submission.accountId);
}
