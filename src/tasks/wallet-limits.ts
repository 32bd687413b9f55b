/** The reasons other than the grant for which a wallet refuses a hold, and the wallet's money as callers see it. Pure. */

import type { Budget } from "../db/grants.ts";
import { type Balance, type Charge, toUnits } from "../db/ledger.ts";
import { newId } from "../ids.ts";
import { windowEnd, windowStart } from "./budget-window.ts";
import type { WalletBook } from "./wallet-book.ts";
import type { RowCopy, WalletState } from "./wallet-state.ts";

/**
 * A successful hold, or the reason for refusing it. `closed`: the task was settled before. `budget`: until the end of the window,
 * milliseconds.
 */
export type ReserveAnswer =
  | { answer: "reserved" | "insufficient" | "too_many" | "closed" | "unavailable"; until?: never }
  | { answer: "budget"; until: number };

export interface ReserveRules {
  /** The maximum number of the account's open tasks; chats do not count. */
  maxOpenTasks?: number;
  /** The same for the key, if its scope limits it. */
  maxKeyTasks?: number;
  /** When the hold is released automatically, in milliseconds: for chats, which have no object of their own. */
  deadline?: number;
}

/** Money of an account or a key as callers see it: grants are not visible. */
export interface WalletView extends Balance {
  /** The amount charged and held in the budget's window, in millionths, and the end of the window, in milliseconds. */
  budget: (Budget & { spent: number; until: number }) | null;
  openTasks: number;
}

/** The account's row, or that of the key. */
function findRow(state: WalletState, keyId: string | undefined): RowCopy {
  const row = keyId === undefined ? state : state.keys[keyId];
  if (!row) throw new Error("the key's row was not read yet");
  return row;
}

/** The amount charged and held in the window of the row's budget; 0 without a budget. */
function spentInWindow(state: WalletState, book: WalletBook, keyId: string | undefined, now: number): number {
  const { budget } = findRow(state, keyId);
  if (!budget) return 0;
  const start = windowStart(budget.window, now);
  const window = state.windows[keyId ?? state.accountId];
  return (window?.start === start ? window.charged : 0) + book.spentSince(start, keyId);
}

const thresholds = [80, 100] as const;

/**
 * Notes an alert for each threshold that the budgets of the account and of the key have reached since their window began; 100 % is also
 * reached if the amount `refused` exceeds the budget. Returns true if there is a new alert: the state must be stored.
 */
export function noteAlerts(state: WalletState, book: WalletBook, keyId: string, now: number, refused = 0): boolean {
  const alerts = (state.alerts ??= []);
  const before = alerts.length;
  for (const id of [undefined, keyId]) {
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
  if (key.quota !== null && key.quota - key.used - key.legacy - ofKey.held - ofKey.owed < amount) return { answer: "insufficient" };
  for (const id of [undefined, keyId]) {
    const { budget } = findRow(state, id);
    if (budget && spentInWindow(state, book, id, now) + amount > budget.amount)
      return { answer: "budget", until: windowEnd(budget.window, now) };
  }
  return undefined;
}

/** The account's money, or that of a key whose row was read. The grant of lost storage counts as reserved, because tasks may still hold it. */
export function toView(state: WalletState, book: WalletBook, keyId: string | undefined, now: number): WalletView {
  const { quota, used, legacy, budget } = findRow(state, keyId);
  const { held, owed, tasks } = book.sums(keyId);
  const lost = keyId === undefined ? state.lost : 0;
  return {
    quota,
    used: used + owed,
    reserved: legacy + lost + held,
    budget: budget && { ...budget, spent: spentInWindow(state, book, keyId, now), until: windowEnd(budget.window, now) },
    openTasks: tasks,
  };
}
