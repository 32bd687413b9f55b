/** The leases of a task's steps and of its callback: what consumers claim from its object, and report to it. */

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

/** Leases the start or collection that waits; null if none waits. */
export function claimStep(record: RecordStore, env: Env): Work | null {
  const { task } = record;
  if (!task) return null;
  const provider = currentProvider(task, env);
  const isStart = task.step.do === "start" || task.step.do === "starting";
  const lease = isStart ? newId("") : transitions.collectLease(task);
  const claimed = transitions.claimed(task, lease, leaseMs(task, provider), provider.repeatable, Date.now());
  if (!claimed) return null;
  // A collection may be begun again after a crash: its lease is valid for as long as the record is as it is.
  return isStart ? { step: "start", lease, task: record.commit(claimed) } : { step: "collect", lease, task: record.keep(claimed) };
}

/** Takes the outcome of a leased step. False if the lease is no longer valid. `settle` settles a final task, or waits for the settlement that runs. */
export async function reportStep(
  lease: string,
  step: StepOutcome,
  { env, record, go, turn }: Poller,
  settle: (task: FinalTask) => Promise<void>,
): Promise<boolean> {
  const known = record.task;
  if (known?.endedBy === lease) {
    // Reported before, and the answer was lost: the object may have crashed before the settlement.
    if (known.step.do === "settle") await settle(known);
    return true;
  }
  const task = known && transitions.leased(known, lease);
  if (!task) {
    // The task ended or moved to another route during the start: no consumer will collect this work. Repeated with the report if necessary.
    if (step.outcome === "accepted" && known && isUnwanted(known, step.operation))
      await cancelLate({ ...known, route: step.route ?? known.route }, step.operation, env);
    return false;
  }
  await go(reported(task, step, turn.isCalled, env, Date.now()));
  return true;
}

/** Leases the call of the receiver that waits; null if none waits. */
export function claimCallback(record: RecordStore): CallbackWork | null {
  const lease = newId("");
  const { task } = record;
  const claimed = task && isFinal(task) ? callbacks.callbackClaimed(task, lease, Date.now()) : undefined;
  return claimed ? { lease, task: record.commit(claimed) } : null;
}

/** Takes the report of a leased call. Without a valid lease nothing changes. */
export async function reportCallback(lease: string, report: callbacks.CallbackReport, record: RecordStore, env: Env): Promise<void> {
  const { task } = record;
  const after = task && isFinal(task) ? callbacks.callbackReported(task, lease, report, Date.now()) : undefined;
  if (!after) return;
  record.commit(after);
  if (callbacks.keepsFailing(after)) await recordIncident(env.DB, "callback", after.submission.accountId);
}
