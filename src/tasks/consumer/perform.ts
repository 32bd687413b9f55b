/** Does a step that a task object has leased out, and reports its outcome. It owns no state and may crash at any point. */

import { logFields, toAttributes, toCallAttributes } from "../log-fields.ts";
import { assetPrefix, removeUnder, TooLargeError } from "../../storage/assets.ts";
import { toCallbackUrl } from "../../signing/maker-callback-urls.ts";
import { hedging } from "../../config.ts";
import { alert, log } from "../../base/log.ts";
import { VariableError } from "../../base/variables.ts";
import { isUnhealthy, providerNamed } from "../../providers/index.ts";
import type { Route } from "../../catalog/models.ts";
import { type Failed, InputError, ProviderError, type Succeeded } from "../../providers/provider.ts";
import { withTimeout } from "../../providers/shared/http.ts";
import { withSpan } from "../../tracing.ts";
import { logStep } from "../../step-log.ts";
import { Inputs } from "./inputs.ts";
import { toJob } from "./job.ts";
import { BadOutputError, keeping, storeOutputs } from "./outputs.ts";
import { StartClock } from "./start-clock.ts";
import { countAnswer, countFault } from "../provider-calls.ts";
import { toBill, toBilled } from "../booking.ts";
import { currentRoute, type Result, type Task } from "../record.ts";
import { nextRoute } from "../transitions/hedge.ts";
import { pollDelayMs } from "../transitions/poll-times.ts";
import { collectTimeoutMs, type StepOutcome, type Work } from "../work.ts";

const defaultPollMs = 2_000;

/** The task object that leased the work: called over RPC, or the one that does the work itself. */
export interface LeaseGiver {
  /** True if the step is still leased to whoever has this lease. */
  holdsLease(lease: string): Promise<boolean>;
  /** Applies the outcome. False if the lease is no longer valid. */
  report(lease: string, outcome: StepOutcome): Promise<boolean>;
}

/** Does leased work and reports the outcome to its object. Throws only errors of the object's `report`. */
export const perform = (work: Work, env: Env, object: LeaseGiver): Promise<void> =>
  withSpan("dispatch", toAttributes(work.task), () => performStep(work, env, object));

async function performStep(work: Work, env: Env, object: LeaseGiver): Promise<void> {
  const { step, lease, task } = work;
  const started = Date.now();
  const outcome: StepOutcome = { ...(await runStep(work, env, object)), route: task.route };
  const isTaken = await object.report(lease, outcome);
  if (!isTaken && outcome.outcome === "completed") await removeUnder(env.ASSETS, `${assetPrefix(task.id)}${lease}-`);
  const line = {
    ...logFields(task),
    step,
    outcome: isTaken ? outcome.outcome : "too_late",
    // The result is not wanted any more. The log line has the price that the caller would have paid, in millionths.
    ...(!isTaken && step === "start" && outcome.outcome === "completed" && { cost: task.submission.price }),
    ms: Date.now() - started,
  };
  // Unused work is always logged, because the operator pays for it.
  if ("reason" in outcome) (isTaken ? alert : log)("dispatch", { ...line, reason: outcome.reason });
  else if (isTaken) logStep(env, "dispatch", line);
  else log("dispatch", line);
}

/** Does the step. Never throws: every fault becomes a `StepOutcome`. */
async function runStep(work: Work, env: Env, object: LeaseGiver): Promise<StepOutcome> {
  try {
    return await (work.step === "start" ? start(work, env, object) : collect(work, env));
  } catch (error) {
    await countFault(env, currentRoute(work.task), error);
    return toOutcome(error, work.step, env, work.task);
  }
}

async function start(work: Work, env: Env, object: LeaseGiver): Promise<StepOutcome> {
  const { task, lease } = work;
  const { submission } = task;
  const route = currentRoute(task);
  if (isUnhealthy(route) && nextRoute(task) !== undefined)
    return { outcome: "fault", reason: "put aside", retryable: false, isUntouched: true };
  const provider = providerNamed(env, route.provider);
  const rule = hedging(env);
  const callbackUrl = provider.readCallback && (await toCallbackUrl(env, submission.base, route.provider, task.id));
  const clock = new StartClock();
  // If the object does not answer, the work continues: the object accepts or rejects it when the outcome is reported.
  const inputs = new Inputs(submission, env, clock, () => object.holdsLease(lease).catch(() => true));
  const job = { ...toJob(task, inputs, keeping(task, lease, env, clock)), ...(callbackUrl && { callbackUrl }) };
  const answer = await withSpan("provider", toCallAttributes(task), () =>
    clock.run(provider.startTimeoutMs(submission.kind), (signal) => provider.start(job, signal)),
  ).catch((error: unknown) => {
    throw inputs.fault ?? error;
  });
  // The input ended early, and the provider may have accepted the incomplete input.
  if (inputs.fault !== undefined) throw inputs.fault;
  await countAnswer(env, route, answer);
  switch (answer.status) {
    case "accepted": {
      const callsBack = Boolean(callbackUrl);
      const pollAfterMs = pollDelayMs(task, rule, callsBack, answer.pollAfterMs, Date.now());
      return { outcome: "accepted", operation: answer.operation, pollAfterMs, route: task.route, callsBack };
    }
    case "failed":
      return toFailed(route, answer);
    case "succeeded":
      return storeImmediateOutputs(work, answer, env);
  }
}

