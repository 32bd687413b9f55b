/** Polls providers for the outcome of accepted work: the current route's and that of earlier routes. Repeated until there is an outcome or the deadline has passed. */

import { chargesCancelled, hedging } from "../config.ts";
import { recordIncident } from "../db/incidents.ts";
import { alert } from "../log.ts";
import { isOn, markUnhealthy, providerNamed } from "../providers/index.ts";
import { type Operation, ProviderError } from "../providers/provider.ts";
import { withTimeout } from "../providers/shared/http.ts";
import * as hedge from "./hedge.ts";
import { pollDelayMs } from "./poll-times.ts";
import type { PollTurn } from "./poll-turn.ts";
import { currentRoute, isFinal, type OpenTask, type Task } from "./record.ts";
import { sendDispatch } from "./messages.ts";
import type { RecordStore } from "./record-store.ts";
import { cancelUpstream, logFields, toCallAttributes } from "./settle.ts";
import * as outcomes from "./outcomes.ts";
import * as transitions from "./task.ts";
import { logStep } from "../step-log.ts";
import { withSpan } from "../tracing.ts";

/** The parts of the task object that polling uses. */
export interface Poller {
  env: Env;
  record: RecordStore;
  /** Commits a state that may be final. */
  go: (next: Task) => Promise<void>;
  turn: PollTurn;
  /** True if the caller of the poll collects finished work itself, so that it needs no message. */
  canCollect?: boolean;
}

/** The time limit of a poll. */
const pollTimeoutMs = 10_000;

/** The provider of the current route. Throws if the operator has switched it off. */
export const currentProvider = (task: Task, env: Env) => providerNamed(env, currentRoute(task).provider);

/** True if the provider supports cancelling. A provider that was switched off cannot cancel. */
export const canCancel = (task: Task, env: Env): boolean =>
  isOn(env, currentRoute(task).provider) && currentProvider(task, env).cancel !== undefined;

const poll = (task: Task, operation: Operation, env: Env) =>
  withSpan("provider", toCallAttributes(task), () => withTimeout(currentProvider(task, env).poll(operation), pollTimeoutMs));

/** Polls the current route's provider once. */
export async function pollOperation(task: OpenTask, poller: Poller): Promise<void> {
  const { env, record } = poller;
  const started = Date.now();
  const line = (outcome: string) => logStep(env, "poll", { ...logFields(task), outcome, ms: Date.now() - started });
  try {
    const answer = await poll(task, task.operation!, env);
    if (record.task !== task) return; // cancelled during the poll
    const now = Date.now();
    if (answer.status === "failed") line(answer.status);
    // Not written, because a poll after a crash gives the same answer. It is written if the operator charges for cancelled work, because
    // then the charge depends on it.
    if (answer.status === "succeeded") {
      const next = record[chargesCancelled(env) ? "commit" : "keep"](outcomes.ready(task, now));
      if (!poller.canCollect) await sendDispatch(next, record, env);
    } else if (answer.status === "failed") await poller.go(outcomes.providerFailed(task, answer.code, hedging(env), now));
    else if (task.step.at <= now || task.silentSince !== undefined) {
      // A poll that a callback caused before the scheduled time does not change the schedule.
      const pollAfterMs = pollDelayMs(task, hedging(env), task.callsBack === true, answer.pollAfterMs, now);
      const next = outcomes.progressed(task, answer.progress, pollAfterMs, now);
      const isFirstAnswer = task.faults > 0 || task.silentSince !== undefined;
      if (!(await hedged(next, poller, now))) record[isFirstAnswer ? "commit" : "keepPolled"](next);
    }
  } catch (error) {
    line("fault");
    const fault = error instanceof ProviderError ? error : undefined;
    if (!fault?.retryable) alert("poll", { ...logFields(task), outcome: "fault" }, error);
    const { provider } = currentRoute(task);
    if (fault?.account && markUnhealthy(currentRoute(task))) await recordIncident(env.DB, "provider", provider);
    if (record.task !== task) return;
    const now = Date.now();
    const next = outcomes.pollFailed(task, fault?.retryAfterMs, now);
    if (!(await hedged(next, poller, now))) record.commit(next);
  }
}

/** Starts the next route beside a route that does not answer or is slow. Returns false if it was not started. */
async function hedged(task: OpenTask, { env, record }: Poller, now: number): Promise<boolean> {
  const due = hedge.reasonToHedge(task, hedging(env), now);
  if (!due) return false;
  alert("poll", { ...logFields(task), outcome: due.reason });
  await sendDispatch(record.commit(transitions.dispatched(outcomes.hedged(task, due.next, due.reason, now), now)), record, env);
  return true;
}

/**
 * Polls the work of an earlier route. After the task's end the work is cancelled; a late success is logged for the operator and not
 * charged.
 */
export async function pollEarlier(task: Task, { env, record }: Poller): Promise<void> {
  const one = hedge.nextEarlier(task)!;
  const route = { ...task, route: one.route, operation: one.operation };
  if (isFinal(task) && (await cancelUpstream(route, env))) {
    if (record.task === task) record.commit(hedge.earlierDropped(task, one));
    return;
  }
  try {
    const answer = await poll(route, one.operation, env);
    if (record.task !== task) return; // the next alarm polls again
    const now = Date.now();
    if (answer.status === "succeeded" && hedge.wantsEarlier(task))
      return await sendDispatch(record.commit(outcomes.earlierReady(task, one, now)), record, env);
    if (answer.status === "succeeded" && isFinal(task))
      alert("hedge", { ...logFields(route), outcome: "late_success", cost: task.submission.price });
    const hasEnded = answer.status === "failed" || (answer.status === "succeeded" && isFinal(task));
    record.commit(
      hasEnded
        ? hedge.earlierDropped(task, one)
        : hedge.earlierPending(task, one, 0, now, answer.status === "pending" ? answer.pollAfterMs : undefined),
    );
  } catch (error) {
    alert("poll", { ...logFields(route), outcome: "fault" }, error);
    if (record.task === task) record.commit(hedge.earlierPending(task, one, one.faults + 1, Date.now()));
  }
}
