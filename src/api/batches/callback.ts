/** The calls to the receiver of an ended batch. Its object makes them, so that a receiver that does not answer delays no other account's. */

import { alert } from "../../base/log.ts";
import { cachedWebhook } from "../../db/webhooks.ts";
import { isLast, post } from "../../tasks/consumer/notify.ts";
import { retryDelaysMs } from "../../tasks/transitions/receiver-calls.ts";
import type { Batch, BatchTerms } from "./state.ts";

/** Calls the receiver once with `data`, the batch as its owner sees it. Returns what follows: the next call, or undefined. Never throws. */
export async function callReceiver(
  env: Env,
  { id, accountId, callbackUrl, host }: BatchTerms,
  { endedAt, failures }: { endedAt: number; failures: number },
  data: object,
): Promise<Batch["call"]> {
  try {
    const webhook = await cachedWebhook(env, accountId);
    const url = callbackUrl ?? webhook.url;
    if (url === null) return undefined;
    const body = JSON.stringify({ type: "batch.completed", timestamp: new Date(endedAt).toISOString(), data });
    // The id of the event is the same at each attempt.
    if (isLast(await post(url, `evt_${id.slice("batch_".length)}`, body, webhook, env, host))) return undefined;
  } catch (error) {
    alert("callback", { batch: id, outcome: "fault" }, error);
  }
  const delayMs = retryDelaysMs[failures];
  return delayMs === undefined ? undefined : { at: Date.now() + delayMs, failures: failures + 1 };
}
