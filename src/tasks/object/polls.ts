/** Polls providers for the outcome of accepted work, by schedule or because they called back: the current route's work and that of earlier routes. */

import { logFields } from "../log-fields.ts";
import { hedging } from "../../config.ts";
import { alert } from "../../base/log.ts";
import { logStep } from "../../step-log.ts";
import { ProviderError } from "../../providers/provider.ts";
import { apply } from "./ending.ts";
import { sendDispatch } from "./messages.ts";
import type { RecordStore } from "./record-store.ts";
import { cancelUpstream, failureCost, poll } from "./upstream.ts";
import { bookLate } from "./wallet-calls.ts";
import { billedCost, failedByMaker, toBill, toBilled } from "../booking.ts";
import { countAnswer, countFault } from "../provider-calls.ts";
import { currentRoute, type EarlierWork, type FinalTask, isFinal, type OpenTask, type Task } from "../record.ts";
import * as hedge from "../transitions/hedge.ts";
import * as outcomes from "../transitions/outcomes.ts";
import { pollDelayMs } from "../transitions/poll-times.ts";
import * as transitions from "../transitions/task.ts";

/** The distance between polls that callbacks cause, at first and at most. */
const [minDistanceMs, maxDistanceMs] = [1_000, 30_000];

/** Runs a poll of the task, or waits for the one that is running. */
export function runPoll({ polls }: RecordStore, poll: () => Promise<void>): Promise<void> {
  const run = async () => {
    const wasCalled = polls.isCalled;
    polls.isCalled = false;
    await poll();
    polls.notBefore = Date.now() + transitions.backoff(polls.called, minDistanceMs, maxDistanceMs);
    if (wasCalled) polls.called++;
  };
  polls.running ??= run().finally(() => (polls.running = undefined));
  return polls.running;
}

/**
 * A provider has called the URL of a task: polls it at once, or as soon as the minimum interval since the last poll has passed. True if
 * finished work waits for the caller, who said by `canCollect` that it collects it. Ignored if the task has ended or moved to another
 * provider; work of earlier routes keeps its own polling schedule.
 */
export async function pollCalledBack(provider: string, canCollect: boolean, record: RecordStore, env: Env): Promise<boolean> {
  const { task, polls } = record;
  if (!task || isFinal(task) || currentRoute(task).provider !== provider) return false;
  // Set in two more cases: before the start is reported, so that its first poll runs at once; and during a poll, whose answer may be older
  // than the call.
  polls.isCalled = true;
  if (task.step.do !== "poll" || polls.running || polls.notBefore > Date.now()) {
    pollSoon(record);
    return false;
  }
  await pollOperation(task, record, env, canCollect);
  return canCollect && record.task?.step.do === "collect";
}

/** Brings the next poll forward. Writes nothing if the next poll is due earlier anyway, or if a poll is running: another one follows it. */
function pollSoon(record: RecordStore): void {
  const { task } = record;
  const { running, notBefore: at } = record.polls;
  if (task?.step.do === "poll" && !running && task.step.at > at) record.commit({ ...(task as OpenTask), step: { do: "poll", at } });
}

/** Polls the current route's provider once. With `canCollect` the caller collects finished work itself, so that it needs no message. */
export async function pollOperation(task: OpenTask, record: RecordStore, env: Env, canCollect = false): Promise<void> {
  await runPoll(record, () => pollCurrent(task, record, env, canCollect));
  if (record.polls.isCalled) pollSoon(record);
}

async function pollCurrent(task: OpenTask, record: RecordStore, env: Env, canCollect: boolean): Promise<void> {
  const started = Date.now();
  const line = (outcome: string) => logStep(env, "poll", { ...logFields(task), outcome, ms: Date.now() - started });
  try {
    const answer = await poll(task, env);
    await countAnswer(env, currentRoute(task), answer);
    if (record.task !== task) return; // cancelled during the poll
    const now = Date.now();
    if (answer.status === "succeeded") {
      // Not written, because a poll after a crash gives the same answer.
      const next = record.keep(outcomes.ready(task, now, toBilled(answer)));
      if (!canCollect) await sendDispatch(next, record, env);
    } else if (answer.status === "failed") {
      line("failed");
      await apply(outcomes.providerFailed(task, answer.code, hedging(env), now, toBill(currentRoute(task), answer)), record, env);
    } else if (task.step.at <= now || task.silentSince !== undefined) {
      // A poll that a callback caused before the scheduled time does not change the schedule.
      const pollAfterMs = pollDelayMs(task, hedging(env), task.callsBack === true, answer.pollAfterMs, now);
      const next = outcomes.progressed(task, answer.progress, pollAfterMs, now);
      const isFirstAnswer = task.faults > 0 || task.silentSince !== undefined;
      if (!(await startNext(next, record, env, now))) record[isFirstAnswer ? "commit" : "keepPolled"](next);
    }
  } catch (error) {
    line("fault");
    const fault = error instanceof ProviderError ? error : undefined;
    if (!fault?.retryable) alert("poll", { ...logFields(task), outcome: "fault" }, error);
    await countFault(env, currentRoute(task), error);
    if (record.task !== task) return;
    const now = Date.now();
    const next = outcomes.pollFailed(task, fault?.retryAfterMs, now);
    if (!(await startNext(next, record, env, now))) record.commit(next);
  }
}

