/** The wallet objects as the API asks them: balances, quotas, what D1 does not have yet. */

import type { Budget } from "../db/grants.ts";
import type { WalletEntry } from "./wallet-book.ts";
import type { WalletView } from "./wallet-limits.ts";
import type { WalletObject } from "./wallet-object.ts";

type Wallets = DurableObjectNamespace<WalletObject>;

/** The balances of an account and of these keys, by id; what does not exist is missing. Throws when D1 has to be asked and does not answer. */
export const readBalances = async (wallets: Wallets, accountId: string, keyIds: string[] = []): Promise<Record<string, WalletView>> =>
  wallets.getByName(accountId).balances(keyIds);

/** Sets the quota of the account or one of its keys (`id`), or adds to it. `below_use` when less than what is used and reserved would remain. */
export const changeQuota = async (
  wallets: Wallets,
  accountId: string,
  id: string,
  change: { quota: number | null } | { add: number },
): Promise<"changed" | "below_use"> => wallets.getByName(accountId).changeQuota(id, change);

/** The account's tasks and chats that D1 does not have: open ones, and ended ones that are not written yet. Ask before D1. */
export const readUnwritten = async (wallets: Wallets, accountId: string): Promise<WalletEntry[]> =>
  wallets.getByName(accountId).unwritten();

/** Has D1 know every task of the account that has ended by now. Throws when D1 does not answer. */
export const writeEnded = async (wallets: Wallets, accountId: string): Promise<void> => wallets.getByName(accountId).writeEnded();

/** Tells an account's object that its keys are about to change. */
export const announceKeys = (wallets: Wallets) => async (accountId: string) => wallets.getByName(accountId).announceKeys();

/** What the audit asks of an account's object. */
export const auditWallet = (wallets: Wallets) => async (accountId: string) => wallets.getByName(accountId).audit();

/** What is left of an account's or a key's budget (`id`), in millionths, and when its window ends, in milliseconds; undefined where there is none. */
export async function budgetLeft(
  wallets: Wallets,
  accountId: string,
  id: string,
): Promise<(Budget & { left: number; until: number }) | undefined> {
  const { [id]: balance } = await readBalances(wallets, accountId, id === accountId ? [] : [id]);
  if (!balance?.budget) return undefined;
  const { spent, ...budget } = balance.budget;
  return { ...budget, left: Math.max(0, budget.amount - spent) };
}

/** Sets the budget of an account or one of its keys (`id`), null removes it; what was spent in its window counts. */
export const changeBudget = async (wallets: Wallets, accountId: string, id: string, budget: Budget | null): Promise<void> =>
  wallets.getByName(accountId).changeBudget(id, budget);
