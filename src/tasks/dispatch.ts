/** The queue consumer: does the slow work that task objects lease to it. It decides nothing and may die at any point. */

import { removeUnder, assetPrefix, TooLargeError } from "../assets.ts";
import { objectIdOf } from "../ids.ts";
import { insist } from "../insist.ts";
import { alert, log } from "../log.ts";
import { providerNamed } from "../providers/index.ts";
import { InputError, ProviderError } from "../providers/provider.ts";
import { withTimeout } from "../providers/http.ts";
import { jobOf } from "./job.ts";
import { BadOutputError, storeOutputs } from "./outputs.ts";
import type { Task } from "./task.ts";
import { collectTimeoutMs, type StepOutcome, type TaskObject, type Work } from "./task-object.ts";

interface Letter {
  taskId: string;
}

const defaultPollMs = 2_000;
/** How wrangler.toml names the queue of messages that were given up. */
const isDeadLetterQueue = (queue: string) => queue.endsWith("-dead");

/** Works through a batch; messages do not wait for each other's outcome. */
export async function consume(batch: MessageBatch<Letter>, env: Env): Promise<void> {
  await Promise.all(batch.messages.map((message) => (isDeadLetterQueue(batch.queue) ? bury(message, env) : deliver(message, env))));
}

async function deliver(message: Message<Letter>, env: Env): Promise<void> {
  try {
    const work = await objectOf(message, env)?.claim();
    if (work) await perform(message, work, env);
    message.ack();
  } catch (error) {
    // Only our own object did not answer: what providers and storage do wrong is reported to it. The queue tries again.
    alert("dispatch", { task: message.body.taskId, attempt: message.attempts, outcome: "fault" }, error);
    message.retry({ delaySeconds: Math.min(60, 2 ** message.attempts) });
  }
}

/** A dead letter ends its task: nobody will do the work. */
async function bury(message: Message<Letter>, env: Env): Promise<void> {
  try {
    await objectOf(message, env)?.dead();
    message.ack();
  } catch (error) {
    alert("dead_letter", { task: message.body.taskId, attempt: message.attempts, outcome: "fault" }, error);
    message.retry({ delaySeconds: 60 });
  }
}

function objectOf(message: Message<Letter>, env: Env): DurableObjectStub<TaskObject> | undefined {
  const id = objectIdOf(env.TASKS, message.body.taskId);
  return id && env.TASKS.get(id);
}

async function perform(message: Message<Letter>, { step, lease, task }: Work, env: Env): Promise<void> {
  const started = Date.now();
  const outcome = await outcomeOf({ step, lease, task }, env);
  // What was made must not be lost to an object that is just being moved.
  const isTaken = await insist("report", task.id, async () => (await objectOf(message, env)?.report(lease, outcome)) ?? false);
  if (!isTaken && outcome.outcome === "completed") await removeUnder(env.ASSETS, `${assetPrefix(task.id)}${lease}-`);
  const { submission } = task;
  const line = {
    request: submission.requestId,
    task: task.id,
    account: submission.accountId,
    model: submission.model,
    provider: submission.routes[task.route]!.provider,
    attempt: task.faults + 1,
    step,
    outcome: isTaken ? outcome.outcome : "too_late",
    ms: Date.now() - started,
  };
  if (outcome.outcome === "fault") alert("dispatch", { ...line, reason: outcome.reason });
  else log("dispatch", line);
}

/** Does the step. Never throws: whatever goes wrong has a name in `StepOutcome`. */
async function outcomeOf({ step, lease, task }: Work, env: Env): Promise<StepOutcome> {
  const route = task.submission.routes[task.route]!;
  const open = jobOf(task, env);
  try {
    const provider = providerNamed(env, route.provider);
    const answer =
      step === "start"
        ? await provider.start(open.job, AbortSignal.timeout(provider.startTimeoutMs))
        : await provider.poll(task.operation!);
    // An input that broke off half-way may have looked whole to the provider.
    if (open.inputFault() !== undefined) throw open.inputFault();
    switch (answer.status) {
      case "accepted":
        return { outcome: "accepted", operation: answer.operation, pollAfterMs: answer.pollAfterMs ?? defaultPollMs };
      case "failed":
        return { outcome: "failed", code: answer.code };
      case "pending":
        return { outcome: "fault", reason: "not ready after all", retryable: true };
      case "succeeded":
        return {
          outcome: "completed",
          result: await withTimeout(storeOutputs(task, lease, answer, env.ASSETS), collectTimeoutMs[task.submission.kind]),
        };
    }
  } catch (error) {
    return faultOf(open.inputFault() ?? error, step, env, task);
  }
}

function faultOf(error: unknown, step: Work["step"], env: Env, task: Task): StepOutcome {
  if (error instanceof InputError)
    return error.retryable
      ? { outcome: "fault", reason: error.message, retryable: true, code: "invalid_input" }
      : { outcome: "failed", code: "invalid_input" };
  if (error instanceof TooLargeError) return { outcome: "failed", code: "provider_error" };
  // It may have come broken: what is wrong three times is what the provider made.
  if (error instanceof BadOutputError && task.faults >= 2) return { outcome: "failed", code: "provider_error" };
  if (error instanceof ProviderError) {
    const provider = providerNamed(env, task.submission.routes[task.route]!.provider);
    // Accepted or not, nobody knows: asking again could make and bill it twice.
    if (step === "start" && !error.nothingAccepted && !provider.repeatable) return { outcome: "failed", code: "provider_error" };
    return { outcome: "fault", reason: error.message, retryable: error.retryable, retryAfterMs: error.retryAfterMs };
  }
  return { outcome: "fault", reason: error instanceof Error ? `${error.name}: ${error.message}` : String(error), retryable: true };
}
