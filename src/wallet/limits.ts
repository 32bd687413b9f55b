/** The limits of a wallet's holds other than its grant: open tasks, keys' quotas, budgets with their windows and alerts; and the wallet's money as callers see it. Pure. */

import type { Budget, SettledEntry } from "../db/grants.ts";
import { type Balance, type Charge, toUnits } from "../db/ledger.ts";
import { newId } from "../base/ids.ts";
import type { WalletBook } from "./book.ts";
import { type RowCopy, seenQuota, type WalletState } from "./state.ts";

/**
 * A successful hold, or the reason for refusing it. `closed`: the task was settled before. `budget`: it is used up until the end
 * of its window (`until`, milliseconds).
 */
export type ReserveAnswer =
  | { answer: "reserved" | "insufficient" | "too_many" | "closed" | "unavailable"; until?: never }
  | { answer: "budget"; until: number };

export interface ReserveRules {
  /** The maximum number of the account's open tasks; chats do not count. */
  maxOpenTasks?: number;
  /** The same for the key, if its scope limits it. */
  maxKeyTasks?: number;
  /** The maximum number of the account's open tasks and chats together. */
  maxOpen?: number;
  /** When the hold is released automatically, in milliseconds: for chats, which have no object of their own. */
  deadline?: number;
}

/** Money of an account or a key as callers see it: grants are not visible. */
export interface WalletView extends Balance {
  /** The amount charged and held in the budget's window, in millionths, and the end of the window, in milliseconds. */
  budget: (Budget & { spent: number; until: number }) | null;
  openTasks: number;
  /** The budget of the member to whom the key belongs, over all of the member's keys; missing without one. */
  memberBudget?: WalletView["budget"];
  /** Millionths by which use exceeds the quota after a refund or dispute. `quota` is then what is used and reserved, so that nothing remains. Missing from an object of the previous release. */
  shortfall?: number;
}

/** The account's row (undefined), or that of the key or member. */
function findRow(state: WalletState, id: string | undefined): RowCopy {
  const row = id === undefined ? state : state.keys[id];
  if (!row) throw new Error("the key's row was not read yet");
  return row;
}

/** The member to whom the key belongs; undefined if it belongs to the account. */
export const ownerOf = (state: WalletState, keyId: string): string | undefined => state.keys[keyId]?.owner ?? undefined;

/** Whose budgets a charge of the key counts for: the account's (undefined), the key's, and its owner's. */
function budgetOwners(state: WalletState, keyId: string): (string | undefined)[] {
  const owner = ownerOf(state, keyId);
  return owner === undefined ? [undefined, keyId] : [undefined, keyId, owner];
}

/** The first millisecond of the window that `now` is in. */
export function windowStart(window: Budget["window"], now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), window === "day" ? date.getUTCDate() : 1);
}

/** The first millisecond after the window that `now` is in. */
function windowEnd(window: Budget["window"], now: number): number {
  const date = new Date(windowStart(window, now));
  if (window === "day") date.setUTCDate(date.getUTCDate() + 1);
  else date.setUTCMonth(date.getUTCMonth() + 1);
  return date.getTime();
}

/** The current windows of budgets, of the account, of each of the keys and of their owners, that the object has not counted from their beginning. */
export function missingWindows(state: WalletState, keyIds: string[], now: number): { id: string; start: number }[] {
  const ids = keyIds.flatMap((id) => budgetOwners(state, id).slice(1) as string[]);
  const rows = [[state.accountId, state] as const, ...[...new Set(ids)].map((id) => [id, state.keys[id]] as const)];
  return rows.flatMap(([id, row]) => {
    const start = row?.budget && windowStart(row.budget.window, now);
    return typeof start !== "number" || state.windows[id]?.start === start ? [] : [{ id, start }];
  });
}

/** Adds a charge written to D1 to the counted windows of the key, its owner and the account. */
export function addToWindows(state: WalletState, { keyId, charged, at }: SettledEntry): void {
  for (const id of budgetOwners(state, keyId)) {
    const window = state.windows[id ?? state.accountId];
    if (window && at >= window.start) window.charged += charged;
  }
}

