/** Calls receivers: one signed POST for each attempt that a task object leases out. It owns no state and may crash at any point. */

import type { TaskMessage, CallbackWork } from "../work.ts";
import { logFields } from "../log-fields.ts";
import { assetBaseUrl, signingSecret, urlRules } from "../../config.ts";
import { countCall } from "../../db/recent-sums.ts";
import { cachedWebhook, signingSecrets, type Webhook } from "../../db/webhooks.ts";
import { alert } from "../../base/log.ts";
import { NetError } from "../../net/net-error.ts";
import { postPublic } from "../../net/post-public.ts";
import { retry } from "../../base/retry.ts";
import { openTask } from "./task-stub.ts";
import { signMessage } from "../../signing/webhooks.ts";
import { callTimeoutMs } from "../transitions/receiver-calls.ts";
import { toEventId, writeEvent } from "../answers/event.ts";
import type { FinalTask, Attempt, CallbackFault, CallbackReport } from "../record.ts";
import { logStep } from "../../step-log.ts";

export type Background = Pick<ExecutionContext, "waitUntil">;

/**
 * Handles a message of the callback queue: claims the call, then makes it and reports it in the background, because a receiver that does not
 * answer would hold the consumer, and the callbacks behind it, for ten seconds.
 */
export async function handleCallback(message: Message<TaskMessage>, env: Env, background: Background): Promise<void> {
  const { taskId } = message.body;
  // The object did not answer. Its alarm makes the call, so the message is not needed any more.
  const failed = (error: unknown) => alert("callback", { task: taskId, attempt: message.attempts, outcome: "fault" }, error);
  try {
    const work = await openTask(taskId, env)?.claimCallback(true);
    const run = async (claimed: CallbackWork) => {
      const report = await callReceiver(claimed, env);
      await retry("callback", taskId, async () => openTask(taskId, env)?.reportCallback(claimed.lease, report));
    };
    if (work) background.waitUntil(run(work).catch(failed));
    if (work) background.waitUntil(countCall(env.DB, "queue notify", true) ?? Promise.resolve());
  } catch (error) {
    failed(error);
  }
  message.ack();
}

/** Calls the receiver of a final task once. Never throws: every fault is part of the report. */
export async function callReceiver({ task, ofDelivery = false }: CallbackWork, env: Env): Promise<CallbackReport> {
  const report = await callOnce(task, ofDelivery, env);
  const outcome = report.outcome === "attempted" ? (report.fault ?? String(report.status)) : report.outcome;
  const { failures = 0 } = (ofDelivery ? task.deliveryCallback : task.callback) ?? {};
  logStep(env, "callback", { ...logFields(task), attempt: failures + 1, outcome });
  return report;
}

async function callOnce(task: FinalTask, ofDelivery: boolean, env: Env): Promise<CallbackReport> {
  const { base, callbackUrl, accountId, host } = task.submission;
  try {
    const webhook = await cachedWebhook(env, accountId);
    const url = callbackUrl ?? webhook.url;
    if (url === null) return { outcome: "no_endpoint" };
    const body = await writeEvent(task, ofDelivery, assetBaseUrl(env) ?? base, () => signingSecret(env));
    return { outcome: "attempted", ...(await post(url, toEventId(task.id, ofDelivery), body, webhook, env, host)) };
  } catch (error) {
    alert("callback", { ...logFields(task), outcome: "postponed" }, error);
    return { outcome: "postponed" };
  }
}

/** Sends one signed message to a receiver, which may not be at `host`, by which its owner has reached the gateway. Throws only internal faults. */
export async function post(url: string, id: string, body: string, webhook: Webhook, env: Env, host?: string): Promise<Attempt> {
  const at = Date.now();
  const signature = await signMessage(signingSecrets(webhook, at), id, at, body);
  const headers = { "content-type": "application/json", ...signature };
  const result = await postPublic(url, { ...urlRules(env, host), headers, body, timeoutMs: callTimeoutMs }).then(
    (status) => ({ status }),
    (error: unknown) => ({ fault: toFault(error) }),
  );
  return { at, ms: Date.now() - at, ...result };
}

/** True if the receiver is not called again: it took the message, refuses further ones, or its address is not allowed. */
export const isLast = ({ status = 0, fault }: Attempt): boolean =>
  (status >= 200 && status < 300) || status === 410 || fault === "blocked_url";

function toFault(error: unknown): CallbackFault {
  if (!(error instanceof NetError)) throw error;
  return error.reason === "timeout" || error.reason === "blocked_url" ? error.reason : "unreachable";
}
