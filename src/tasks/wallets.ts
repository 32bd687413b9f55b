/** The API's calls of wallet objects: balances, quotas, and entries that D1 does not have yet. */

import type { Budget } from "../db/grants.ts";
import type { WalletEntry } from "./wallet-book.ts";
import type { WalletView } from "./wallet-limits.ts";
import type { WalletObject } from "./wallet-object.ts";

type Wallets = DurableObjectNamespace<WalletObject>;

/** The balances of an account and of these keys, by id; ids that do not exist are missing. Throws if D1 has to be queried and does not answer. */
export const readBalances = async (wallets: Wallets, accountId: string, keyIds: string[] = []): Promise<Record<string, WalletView>> =>
  wallets.getByName(accountId).balances(keyIds);

/** Sets the quota of the account or one of its keys (`id`), or adds to it. `below_use` if it would be below the used and reserved amounts. */
export const changeQuota = async (
  wallets: Wallets,
  accountId: string,
  id: string,
  change: { quota: number | null } | { add: number },
): Promise<"changed" | "below_use"> => wallets.getByName(accountId).changeQuota(id, change);

/**
 * The account's tasks and chats that D1 does not have: open ones, and settled ones that are not written yet. Call it before querying D1.
 */
export const readUnwritten = async (wallets: Wallets, accountId: string): Promise<WalletEntry[]> =>
  wallets.getByName(accountId).unwritten();

/** Writes every settled task of the account to D1. Throws if D1 does not answer. */
export const writeEnded = async (wallets: Wallets, accountId: string): Promise<void> => wallets.getByName(accountId).writeEnded();

/** Announces a change of the account's keys to its wallet object. */
export const announceKeys = (wallets: Wallets) => async (accountId: string) => wallets.getByName(accountId).announceKeys();

/** What the audit asks of an account's object. */
export const auditWallet = (wallets: Wallets) => async (accountId: string) => wallets.getByName(accountId).audit();

/** The remaining amount of an account's or a key's budget (`id`), in millionths, and the end of its window, in milliseconds; undefined without a budget. */
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

/** Sets the budget of an account or one of its keys (`id`), null removes it; amounts already spent in its window count. */
export const changeBudget = async (wallets: Wallets, accountId: string, id: string, budget: Budget | null): Promise<void> =>
  wallets.getByName(accountId).changeBudget(id, budget);