/** The amount charged and held in the window of the row's budget; 0 without a budget. */
function spentInWindow(state: WalletState, book: WalletBook, id: string | undefined, now: number): number {
  const { budget } = findRow(state, id);
  if (!budget) return 0;
  const start = windowStart(budget.window, now);
  const window = state.windows[id ?? state.accountId];
  const counts = id === undefined ? undefined : (keyId: string) => keyId === id || ownerOf(state, keyId) === id;
  return (window?.start === start ? window.charged : 0) + book.spentSince(start, counts);
}

const thresholds = [80, 100] as const;

/**
 * Notes an alert for each threshold that the budgets of the account, of the key and of its owner have reached since their window began; 100 % is also
 * reached if the amount `refused` exceeds the budget. Returns true if there is a new alert: the state must be stored.
 */
export function noteAlerts(state: WalletState, book: WalletBook, keyId: string, now: number, refused = 0): boolean {
  const { alerts } = state;
  const before = alerts.length;
  for (const id of budgetOwners(state, keyId)) {
    const { budget } = findRow(state, id);
    const window = state.windows[id ?? state.accountId];
    if (!budget || !window) continue;
    const spent = spentInWindow(state, book, id, now);
    for (const percent of thresholds) {
      const isReached = 100 * spent >= percent * budget.amount || (percent === 100 && spent + refused > budget.amount);
      if (!isReached || (window.alerted?.amount === budget.amount && window.alerted.percent >= percent)) continue;
      window.alerted = { percent, amount: budget.amount };
      const data = {
        percent,
        amount: toUnits(budget.amount),
        window: budget.window,
        spent: toUnits(spent),
        ends_at: windowEnd(budget.window, now) / 1000,
      };
      alerts.push({ id: newId("evt_budget_"), accountId: state.accountId, keyId: id, at: now, data });
    }
  }
  return alerts.length > before;
}

/**
 * The reason why the amount cannot be held, apart from the account's grant; undefined if it can be held. The key's row must have been read.
 */
export function refusal(
  state: WalletState,
  book: WalletBook,
  { keyId, kind }: Charge,
  amount: number,
  rules: ReserveRules,
  now: number,
): ReserveAnswer | undefined {
  const [key, ofKey] = [findRow(state, keyId), book.sums(keyId)];
  if (kind !== "chat" && (book.sums().tasks >= (rules.maxOpenTasks ?? Infinity) || ofKey.tasks >= (rules.maxKeyTasks ?? Infinity)))
    return { answer: "too_many" };
  if (book.openSize >= (rules.maxOpen ?? Infinity)) return { answer: "too_many" };
  if (key.quota !== null && key.quota - key.used - ofKey.held - ofKey.owed < amount) return { answer: "insufficient" };
  for (const id of budgetOwners(state, keyId)) {
    const { budget } = findRow(state, id);
    if (budget && spentInWindow(state, book, id, now) + amount > budget.amount)
      return { answer: "budget", until: windowEnd(budget.window, now) };
  }
  return undefined;
}

/** The account's money, or that of a key whose row was read. The grant of lost storage counts as reserved, because tasks may still hold it. */
export function toView(state: WalletState, book: WalletBook, keyId: string | undefined, now: number): WalletView {
  const row = findRow(state, keyId);
  const { used, budget } = row;
  const { held, owed, tasks } = book.sums(keyId);
  const lost = keyId === undefined ? state.lost : 0;
  const budgetOf = (id: string | undefined, of: Budget | null) =>
    of && { ...of, spent: spentInWindow(state, book, id, now), until: windowEnd(of.window, now) };
  const owner = keyId === undefined ? undefined : ownerOf(state, keyId);
  const memberBudget = owner === undefined ? null : budgetOf(owner, findRow(state, owner).budget);
  const quota = seenQuota(row);
  const spent = used + owed + lost + held;
  return {
    quota: quota === null ? null : Math.max(quota, spent),
    used: used + owed,
    reserved: lost + held,
    budget: budgetOf(keyId, budget),
    shortfall: Math.max(0, spent - (quota ?? Infinity)),
    openTasks: tasks,
    ...(memberBudget && { memberBudget }),
  };
}
