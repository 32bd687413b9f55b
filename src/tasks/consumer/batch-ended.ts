/** Calls the receiver when a batch has ended. The queue repeats a message until the receiver has taken it. */

import { ownHosts } from "../../config.ts";
import { alert } from "../../base/log.ts";
import type { Versioned } from "../../base/versions.ts";
import { cachedWebhook } from "../../db/webhooks.ts";
import { retryDelaysMs } from "../transitions/receiver-calls.ts";
import { post } from "./notify.ts";

export interface BatchMessage extends Versioned {
  batchEnded: {
    id: string;
    accountId: string;
    /** Used in place of the account's endpoint. */
    callbackUrl?: string | undefined;
    host: string;
    /** Milliseconds */
    at: number;
    /** The batch as its owner sees it. */
    data: object;
  };
}

/** The id of the event, the same at each attempt. */
const toEventId = (batchId: string) => `evt_${batchId.slice("batch_".length)}`;

export async function handleBatchEnded(message: Message<BatchMessage>, env: Env, isDead: boolean): Promise<void> {
  const { id, accountId, callbackUrl, host, at, data } = message.body.batchEnded;
  if (isDead) return message.ack(); // every attempt has failed
  try {
    const webhook = await cachedWebhook(env, accountId);
    const url = callbackUrl ?? webhook.url;
    if (url === null) return message.ack();
    const body = JSON.stringify({ type: "batch.completed", timestamp: new Date(at).toISOString(), data });
    const { status = 0, fault } = await post(url, toEventId(id), body, webhook, [host, ...ownHosts(env)], env);
    if ((status >= 200 && status < 300) || status === 410 || fault === "blocked_url") return message.ack();
  } catch (error) {
    alert("callback", { batch: id, outcome: "fault" }, error);
  }
  message.retry({ delaySeconds: (retryDelaysMs[message.attempts - 1] ?? 0) / 1000 });
}
