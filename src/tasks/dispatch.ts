/** The queue consumer: does the slow work that task objects lease to it. It owns no state and may crash at any point. */

import { removeUnder, assetPrefix, TooLargeError } from "../assets.ts";
import { toCallbackUrl } from "../callback-urls.ts";
import { hedging } from "../config.ts";
import { Semaphore } from "../concurrency.ts";
import { recordIncident } from "../db/incidents.ts";
import { toObjectId } from "../ids.ts";
import { retry } from "../retry.ts";
import { alert, log } from "../log.ts";
import { isUnhealthy, providerNamed, markUnhealthy } from "../providers/index.ts";
import { InputError, ProviderError, type Succeeded } from "../providers/provider.ts";
import { withTimeout } from "../providers/shared/http.ts";
import { type AlertMessage, handleAlert } from "./budget-alerts.ts";
import { nextRoute } from "./hedge.ts";
import { openJob } from "./job.ts";
import { type Background, handleCallback } from "./notify.ts";
import { BadOutputError, keeping, storeOutputs } from "./outputs.ts";
import type { TaskMessage } from "./messages.ts";
import { pollDelayMs } from "./poll-times.ts";
import { logFields, toAttributes, toCallAttributes } from "./settle.ts";
import { currentRoute, type Task } from "./record.ts";
import { StartClock } from "./start-clock.ts";
import type { TaskObject } from "./task-object.ts";
import { startWhileWanted } from "./while-wanted.ts";
import { collectTimeoutMs, type StepOutcome, type Work } from "./work.ts";
import { withSpan } from "../tracing.ts";
import { isNewer, messageVersion } from "../versions.ts";
import { logStep } from "../step-log.ts";

export type QueueMessage = TaskMessage | AlertMessage;

const defaultPollMs = 2_000;
/** Outputs that callbacks collect must be stored after this time: the platform ends their requests soon after it. */
const collectHereMs = 27_000;
/** Each needs a buffer of up to 8 MB, beside those of the isolate's other requests. */
const collections = new Semaphore({ maxAtOnce: 4, maxHoldMs: 60_000, maxWaitMs: 0 });
/** Code of the previous version runs for at most five minutes after a deployment: the second delivery happens later than that. */
const newerRetryS = 300;
/** The names in wrangler.toml of the dead-letter queue and the callback queue; a deployment appends its environment's name. */
const isDeadLetterQueue = (queue: string) => queue.startsWith("gateway-dead");
const isCallbackQueue = (queue: string) => queue.startsWith("gateway-notify");

/**
 * Processes a batch. Messages are claimed and processed one after the other: an invocation has six connections, and a request that waits
 * for one would use up its timeout. wrangler.toml sets one message per batch, so this only matters with another configuration.
 */
export async function consume(batch: MessageBatch<QueueMessage>, env: Env, background: Background): Promise<void> {
  const handleTask = isCallbackQueue(batch.queue) ? handleCallback : deliver;
  const messages = batch.messages.filter(isKnown);
  if (isDeadLetterQueue(batch.queue)) await Promise.all(messages.filter(isOfTask).map((message) => handleDeadLetter(message, env)));
  else
    for (const message of messages)
      await (isOfTask(message) ? handleTask(message, env, background) : handleAlert(message as Message<AlertMessage>, env));
}

/** False for a message that a newer version sent: it is delivered again after the deployment, also from the dead-letter queue. */
function isKnown(message: Message<QueueMessage>): boolean {
  if (!isNewer(message.body, messageVersion)) return true;
  alert("dispatch", { attempt: message.attempts, outcome: "newer" });
  message.retry({ delaySeconds: newerRetryS });
  return false;
}

const isOfTask = (message: Message<QueueMessage>): message is Message<TaskMessage> => "taskId" in message.body;

async function deliver(message: Message<TaskMessage>, env: Env): Promise<void> {
  try {
    const work = await taskStub(message.body.taskId, env)?.claim();
    if (work) await perform(work, env, leaseGiver(message.body.taskId, env));
    message.ack();
  } catch (error) {
    // Only an RPC to our own object throws here: faults of providers and storage are reported to the object. The queue redelivers the
    // message.
    alert("dispatch", { task: message.body.taskId, attempt: message.attempts, outcome: "fault" }, error);
    message.retry({ delaySeconds: Math.min(60, 2 ** message.attempts) });
  }
}

/** Fails the task of a message in the dead-letter queue, because no consumer will do the work. */
async function handleDeadLetter(message: Message<TaskMessage>, env: Env): Promise<void> {
  try {
    await taskStub(message.body.taskId, env)?.failDeadLetter();
    message.ack();
    await recordIncident(env.DB, "dead_letter", message.body.taskId);
  } catch (error) {
    alert("dead_letter", { task: message.body.taskId, attempt: message.attempts, outcome: "fault" }, error);
    message.retry({ delaySeconds: 60 });
  }
}

function taskStub(taskId: string, env: Env): DurableObjectStub<TaskObject> | undefined {
  const id = toObjectId(env.TASKS, taskId);
  return id && env.TASKS.get(id);
}

/** The task object that leased the work, called with and without retries. `isWanted` is false once the lease has ended. */
interface LeaseGiver {
  holdsLease(lease: string): Promise<boolean>;
  report(lease: string, outcome: StepOutcome): Promise<boolean>;
}

