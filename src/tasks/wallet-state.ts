/** What a wallet object knows of D1's rows: a record that is stored, and how it is kept true. Pure. */

import type { Budget, SettledEntry, WalletRow } from "../db/grants.ts";
import type { BudgetAlert } from "./budget-alerts.ts";
import { windowStart } from "./budget-window.ts";
import type { Page } from "./wallet-book.ts";

/** What the ledger needs of the object's storage. */
export interface WalletStorage {
  /** Stores the state, in one transaction; the object wakes at `wakeAt` (milliseconds) at the latest. */
  save(wakeAt?: number): void;
  /** A stored page; undefined when there is none of this number. */
  page(seq: number): Page | undefined;
  drop(seq: number): void;
}

/** What the object knows of a row in D1. */
export interface RowCopy {
  quota: number | null;
  used: number;
  /** Held in D1's own ledger, from before there were wallet objects: tasks and chats of then settle there. */
  legacy: number;
  budget: Budget | null;
}

/** A budget's window. */
interface Window {
  start: number;
  charged: number;
  /** The percentage that was alerted of last, and of which amount: another budget has thresholds of its own. */
  alerted?: { percent: number; amount: number };
}

export interface WalletState extends RowCopy {
  /** The object's name, which the platform does not tell an object that an alarm wakes. */
  accountId: string;
  /** Of the D1 row as the object last wrote it. */
  revision: number;
  /** What the object may spend; never more than D1 has granted. */
  granted: number;
  /** Granted before the object had any storage of its own: it was lost, and an operator's reconcile gives it back. */
  lost: number;
  /** When the loss was found; what was lost goes back a while later. Missing in states of before. */
  lostAt?: number;
  keys: Record<string, RowCopy>;
  /** What D1 was told to be charged in a budget's window, by account or key. */
  windows: Record<string, Window>;
  /** Alerts of budgets that the queue does not have yet. */
  alerts?: BudgetAlert[];
  /** The last settlement that D1 has. */
  flushedTo: number;
  /** The oldest page that is read at the start, and the oldest that is stored. */
  firstPage: number;
  oldestPage: number;
  /** A write may have taken effect without our knowing: D1 may have granted more than `granted`. */
  isUnsure: boolean;
  /** D1 was restored, and not everything that it lost is written again. */
  isRestoring: boolean;
}

const toCopy = ({ quota, used, reserved, granted, budget }: WalletRow): RowCopy => ({
  quota,
  used,
  legacy: reserved - granted,
  budget,
});

/** The first state of an object, made at `now`. What D1 has granted already was granted to storage that is lost. */
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

/** Takes over what D1 says. What is used only while nothing is owed: D1 may have taken a batch without our knowing, and it would count twice. */
export function takeOver(copy: RowCopy, row: WalletRow, takesUsed: boolean): void {
  const { used, ...others } = toCopy(row);
  Object.assign(copy, others, takesUsed && { used });
}

/** Takes over what D1 says of keys. True when one was not known: the state is stored with its first entry, because what D1 says later may include entries that are in the outbox too. */
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

/** The current windows of budgets, of the account and of each of the keys, that were not watched from their beginning. */
export function missingWindows(state: WalletState, keyIds: string[], now: number): { id: string; start: number }[] {
  const rows = [[state.accountId, state] as const, ...keyIds.map((id) => [id, state.keys[id]] as const)];
  return rows.flatMap(([id, row]) => {
    const start = row?.budget && windowStart(row.budget.window, now);
    return typeof start !== "number" || state.windows[id]?.start === start ? [] : [{ id, start }];
  });
}

/** Adds what D1 was told to be charged to the windows of the key and the account, if they are watched. */
export function addToWindows(state: WalletState, { keyId, charged, at }: SettledEntry): void {
  for (const id of [keyId, state.accountId]) {
    const window = state.windows[id];
    if (window && at >= window.start) window.charged += charged;
  }
}

export type QuotaChange = { quota: number | null } | { add: number };

/** A quota after its change; an unlimited one stays so when something is added. */
export const changed = (quota: number | null, change: QuotaChange): number | null =>
  "quota" in change ? change.quota : quota === null ? null : quota + change.add;
