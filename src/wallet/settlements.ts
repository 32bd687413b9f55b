/** Settles the chats that this isolate has answered: those of an account go together, shortly after their answers. */

import { inLanes } from "../base/concurrency.ts";
import { alert } from "../base/log.ts";
import { retry, retryRestart } from "../base/retry.ts";
import { sendSettlement, type Settlement } from "./late-settlements.ts";
import type { WalletView } from "./limits.ts";

/** Settlements of an account gather for this time. If the isolate ends meanwhile, the hold is released at its deadline, at nothing. */
const gatherMs = 50;
/** The maximum number of settlements that gather. */
const maxGathered = 64;
/** A batch that is so late was left by a request that the platform ended: the second request of the batch sends it, or else the account's next chat. */
const overdueMs = 1_000;
/** For five seconds. After them the queue keeps the settlements, which gets as many attempts: two messages of one settlement charge once. */
const settleAttempts = 10;

/** Settlements that gather, and when the request that came first sends them. */
interface Batch {
  settlements: Settlement[];
  sendsAt: number;
}

/** By account. */
const batches = new Map<string, Batch>();

/**
 * Settles a chat's hold; its answer does not wait for this. Chats of the account that end within 50 ms go together. The first of them, or
 * the one that fills the batch, sends them all, so no request waits for another: it gets a promise for its `waitUntil`, which never rejects.
 * The second one looks once more later, because the platform may cancel the first.
 */
export function settleChat(env: Env, settlement: Settlement): Promise<unknown> | undefined {
  const { accountId } = settlement.charge;
  const batch = batches.get(accountId) ?? { settlements: [], sendsAt: -Infinity };
  batch.settlements.push(settlement);
  if (Date.now() > batch.sendsAt + overdueMs) {
    batch.sendsAt = Date.now() + gatherMs;
    batches.set(accountId, batch);
    return settleAfter(gatherMs, env, accountId, batch);
  }
  if (batch.settlements.length === 2) return settleAfter(gatherMs + overdueMs, env, accountId, batch);
  return batch.settlements.length < maxGathered ? undefined : settleGathered(env, accountId);
}

/** Settles a batch after `ms`, unless another request has. */
async function settleAfter(ms: number, env: Env, accountId: string, batch: Batch): Promise<void> {
  await scheduler.wait(ms);
  if (batches.get(accountId) === batch) await settleGathered(env, accountId);
}

/**
 * Settles in one call what gathers for the account; false if nothing does. What the wallet does not take so goes in a call of its own, and
 * after that to the queue.
 */
export async function settleGathered(env: Env, accountId: string): Promise<boolean> {
  const { settlements = [] } = batches.get(accountId) ?? {};
  if (!settlements[0]) return false;
  batches.delete(accountId);
  const wallet = () => env.WALLETS.getByName(accountId);
  const together = async (): Promise<boolean[]> => wallet().chats(settlements);
  // Also if the wallet has too many calls: after the pauses it has fewer, and a call for each chat would be more of them.
  const isSettled = await retry("settle", settlements[0].charge.taskId, together, settleAttempts, () => true).catch(() => []);
  await inLanes(
    settlements.filter((_, at) => !isSettled[at]),
    async (settlement) => {
      const { charge, charged, outcome, held, attempts } = settlement;
      try {
        await wallet().settle(charge, charged, outcome, held, undefined, attempts);
      } catch (error) {
        await settleLater(env, settlement, error);
      }
    },
  );
  return true;
}

/** Leaves a charge to the queue. If that refuses it, or nothing is charged, the deadline releases the hold. */
async function settleLater(env: Env, settlement: Settlement, fault: unknown): Promise<void> {
  const { charge, charged } = settlement;
  try {
    if (charged === 0) throw fault;
    await retry("settle", charge.taskId, () => sendSettlement(env.NOTIFY, settlement), settleAttempts);
  } catch (error) {
    alert("settle", { task: charge.taskId, account: charge.accountId, charged, outcome: "not_sent" }, error);
  }
}

/** Settles the account's chats that this isolate has answered, so that a balance that is read after an answer includes its charge. */
export async function settleAnswered(env: Env, ctx: Pick<ExecutionContext, "waitUntil">, accountId: string): Promise<void> {
  if (!batches.has(accountId)) return;
  const settled = settleGathered(env, accountId);
  ctx.waitUntil(settled); // also if the caller disconnects
  await settled;
}

/** The balances of an account and of these keys (their wallets), by id, with the charges of answered chats. */
export async function readBalances(
  env: Env,
  ctx: Pick<ExecutionContext, "waitUntil">,
  accountId: string,
  keyIds?: string[],
): Promise<Record<string, WalletView>> {
  await settleAnswered(env, ctx, accountId);
  return retryRestart("balance", { account: accountId }, async () => env.WALLETS.getByName(accountId).balances(keyIds));
}
