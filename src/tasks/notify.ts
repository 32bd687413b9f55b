/** Calls receivers: one signed POST for each attempt that a task object leases out. It owns no state and may crash at any point. */

import { allowsPrivateNetwork, assetBaseUrl, ownHosts, signingSecret } from "../config.ts";
import { cachedWebhook, signingSecrets, type Webhook } from "../db/webhooks.ts";
import { toObjectId } from "../ids.ts";
import { alert } from "../log.ts";
import { NetError } from "../net/net-error.ts";
import { postPublic } from "../net/post-public.ts";
import { retry } from "../retry.ts";
import { signMessage } from "../webhook-signature.ts";
import { type Attempt, callTimeoutMs, type CallbackFault, type CallbackReport } from "./callback.ts";
import { toEventId, writeEvent } from "./event.ts";
import type { TaskMessage } from "./messages.ts";
import type { FinalTask } from "./record.ts";
import { logFields } from "./settle.ts";
import { logStep } from "../step-log.ts";

export type Background = Pick<ExecutionContext, "waitUntil">;

/** A call to make, under a lease that its report must contain. */
export interface CallbackWork {
  lease: string;
  task: FinalTask;
}

/**
 * Handles a message of the callback queue: claims the call, then makes it and reports it in the background, because a receiver that does not
 * answer would hold the consumer, and the callbacks behind it, for ten seconds.
 */
export async function handleCallback(message: Message<TaskMessage>, env: Env, background: Background): Promise<void> {
  const { taskId } = message.body;
  const id = toObjectId(env.TASKS, taskId);
  // The object did not answer. Its alarm makes the call, so the message is not needed any more.
  const failed = (error: unknown) => alert("callback", { task: taskId, attempt: message.attempts, outcome: "fault" }, error);
  try {
    const work = id && (await env.TASKS.get(id).claimCallback());
    const run = async ({ task, lease }: CallbackWork) => {
      const report = await callReceiver(task, env);
      await retry("callback", taskId, () => env.TASKS.get(id!).reportCallback(lease, report));
    };
    if (work) background.waitUntil(run(work).catch(failed));
  } catch (error) {
    failed(error);
  }
  message.ack();
}

/** Calls the receiver of a final task once. Never throws: every fault is part of the report. */
export async function callReceiver(task: FinalTask, env: Env): Promise<CallbackReport> {
  const report = await callOnce(task, env);
  const outcome = report.outcome === "attempted" ? (report.fault ?? String(report.status)) : report.outcome;
  logStep(env, "callback", { ...logFields(task), attempt: (task.callback?.failures ?? 0) + 1, outcome });
  return report;
}

async function callOnce(task: FinalTask, env: Env): Promise<CallbackReport> {
  const { base, callbackUrl, accountId, host } = task.submission;
  try {
    const webhook = await cachedWebhook(env.DB, accountId);
    const url = callbackUrl ?? webhook.url;
    if (url === null) return { outcome: "no_endpoint" };
    const body = await writeEvent(task, assetBaseUrl(env) ?? base ?? `https://${host}`, () => signingSecret(env));
    return { outcome: "attempted", ...(await post(url, toEventId(task.id), body, webhook, [host, ...ownHosts(env)], env)) };
  } catch (error) {
    alert("callback", { ...logFields(task), outcome: "postponed" }, error);
    return { outcome: "postponed" };
  }
}

/** Sends one signed message to a receiver. Throws only internal faults. */
export async function post(url: string, id: string, body: string, webhook: Webhook, own: string[], env: Env): Promise<Attempt> {
  const at = Date.now();
  const signature = await signMessage(signingSecrets(webhook, at), id, at, body);
  const headers = { "content-type": "application/json", ...signature };
  const rules = { allowPrivate: allowsPrivateNetwork(env), ownHosts: own };
  const result = await postPublic(url, { ...rules, headers, body, timeoutMs: callTimeoutMs }).then(
    (status) => ({ status }),
    (error: unknown) => ({ fault: toFault(error) }),
  );
  return { at, ms: Date.now() - at, ...result };
}

function toFault(error: unknown): CallbackFault {
  if (!(error instanceof NetError)) throw error;
  return error.reason === "timeout" || error.reason === "blocked_url" ? error.reason : "unreachable";
}