const leaseGiver = (taskId: string, env: Env): LeaseGiver => ({
  holdsLease: async (lease) => (await taskStub(taskId, env)?.holdsLease(lease)) ?? false,
  // Retried, because a report of outputs must not be lost while the object is relocated.
  report: (lease, outcome) => retry("report", taskId, async () => (await taskStub(taskId, env)?.report(lease, outcome)) ?? false),
});

/**
 * Continues a task whose provider called back: its object polls the provider, and finished work is collected here, without a message. An HTTP
 * request lives half a minute longer than its answer: what takes longer, and what finds too much of it in this isolate, a consumer does.
 */
export async function continueCalledBack(taskId: string, provider: string, env: Env): Promise<void> {
  const until = Date.now() + collectHereMs;
  const call = async (canCollect: boolean) => taskStub(taskId, env)?.calledBack(provider, canCollect);
  const collect = async () => {
    const work = await call(true);
    if (work) await perform({ ...work, until }, env, leaseGiver(taskId, env));
  };
  // Made here: the stack trace of an error that is made when the module is loaded delays every start of the Worker.
  let isFull = false;
  const refuse = () => {
    isFull = true;
    return new Error("too many collections");
  };
  await collections.take(collect, refuse).catch((error: unknown) => (isFull ? call(false) : Promise.reject(error)));
}

/** Does leased work and reports the outcome to its object. Throws only errors of the object's `report`. */
export const perform = (work: Work, env: Env, object: LeaseGiver): Promise<void> =>
  withSpan("dispatch", toAttributes(work.task), () => performStep(work, env, object));

async function performStep(work: Work, env: Env, object: LeaseGiver): Promise<void> {
  const { step, lease, task } = work;
  const started = Date.now();
  // If the object does not answer, the work continues: the object accepts or rejects it when the outcome is reported.
  const isWanted = () => object.holdsLease(lease).catch(() => true);
  const outcome = await runStep(work, isWanted, env);
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
  if (!("reason" in outcome) && isTaken) logStep(env, "dispatch", line);
  else if (!("reason" in outcome)) log("dispatch", line);
  else (isTaken ? alert : log)("dispatch", { ...line, reason: outcome.reason });
}

/** Does the step. Never throws: every fault becomes a `StepOutcome`. */
async function runStep(work: Work, isWanted: () => Promise<boolean>, env: Env): Promise<StepOutcome> {
  const { step, task } = work;
  const { submission } = task;
  const { provider: name } = currentRoute(task);
  const clock = new StartClock();
  const open = openJob(task, env, clock, keeping(task, work.lease, env.ASSETS, clock));
  try {
    if (step === "start" && isUnhealthy(currentRoute(task)) && nextRoute(task) !== undefined)
      return { outcome: "fault", reason: "put aside", retryable: false, isUntouched: true };
    const provider = providerNamed(env, name);
    const rule = hedging(env);
    const callbackUrl = step === "start" && provider.readCallback && (await toCallbackUrl(env, submission.base, name, task.id));
    const answer =
      step === "start"
        ? await clock.run(provider.startTimeoutMs(submission.kind), (signal) =>
            startWhileWanted(open.job, isWanted, (job) =>
              withSpan("provider", toCallAttributes(task), () => provider.start(callbackUrl ? { ...job, callbackUrl } : job, signal)),
            ),
          )
        : await withSpan("provider", toCallAttributes(task), () => provider.poll(task.operation!));
    // The input ended early, and the provider may have accepted the incomplete input.
    if (open.inputFault() !== undefined) throw open.inputFault();
    switch (answer.status) {
      case "accepted": {
        const callsBack = Boolean(callbackUrl);
        const pollAfterMs = pollDelayMs(task, rule, callsBack, answer.pollAfterMs, Date.now());
        return { outcome: "accepted", operation: answer.operation, pollAfterMs, route: task.route, callsBack };
      }
      case "failed":
        return { outcome: "failed", code: answer.code };
      case "pending":
        return { outcome: "fault", reason: "not ready after all", retryable: true };
      case "succeeded":
        return step === "start"
          ? await storeImmediateOutputs(work, answer, env)
          : { outcome: "completed", result: await storeWithTimeout(work, answer, env) };
    }
  } catch (error) {
    const fault = open.inputFault() ?? error;
    if (fault instanceof ProviderError && fault.account && markUnhealthy(currentRoute(task)))
      await recordIncident(env.DB, "provider", name);
    return toOutcome(fault, step, env, task);
  }
}

const storeWithTimeout = ({ task, lease, until = Infinity }: Work, made: Succeeded, env: Env) =>
  withSpan("store", toAttributes(task), () =>
    withTimeout(storeOutputs(task, lease, made, env), Math.max(0, Math.min(collectTimeoutMs[task.submission.kind], until - Date.now()))),
  );

/** Stores the immediate outputs of a start. They are generated and paid for: if storing fails, they are fetched by their operation and never generated again. */
async function storeImmediateOutputs(work: Work, made: Succeeded, env: Env): Promise<StepOutcome> {
  try {
    return { outcome: "completed", result: await storeWithTimeout(work, made, env) };
  } catch {
    const { operation } = made;
    if (operation !== undefined) return { outcome: "accepted", operation, pollAfterMs: defaultPollMs, isMade: true };
  }
  // No other copy of these bytes exists: try to store them once more.
  try {
    return { outcome: "completed", result: await storeWithTimeout(work, made, env) };
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
    // A finished result waits, until the deadline, for the operator to correct the credentials or switch the provider on again.
    const retryable = error.retryable || (step === "collect" && (error.account || isUntouched));
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
