/** Money on pages: entries of D1, merged with those that only the account's wallet object has. The wallet is asked first. */

import type { ConsoleContext } from "./context.ts";
import { entryReader } from "../storage/archived-entries.ts";
import { inLanes } from "../base/concurrency.ts";
import { listKeys } from "../db/api-keys.ts";
import {
  type Entry,
  type EntryPage,
  type ModelUse,
  type OpenTask,
  readCost,
  type Spent,
  spentByDay,
  usesByModel,
} from "../db/ledger-reports.ts";
import { listGrantedAccounts } from "../db/accounts.ts";
import { readReservedAt } from "../db/ledger.ts";
import { selectOpenTasks, withEntries, withSpending, withUses } from "../wallet/unwritten.ts";
import type { WalletEntry } from "../wallet/book.ts";
import type { WalletView } from "../wallet/limits.ts";

/** The balance of an account, or of one of its keys by its wallet. */
export async function readBalance(c: ConsoleContext, accountId: string, walletId = accountId): Promise<WalletView> {
  const { [walletId]: balance } = await c.env.API.balances(accountId, walletId === accountId ? [] : [walletId]);
  if (!balance) throw new Error("the wallet does not exist");
  return balance;
}

/** Keys' balances by their wallets, with the time of the last reservation on each (milliseconds; null is never). */
export async function readBalances(
  c: ConsoleContext,
  accountId: string,
  walletIds: string[],
): Promise<Map<string, WalletView & { reservedAt: number | null }>> {
  const [balances, unwritten] = await Promise.all([c.env.API.balances(accountId, walletIds), c.env.API.unwritten(accountId)]);
  const written = await readReservedAt(c.env.DB, walletIds);
  return new Map(
    walletIds.flatMap((id) => {
      const balance = balances[id];
      if (!balance) return [];
      const times = unwritten.flatMap(({ keyId, at }) => (keyId === id ? [at] : []));
      const reservedAt = Math.max(written.get(id) ?? -Infinity, ...times);
      return [[id, { ...balance, reservedAt: reservedAt === -Infinity ? null : reservedAt }] as const];
    }),
  );
}

/** The tasks and chats of an account that D1 does not have; for a member only the member's own. */
async function readUnwritten(c: ConsoleContext, accountId: string): Promise<WalletEntry[]> {
  const { ownWallets } = c.var.caller;
  const all = await c.env.API.unwritten(accountId);
  return ownWallets ? all.filter(({ keyId }) => ownWallets.includes(keyId)) : all;
}

/** An account's charges since `since` (milliseconds), by day and model. */
export async function readSpent(c: ConsoleContext, accountId: string, since: number): Promise<Spent[]> {
  const unwritten = await readUnwritten(c, accountId);
  return withSpending(unwritten, await spentByDay(c.env.DB, accountId, since, c.var.caller.ownWallets), since);
}

/** Tasks and chats of an account that were submitted from `since` to before `until` (milliseconds) and have ended, by model. */
export async function readUses(c: ConsoleContext, accountId: string, since: number, until = Number.MAX_SAFE_INTEGER): Promise<ModelUse[]> {
  const unwritten = await readUnwritten(c, accountId);
  const span = [since, until] as const;
  return withUses(unwritten, await usesByModel(c.env.DB, accountId, span, c.var.caller.ownWallets), span);
}

/** Reads pages of an account's entries, newest first, archived ones included. The wallet is asked once. */
export async function readEntries(c: ConsoleContext, accountId: string): Promise<(page: EntryPage) => Promise<Entry[]>> {
  const unwritten = await c.env.API.unwritten(accountId);
  const names = unwritten.length === 0 ? [] : await listKeys(c.env.DB, accountId);
  const keyNames = new Map(names.map(({ walletId, name }) => [walletId, name]));
  const readWritten = entryReader(c.env.DB, c.env.ASSETS, accountId);
  return async (page) => withEntries(unwritten, await readWritten(page), page, keyNames);
}

/** The amount that a task of the account holds or was charged; undefined if the account has no such task. */
export async function readTaskCost(
  c: ConsoleContext,
  accountId: string,
  taskId: string,
): Promise<{ held: number; charged: number | null } | undefined> {
  const own = (await c.env.API.unwritten(accountId)).find((entry) => entry.taskId === taskId);
  return own ? { held: own.held, charged: own.end?.charged ?? null } : readCost(c.env.DB, accountId, taskId);
}

/** The maximum number of wallets that are asked for their open tasks. */
const maxWallets = 200;

/** A page of the open tasks of all accounts, oldest first: those reserved after `since` (milliseconds), after the one at `after`. */
export async function openTasks(
  c: ConsoleContext,
  page: { since: number; limit: number; after?: { at: number; taskId: string } | undefined },
): Promise<OpenTask[]> {
  const accounts = await listGrantedAccounts(c.env.DB, maxWallets);
  const unwritten = await inLanes(accounts, async (id): Promise<[string, WalletEntry[]]> => [id, await c.env.API.unwritten(id)]);
  const own = unwritten.flatMap(([id, entries]) => selectOpenTasks(id, entries)).filter(({ at }) => at > page.since);
  const isAfter = ({ at, taskId }: OpenTask) => !page.after || at > page.after.at || (at === page.after.at && taskId > page.after.taskId);
  return own
    .filter(isAfter)
    .sort((a, b) => a.at - b.at || (a.taskId < b.taskId ? -1 : 1))
    .slice(0, page.limit);
}
