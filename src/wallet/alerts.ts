/** Budget alerts: reports a reached threshold to the account's endpoint and e-mail address. Each message contains its whole alert; the queue retries it until it is delivered. */

import type { Budget } from "../db/grants.ts";
import { messageVersion, type Versioned } from "../base/versions.ts";

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
