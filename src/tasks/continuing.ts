/** Runs the due step of an open task, and applies a consumer's report to its record. */

import { hedging, lifeTimes } from "../config.ts";
import { alert } from "../log.ts";
import { pollInTurn } from "./called-back.ts";
import { abandon } from "./creating.ts";
import { sendDispatch } from "./messages.ts";
import * as outcomes from "./outcomes.ts";
import { pollEarlier, type Poller, currentProvider } from "./poll.ts";
import type { OpenTask, Task } from "./record.ts";
import { logFields } from "./settle.ts";
import { dispatched, due } from "./task.ts";
import { undertake } from "./undertake.ts";
import type { StepOutcome, Work } from "./work.ts";

/** The functions of the task object that lease starts and collections. */
interface StepLeases {
  claim(): Promise<Work | null>;
  holdsLease(lease: string): Promise<boolean>;
  report(lease: string, step: StepOutcome): Promise<boolean>;
}

/** Runs the due step of an open task. */
export async function continueOpen(task: OpenTask, leases: StepLeases, poller: Poller): Promise<void> {
  const now = Date.now();
  const { env, record } = poller;
  switch (due(task, now)) {
    case undefined:
      return;
    case "poll_earlier":
      return poller.turn.run(() => pollEarlier(task, poller));
    case "abandon":
      return abandon(task, record, env);
    case "dispatch":
      return sendDispatch(record.commit(dispatched(task, now)), record, env);
    case "undertake": {
      const work = await leases.claim();
      return work ? undertake(work, leases, record, env) : undefined;
    }
    case "lapse":
      alert("dispatch", { ...logFields(task), outcome: "lease_lapsed" });
      return poller.go(outcomes.leaseExpired(task, now));
    case "poll":
      return pollInTurn(task, poller);
    case "deadline":
      return poller.go(outcomes.failed(task, "deadline_exceeded", now));
  }
}

/** The record after the report of a leased step; it may be final. `isCalled`: the provider called back before the consumer reported the start. */
export function reported(task: OpenTask, step: StepOutcome, isCalled: boolean, env: Env, now: number): Task {
  switch (step.outcome) {
    case "accepted":
      return outcomes.accepted(task, isCalled ? { ...step, pollAfterMs: 0 } : step, currentProvider(task, env).reportsProgress, now);
    case "completed":
      return outcomes.completed(task, step.result, lifeTimes(env).assetMs, now);
    case "failed":
      return outcomes.providerFailed(task, step.code, hedging(env), now);
    case "lost":
      return outcomes.lost(task, now);
    case "fault":
      return outcomes.startFailed(task, step, now);
  }
}
