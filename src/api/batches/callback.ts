/** The calls to the receiver of an ended batch. Its object makes them, so that a receiver that does not answer delays no other account's. */

import { ownHosts } from "../../config.ts";
import { alert } from "../../base/log.ts";
import { cachedWebhook } from "../../db/webhooks.ts";
import { post } from "../../tasks/consumer/notify.ts";
import { retryDelaysMs } from "../../tasks/transitions/receiver-calls.ts";
import type { Batch } from "./state.ts";

/** The id of the event, the same at each attempt. */
const toEventId = (batchId: string) => `evt_${batchId.slice("batch_".length)}`;

/** Calls the receiver once with `data`, the batch as its owner sees it. Returns what follows: the next call, or undefined. Never throws. */
export async function callReceiver(
  env: Env,
  { terms, endedAt = 0, call = { at: 0, failures: 0 } }: Batch,
  data: object,
): Promise<Batch["call"]> {
  const { id, accountId, callbackUrl, host } = terms;
  const { failures } = call;
  try {
    const webhook = await cachedWebhook(env, accountId);
    const url = callbackUrl ?? webhook.url;
    if (url === null) return undefined;
    const body = JSON.stringify({ type: "batch.completed", timestamp: new Date(endedAt).toISOString(), data });
    const { status = 0, fault } = await post(url, toEventId(id), body, webhook, [host, ...ownHosts(env)], env);
    if ((status >= 200 && status < 300) || status === 410 || fault === "blocked_url") return undefined;
  } catch (error) {
    alert("callback", { batch: id, outcome: "fault" }, error);
  }
  const delayMs = retryDelaysMs[failures];
  return delayMs === undefined ? undefined : { at: Date.now() + delayMs, failures: failures + 1 };
}
