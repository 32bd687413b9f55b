/** What a wallet refuses for other reasons than its grant, and how its money looks to callers. Pure. */

import type { Budget } from "../db/grants.ts";
import { type Balance, type Charge, toUnits } from "../db/ledger.ts";
import { newId } from "../ids.ts";
import { windowEnd, windowStart } from "./budget-window.ts";
import type { WalletBook } from "./wallet-book.ts";
import type { RowCopy, WalletState } from "./wallet-state.ts";

/** A hold that exists, or why there is none. `closed`: the task was settled before. `budget`: until the window's end, milliseconds. */
export type ReserveAnswer =
  | { answer: "reserved" | "insufficient" | "too_many" | "closed" | "unavailable"; until?: never }
  | { answer: "budget"; until: number };

export interface ReserveRules {
  /** Open tasks that the account may have; chats are not counted. */
  maxOpenTasks?: number;
  /** The same for the key, when it is narrowed. */
  maxKeyTasks?: number;
  /** When the hold is given back by itself, milliseconds: for chats, which have no object of their own. */
  deadline?: number;
}

/** Money of an account or a key as callers see it: grants do not show. */
export interface WalletView extends Balance {
  /** What was spent and is held in the budget's window, in millionths, and when the window ends, in milliseconds. */
  budget: (Budget & { spent: number; until: number }) | null;
  openTasks: number;
}

/** The account's row, or that of the key. */
function findRow(state: WalletState, keyId: string | undefined): RowCopy {
  const row = keyId === undefined ? state : state.keys[keyId];
  if (!row) throw new Error("the key's row was not read yet");
  return row;
}

/** What was charged and is held in the window of the row's budget; 0 without one. */
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
 * reached when `refused` does not fit. True if there is one: the state has to be stored.
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

/** Why the amount cannot be held, as far as the account's grant is not the reason. The key's row is known. */
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

/** The account's money, or that of a key whose row is known. What was granted to a storage that is lost counts as reserved: tasks may still hold it. */
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
