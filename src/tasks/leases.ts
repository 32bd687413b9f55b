/** The leases of a task's steps and of its callback: consumers claim work from the task object and report the outcome. */

import { recordIncident } from "../db/incidents.ts";
import { newId } from "../ids.ts";
import * as callbacks from "./callback.ts";
import { reported } from "./continuing.ts";
import { isUnwanted } from "./hedge.ts";
import type { CallbackWork } from "./notify.ts";
import { currentProvider, type Poller } from "./poll.ts";
import { type FinalTask, isFinal } from "./record.ts";
import type { RecordStore } from "./record-store.ts";
import { cancelLate } from "./settle.ts";
import * as transitions from "./task.ts";
import { leaseMs, type StepOutcome, type Work } from "./work.ts";

/** Leases the waiting start or collection; null if none is waiting. */
export function claimStep(record: RecordStore, env: Env): Work | null {
  const { task } = record;
  if (!task) return null;
  const provider = currentProvider(task, env);
  const isStart = task.step.do === "start" || task.step.do === "starting";
  const lease = isStart ? newId("") : transitions.collectLease(task);
  const claimed = transitions.claimed(task, lease, leaseMs(task, provider), provider.repeatable, Date.now());
  if (!claimed) return null;
  // A collection may be claimed again after a crash: its lease is valid until the record is written again.
  return isStart ? { step: "start", lease, task: record.commit(claimed) } : { step: "collect", lease, task: record.keep(claimed) };
}

/** Applies the outcome of a leased step. False if the lease is no longer valid. `settle` settles a final task, or waits for the running settlement. */
export async function reportStep(
  lease: string,
  step: StepOutcome,
  { env, record, go, turn }: Poller,
  settle: (task: FinalTask) => Promise<void>,
): Promise<boolean> {
  const known = record.task;
  if (known?.endedBy === lease) {
    // The outcome was reported before and the answer was lost: the object may have crashed before the settlement.
    if (known.step.do === "settle") await settle(known);
    return true;
  }
  const task = known && transitions.leased(known, lease);
  if (!task) {
    // The task ended or moved to another route during the start, so no consumer will collect this result. A repeated report repeats this.
    if (step.outcome === "accepted" && known && isUnwanted(known, step.operation))
      await cancelLate({ ...known, route: step.route ?? known.route }, step.operation, env);
    return false;
  }
  await go(reported(task, step, turn.isCalled, env, Date.now()));
  return true;
}

/** Leases the waiting call of the receiver; null if none is waiting. */
export function claimCallback(record: RecordStore): CallbackWork | null {
  const lease = newId("");
  const { task } = record;
  const claimed = task && isFinal(task) ? callbacks.callbackClaimed(task, lease, Date.now()) : undefined;
  return claimed ? { lease, task: record.commit(claimed) } : null;
}

/** Applies the report of a leased call. Ignored if the lease is no longer valid. */
export async function reportCallback(lease: string, report: callbacks.CallbackReport, record: RecordStore, env: Env): Promise<void> {
  const { task } = record;
  const after = task && isFinal(task) ? callbacks.callbackReported(task, lease, report, Date.now()) : undefined;
  if (!after) return;
  record.commit(after);
  if (callbacks.keepsFailing(after)) await recordIncident(env.DB, "callback", after.submission.accountId);
}
