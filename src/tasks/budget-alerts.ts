/** Budget alerts: reports a reached threshold to the account's endpoint and e-mail address. Each message contains its whole alert; the queue retries it until it is delivered. */

import { ownHosts } from "../config.ts";
import { listKeys } from "../db/api-keys.ts";
import type { Budget } from "../db/grants.ts";
import { cachedWebhook } from "../db/webhooks.ts";
import { alert } from "../log.ts";
import { retryDelaysMs } from "./callback.ts";
import { post } from "./notify.ts";
import { messageVersion, type Versioned } from "../versions.ts";

export interface BudgetAlert {
  /** The event id. */
  id: string;
  accountId: string;
  /** The key that has the budget; undefined if it is the account's budget. */
  keyId: string | undefined;
  /** When the threshold was reached, in milliseconds. */
  at: number;
  /** The event's data: amounts in balance units, times in Unix seconds. */
  data: {
    percent: 80 | 100;
    amount: number;
    window: Budget["window"];
    /** Amount charged and held in the window. */
    spent: number;
    ends_at: number;
  };
}

export interface AlertMessage extends Versioned {
  budget: BudgetAlert;
  by: "callback" | "mail";
}

/** The queue accepts a hundred messages at a time. */
const alertsPerBatch = 50;

/**
 * Sends the first alerts to the queue, which retries until they are delivered, and removes them from the list. Returns how many; a crash
 * before the list is stored repeats them with the same ids.
 */
export async function sendAlerts(queue: Env["NOTIFY"], alerts: BudgetAlert[]): Promise<number> {
  const sent = alerts.slice(0, alertsPerBatch);
  if (sent.length > 0) await queue.sendBatch(sent.flatMap(toMessages));
  alerts.splice(0, sent.length);
  return sent.length;
}

/** Two queue messages for each alert: one for the endpoint, one for the e-mail. */
const toMessages = (budget: BudgetAlert): { body: AlertMessage }[] =>
  (["callback", "mail"] as const).map((by) => ({ body: { v: messageVersion, budget, by } }));

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
  const webhook = await cachedWebhook(env.DB, accountId);
  if (webhook.url === null) return true;
  // After a rotation, the newest of the keys that share the budget.
  const key = keyId === undefined ? null : (await listKeys(env.DB, accountId)).findLast(({ walletId }) => walletId === keyId);
  if (key === undefined) return true; // the key was deleted
  const body = JSON.stringify({
    type: "budget.reached",
    timestamp: new Date(at).toISOString(),
    data: { object: "budget", key: key && { id: key.id, name: key.name }, ...data },
  });
  const { status = 0, fault } = await post(webhook.url, id, body, webhook, ownHosts(env), env);
  return (status >= 200 && status < 300) || status === 410 || fault === "blocked_url";
}
