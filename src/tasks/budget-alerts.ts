/** Alerts of budgets: tells an account's endpoint and its e-mail address what was reached. A message carries all of its alert, and the queue repeats it until it is delivered. */

import { ownHosts } from "../config.ts";
import { listKeys } from "../db/api-keys.ts";
import type { Budget } from "../db/grants.ts";
import { cachedWebhook } from "../db/webhooks.ts";
import { alert } from "../log.ts";
import { retryDelaysMs } from "./callback.ts";
import { post } from "./notify.ts";
import { type Versioned, versions } from "../versions.ts";

export interface BudgetAlert {
  /** Of its event. */
  id: string;
  accountId: string;
  /** The wallet of the key that has the budget; undefined if the account has it. */
  keyId: string | undefined;
  /** When it was reached, milliseconds. */
  at: number;
  /** As the event has it: balance units, Unix seconds. */
  data: {
    percent: 80 | 100;
    amount: number;
    window: Budget["window"];
    /** What was charged and held in the window. */
    spent: number;
    ends_at: number;
  };
}

export interface AlertMessage extends Versioned {
  budget: BudgetAlert;
  by: "callback" | "mail";
}

/** Both messages of each alert, for the queue of callbacks. */
export const toMessages = (alerts: BudgetAlert[]): { body: AlertMessage }[] =>
  alerts.flatMap((budget) => (["callback", "mail"] as const).map((by) => ({ body: { v: versions.message, budget, by } })));

/** Handles a message of the callback queue that carries an alert. The queue repeats it, as often as wrangler.toml says. */
export async function handleAlert(message: Message<AlertMessage>, env: Env): Promise<void> {
  const { budget, by } = message.body;
  try {
    if (await (by === "mail" ? (env.CONSOLE?.mailBudget(budget) ?? true) : callEndpoint(budget, env))) return message.ack();
  } catch (error) {
    alert("budget", { account: budget.accountId, outcome: "fault" }, error);
  }
  message.retry({ delaySeconds: (retryDelaysMs[message.attempts - 1] ?? 0) / 1000 });
}

/** Calls the account's endpoint; true if there is nothing more to do. */
async function callEndpoint({ id, accountId, keyId, at, data }: BudgetAlert, env: Env): Promise<boolean> {
  const webhook = await cachedWebhook(env.DB, accountId);
  if (webhook.url === null) return true;
  // After a rotation the newest of the keys that share the budget.
  const key = keyId === undefined ? null : (await listKeys(env.DB, accountId)).findLast(({ walletId }) => walletId === keyId);
  if (key === undefined) return true; // deleted
  const body = JSON.stringify({
    type: "budget.reached",
    timestamp: new Date(at).toISOString(),
    data: { object: "budget", key: key && { id: key.id, name: key.name }, ...data },
  });
  const { status = 0, fault } = await post(webhook.url, id, body, webhook, ownHosts(env), env);
  return (status >= 200 && status < 300) || status === 410 || fault === "blocked_url";
}
