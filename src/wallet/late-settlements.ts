/** Settlements of chats that a wallet did not take for seconds: a queue keeps each until the wallet takes it. */

import type { Charge } from "../db/ledger.ts";
import type { BookedAttempt } from "../db/settled-sums.ts";
import { alert, log } from "../base/log.ts";
import { settlementVersion, type Versioned } from "../base/versions.ts";

/** A settled chat: amounts in millionths. */
export interface Settlement {
  charge: Charge;
  charged: number;
  outcome: string;
  held: number;
  /** What the makers bill. */
  attempts?: readonly BookedAttempt[] | undefined;
}

export interface SettlementMessage extends Versioned {
  settlement: Settlement;
}

/** The interval between two attempts: shorter than the time for which a wallet that could not run waits before it releases old holds. */
const retrySeconds = 60;
/** A message is sent again before the queue gives it up, which is after six attempts (wrangler.toml). */
const maxAttempts = 4;

/** Leaves a settlement to the queue. Throws if the queue refuses it. */
export async function sendSettlement(queue: Env["NOTIFY"], settlement: Settlement): Promise<void> {
  await queue.send({ v: settlementVersion, settlement } satisfies SettlementMessage, { delaySeconds: 2 });
}

/** Handles a settlement's message: settles, or leaves it to the next attempt. The wallet settles a chat once, however often it is asked to. */
export async function handleSettlement(message: Message<SettlementMessage>, env: Env): Promise<void> {
  const { charge, charged, outcome, held, attempts } = message.body.settlement;
  const { taskId: task, accountId: account } = charge;
  try {
    await env.WALLETS.getByName(account).settle(charge, charged, outcome, held, undefined, attempts);
    log("settle", { task, account, charged, outcome: "late" });
    return message.ack();
  } catch (error) {
    alert("settle", { task, account, charged, attempt: message.attempts, outcome: "retry" }, error);
  }
  if (message.attempts < maxAttempts) return message.retry({ delaySeconds: retrySeconds });
  try {
    await env.NOTIFY.send(message.body, { delaySeconds: retrySeconds });
    message.ack();
  } catch (error) {
    alert("settle", { task, account, charged, attempt: message.attempts, outcome: "not_sent" }, error);
    message.retry({ delaySeconds: retrySeconds });
  }
}
