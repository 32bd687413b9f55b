/** A wallet object's copy of D1's rows: the stored state, and functions that keep it up to date. Pure. */

import type { Budget, SettledEntry, WalletRow } from "../db/grants.ts";
import type { BudgetAlert } from "./budget-alerts.ts";
import { windowStart } from "./budget-window.ts";
import type { Page } from "./wallet-book.ts";

/** The functions of the object's storage that the ledger uses. */
export interface WalletStorage {
  /** Stores the state in one transaction; the alarm fires at `wakeAt` (milliseconds) at the latest. */
  save(wakeAt?: number): void;
  /** A stored page; undefined if there is no page with this number. */
  page(seq: number): Page | undefined;
  drop(seq: number): void;
}

/** The object's copy of a row in D1. */
export interface RowCopy {
  quota: number | null;
  used: number;
  /** Held in D1's own ledger from before wallet objects existed: those tasks and chats are settled there. */
  legacy: number;
  budget: Budget | null;
}

/** The window of a budget. */
interface Window {
  start: number;
  charged: number;
  /** The last alert's percentage, and its budget's amount: a budget of another amount has its own alerts. */
  alerted?: { percent: number; amount: number };
}

export interface WalletState extends RowCopy {
  /** The object's name: the platform does not pass it to an object that an alarm starts. */
  accountId: string;
  /** The revision of the D1 row that the object last wrote. */
  revision: number;
  /** The maximum that the object may spend; never more than D1 has granted. */
  granted: number;
  /** The grant from before this storage existed: earlier storage was lost, and the operator's reconcile returns the amount. */
  lost: number;
  /** When the loss was found; the lost grant is returned a day later. Missing in states of earlier versions. */
  lostAt?: number;
  keys: Record<string, RowCopy>;
  /** The charges written to D1 in each budget's window, by account or key. */
  windows: Record<string, Window>;
  /** Budget alerts that the queue does not have yet. */
  alerts?: BudgetAlert[];
  /** The number of the last settlement that D1 has. */
  flushedTo: number;
  /** The oldest page that is loaded when the object starts, and the oldest that is stored. */
  firstPage: number;
  oldestPage: number;
  /** True if a write may have taken effect although it did not answer: D1 may have granted more than `granted`. */
  isUnsure: boolean;
  /** True if D1 was restored and not all of its lost entries are written again yet. */
  isRestoring: boolean;
  /** The page that is written again next, and D1's revision before that; missing before the first one. */
  restored?: { page: number; revision: number } | undefined;
}

const toCopy = ({ quota, used, reserved, granted, budget }: WalletRow): RowCopy => ({
  quota,
  used,
  legacy: reserved - granted,
  budget,
});

/** The first state of an object, made at `now`. An existing grant in D1 belonged to storage that was lost. */
export const newState = (row: WalletRow, now: number): WalletState => ({
  ...toCopy(row),
  accountId: row.id,
  revision: row.revision,
  granted: row.granted,
  lost: row.granted,
  lostAt: now,
  keys: {},
  windows: {},
  flushedTo: 0,
  firstPage: 0,
  oldestPage: 1,
  isUnsure: false,
  isRestoring: false,
});

/** Updates a copy from D1's row. The used amount is updated only while there are no unwritten entries: D1 may have accepted a batch whose answer was lost, and its entries would count twice. */
export function takeOver(copy: RowCopy, row: WalletRow, takesUsed: boolean): void {
  const { used, ...others } = toCopy(row);
  Object.assign(copy, others, takesUsed && { used });
}

/** Updates the copies of keys. True if one is new: the state must be stored with its first entry, because a later read of D1 may include entries that are in the outbox too. */
export function adoptKeys({ keys }: WalletState, rows: WalletRow[], takesUsed: boolean): boolean {
  let isNew = false;
  for (const row of rows) {
    const known = keys[row.id];
    if (known) takeOver(known, row, takesUsed);
    else {
      keys[row.id] = toCopy(row);
      isNew = true;
    }
  }
  return isNew;
}

/** The current windows of budgets, of the account and of each of the keys, that the object has not counted from their beginning. */
export function missingWindows(state: WalletState, keyIds: string[], now: number): { id: string; start: number }[] {
  const rows = [[state.accountId, state] as const, ...keyIds.map((id) => [id, state.keys[id]] as const)];
  return rows.flatMap(([id, row]) => {
    const start = row?.budget && windowStart(row.budget.window, now);
    return typeof start !== "number" || state.windows[id]?.start === start ? [] : [{ id, start }];
  });
}

/** Adds a charge written to D1 to the counted windows of the key and the account. */
export function addToWindows(state: WalletState, { keyId, charged, at }: SettledEntry): void {
  for (const id of [keyId, state.accountId]) {
    const window = state.windows[id];
    if (window && at >= window.start) window.charged += charged;
  }
}

export type QuotaChange = { quota: number | null } | { add: number };

/** The changed quota; adding to an unlimited quota leaves it unlimited. */
export const changed = (quota: number | null, change: QuotaChange): number | null =>
  "quota" in change ? change.quota : quota === null ? null : quota + change.add;
