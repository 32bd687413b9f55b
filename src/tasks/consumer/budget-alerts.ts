/** Delivers budget alerts: to the account's endpoint and to its user's e-mail address. The queue repeats a message until it is delivered. */

import type { BudgetAlert, AlertMessage } from "../../wallet/alerts.ts";
import { isLast, post } from "./notify.ts";
import { retryDelaysMs } from "../transitions/receiver-calls.ts";
import { alert } from "../../base/log.ts";
import { cachedWebhook } from "../../db/webhooks.ts";
import { listKeys } from "../../db/api-keys.ts";

/**
 * Handles a message of the callback queue that carries an alert. If delivery fails the queue retries it, up to the limit in wrangler.toml.
 */
export async function handleAlert(message: Message<AlertMessage>, env: Env): Promise<void> {
  const { budget, by } = message.body;
  try {
    if (await (by === "mail" ? (env.CONSOLE?.mailBudget(budget) ?? true) : callEndpoint(budget, env))) return message.ack();
  } catch (error) {
    alert("budget", { account: budget.accountId, outcome: "fault" }, error);
  }
  message.retry({ delaySeconds: (retryDelaysMs[message.attempts - 1] ?? 0) / 1000 });
}

/** Calls the account's endpoint. Returns true if no retry is needed. */
async function callEndpoint({ id, accountId, keyId, at, data }: BudgetAlert, env: Env): Promise<boolean> {
  const webhook = await cachedWebhook(env, accountId);
  if (webhook.url === null) return true;
  // After a rotation, the newest of the keys that share the budget.
  const key = keyId === undefined ? null : (await listKeys(env.DB, accountId)).findLast(({ walletId }) => walletId === keyId);
  if (key === undefined) return true; // the key was deleted
  const body = JSON.stringify({
    type: "budget.reached",
    timestamp: new Date(at).toISOString(),
    data: { object: "budget", key: key && { id: key.id, name: key.name }, ...data },
  });
  return isLast(await post(webhook.url, id, body, webhook, env));
}