async function collect(work: Work, env: Env): Promise<StepOutcome> {
  const { task } = work;
  const provider = providerNamed(env, currentRoute(task).provider);
  const answer = await withSpan("provider", toCallAttributes(task), () => provider.poll(task.operation!));
  switch (answer.status) {
    case "pending":
      return { outcome: "fault", reason: "not ready after all", retryable: true };
    case "failed":
      return toFailed(currentRoute(task), answer);
    case "succeeded":
      return toCompleted(work, answer, await storeWithTimeout(work, answer, env));
  }
}

function toFailed(route: Route, failure: Failed): StepOutcome {
  const bill = toBill(route, failure);
  return { outcome: "failed", code: failure.code, ...(bill && { billed: bill }) };
}

const toCompleted = ({ task }: Work, made: Succeeded, result: Result): StepOutcome => ({
  outcome: "completed",
  result,
  ...(currentRoute(task).cost && { billed: toBilled(made) }),
});

const storeWithTimeout = ({ task, lease, until = Infinity }: Work, made: Succeeded, env: Env) =>
  withSpan("store", toAttributes(task), () =>
    withTimeout(storeOutputs(task, lease, made, env), Math.max(0, Math.min(collectTimeoutMs[task.submission.kind], until - Date.now()))),
  );

/** Stores the immediate outputs of a start. They are generated and paid for: if storing fails, they are fetched by their operation and never generated again. */
async function storeImmediateOutputs(work: Work, made: Succeeded, env: Env): Promise<StepOutcome> {
  try {
    return toCompleted(work, made, await storeWithTimeout(work, made, env));
  } catch {
    const { operation } = made;
    if (operation !== undefined)
      return { outcome: "accepted", operation, pollAfterMs: defaultPollMs, route: work.task.route, isMade: true };
  }
  // No other copy of these bytes exists: try to store them once more.
  try {
    return toCompleted(work, made, await storeWithTimeout(work, made, env));
  } catch (error) {
    return { outcome: "lost", reason: describeFault(error) };
  }
}

function toOutcome(error: unknown, step: Work["step"], env: Env, task: Task): StepOutcome {
  const reason = describeFault(error);
  if (error instanceof InputError)
    return error.retryable
      ? { outcome: "fault", reason, retryable: true, isUntouched: true, code: "invalid_input" }
      : { outcome: "failed", code: "invalid_input" };
  // Variables are read before the provider is asked.
  if (error instanceof VariableError) return { outcome: "fault", reason, retryable: true, isUntouched: true };
  const route = currentRoute(task);
  if (step === "start") {
    const isUntouched = error instanceof ProviderError && error.nothingAccepted;
    // Outcome unknown: a retry, here or on another route, could generate and bill it twice.
    if (!isUntouched && !providerNamed(env, route.provider).repeatable) return { outcome: "lost", reason };
  } else if (error instanceof TooLargeError || (error instanceof BadOutputError && task.faults >= 2))
    // A bad file may be a broken download: retry twice, then treat it as the provider's output.
    return { outcome: "lost", reason };
  if (error instanceof ProviderError) {
    const { nothingAccepted: isUntouched, retryAfterMs } = error;
    // A finished result waits, until the deadline, for the operator to correct the credentials or switch the provider on again. So does the line of a batch for the operator, if no other route is left.
    const isPatient = step === "collect" || (isUntouched && task.submission.batch !== undefined && nextRoute(task) === undefined);
    const retryable = error.retryable || (isPatient && error.waitsForOperator) || (step === "collect" && isUntouched);
    return { outcome: "fault", reason, retryable, isUntouched, retryAfterMs };
  }
  return { outcome: "fault", reason, retryable: true };
}

const describeFault = (error: unknown) =>
  error instanceof ProviderError || error instanceof InputError
    ? error.message
    : error instanceof Error
      ? `${error.name}: ${error.message}`
      : String(error);