/** Starts the next route beside a route that does not answer or is slow. Returns false if it was not started. */
async function startNext(task: OpenTask, record: RecordStore, env: Env, now: number): Promise<boolean> {
  const due = hedge.reasonToHedge(task, hedging(env), now);
  if (!due) return false;
  alert("poll", { ...logFields(task), outcome: due.reason });
  await sendDispatch(record.commit(transitions.dispatched(outcomes.hedged(task, due.next, due.reason, now), now)), record, env);
  return true;
}

/** Polls the work of an earlier route. After the task's end the work is cancelled. */
export async function pollEarlier(task: Task, record: RecordStore, env: Env): Promise<void> {
  const one = hedge.nextEarlier(task)!;
  if (isFinal(task)) return endEarlier(task, one, record, env);
  const route = { ...task, route: one.route, operation: one.operation };
  try {
    const answer = await poll(route, env);
    if (record.task !== task) return; // the next alarm polls again
    const now = Date.now();
    if (answer.status === "succeeded" && hedge.wantsEarlier(task))
      return await sendDispatch(record.commit(outcomes.earlierReady(task, one, now, toBilled(answer))), record, env);
    record.commit(
      answer.status === "failed"
        ? hedge.earlierDropped(failedByMaker(task, one.route, toBill(currentRoute(route), answer)), one)
        : hedge.earlierPending(task, one, 0, now, answer.status === "pending" ? answer.pollAfterMs : undefined),
    );
  } catch (error) {
    alert("poll", { ...logFields(route), outcome: "fault" }, error);
    if (record.task === task) record.commit(hedge.earlierPending(task, one, one.faults + 1, Date.now()));
  }
}

/** Cancels work whose result is no longer wanted, until its end is known or the task's deadline has passed, and books what its maker bills. */
async function endEarlier(task: FinalTask, one: EarlierWork, record: RecordStore, env: Env): Promise<void> {
  const route = { ...task, route: one.route, operation: one.operation };
  /** Changes the record, unless the task was deleted meanwhile. It may have been settled meanwhile. */
  const change = (next: (current: FinalTask) => FinalTask) => {
    const current = record.task;
    if (current && isFinal(current) && current.earlier?.some(({ operation }) => operation === one.operation)) record.commit(next(current));
  };
  try {
    if (one.end === undefined) {
      const end = await earlierCost(task, one, route, env);
      if (!("cost" in end)) return change((current) => hedge.earlierPending(current, one, 0, Date.now(), end.pollAfterMs));
      // Kept before it is booked, because the booking may fail: asked again, the maker would not know the work that it has stopped.
      one = { ...one, end: end.cost };
      change((current) => hedge.earlierPending(current, one, 0, Date.now()));
    }
    await bookLate(task, one.route, one.end ?? null, env);
    change((current) => hedge.earlierDropped(current, one));
  } catch (error) {
    alert("poll", { ...logFields(route), outcome: "fault" }, error);
    change((current) => hedge.earlierPending(current, one, one.faults + 1, Date.now()));
  }
}

/** What the maker bills for work that is no longer wanted, in millionths, null if that is not known; or when to ask again. Throws if the maker does not answer before the task's deadline. */
async function earlierCost(
  task: FinalTask,
  one: EarlierWork,
  route: FinalTask,
  env: Env,
): Promise<{ cost: number | null } | { pollAfterMs: number | undefined }> {
  const isGivenUp = Date.now() >= task.deadline;
  const stopped = await cancelUpstream(route, env);
  if (stopped) return stopped.cost !== null || isGivenUp ? stopped : { pollAfterMs: undefined };
  // A maker that neither stops the work nor says how it ended may bill it.
  const cost = one.cost ?? null;
  const answer = await poll(route, env).catch((error: unknown) => {
    if (!isGivenUp) throw error;
    alert("poll", { ...logFields(route), outcome: "fault" }, error);
    return undefined;
  });
  switch (answer?.status) {
    case "succeeded":
      alert("hedge", { ...logFields(route), outcome: "late_success", cost: task.submission.price });
      return { cost: task.isDeleted ? cost : billedCost(task, one.route, toBilled(answer)) };
    case "failed":
      return { cost: task.isDeleted && currentRoute(route).bills_failures ? cost : failureCost(route, answer) };
    case "pending":
      return isGivenUp ? { cost } : { pollAfterMs: answer.pollAfterMs };
    case undefined:
      return { cost };
  }
}
