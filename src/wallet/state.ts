/** What a wallet object stores: its copy of D1's rows, the pages of its book, and the time of its alarm. */

import type { Credit } from "../db/credits.ts";
import type { Budget, WalletRow } from "../db/grants.ts";
import type { BudgetAlert } from "./alerts.ts";
import { type Page, WalletBook } from "./book.ts";

/** How long a settled entry stays in memory, so that a call that was already running finds it. */
export const rememberMs = 120_000;
/** An account has at most two hundred keys at a time, rotated ones included. */
const maxKeys = 400;

/** The object's copy of a row in D1. */
export interface RowCopy {
  quota: number | null;
  used: number;
  /** What was taken beyond the quota; missing in storage of earlier versions, and 0 for keys. */
  debt?: number;
  budget: Budget | null;
  /** Keys: the membership of the owner, whose row is among the keys too; null or missing if the key belongs to the account. */
  owner?: string | null;
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
  /** When the loss was found; the lost grant is returned a day later. */
  lostAt: number;
  /** The rows of keys, and of members with their budgets. */
  keys: Record<string, RowCopy>;
  /** The charges written to D1 in each budget's window, by account or key. */
  windows: Record<string, Window>;
  /** Budget alerts that the queue does not have yet. */
  alerts: BudgetAlert[];
  /** The number of the last settlement that D1 has. */
  flushedTo: number;
  /** The oldest page that is loaded when the object starts, and the oldest that is stored. */
  firstPage: number;
  oldestPage: number;
  /** The last use before an unused grant was returned, or the last written one of an account that has come back, in milliseconds; 0 without one. */
  returnedAt: number;
  /** True if a write may have taken effect although it did not answer: D1 may have granted more than `granted`. */
  isUnsure: boolean;
  /** True if D1 was restored and not all of its lost entries are written again yet. */
  isRestoring: boolean;
  /** The page that is written again next, and D1's revision before that; missing before the first one. */
  restored?: { page: number; revision: number } | undefined;
}

const toCopy = ({ quota, used, debt, budget, owner }: WalletRow): RowCopy => ({
  quota,
  used,
  debt,
  budget,
  ...(owner !== undefined && { owner }),
});

/** The quota that callers see; null is unlimited. */
export const seenQuota = ({ quota, debt = 0 }: Pick<RowCopy, "quota" | "debt">): number | null => (quota === null ? null : quota - debt);

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
  alerts: [],
  flushedTo: 0,
  firstPage: 0,
  oldestPage: 1,
  returnedAt: 0,
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

export type QuotaChange = { quota: number | null } | { add: number };

/** The changed quota; adding to an unlimited quota leaves it unlimited. */
export const changed = (quota: number | null, change: QuotaChange): number | null =>
  "quota" in change ? change.quota : quota === null ? null : quota + change.add;

const creditKey = (id: string) => `credit/${id}`;
const pageKey = (seq: number) => `page/${String(seq).padStart(12, "0")}`;

/** The stored state, and its book. Writes without an `await` between them are one transaction. */
export class WalletStore {
  readonly book = new WalletBook();
  /** undefined until the rows are read for the first time. */
  state: WalletState | undefined;
  /** False if the state has a change that is stored together with the next page. */
  isStored: boolean;
  readonly #storage: DurableObjectStorage;
  readonly #nextAlarm: () => number;
  /** The time of the set alarm, Infinity without one; undefined if it is not known. */
  #alarmAt: number | undefined;
  /** The changed pages of the running `together`. */
  #changed: Set<Page> | undefined;

  /** Loads what is stored. `nextAlarm` computes when the alarm is due, for an alarm that was set before this object started. */
  constructor(storage: DurableObjectStorage, nextAlarm: () => number) {
    this.#storage = storage;
    this.#nextAlarm = nextAlarm;
    const state = (this.state = storage.kv.get<WalletState>("wallet"));
    this.isStored = state !== undefined;
    if (!state) return;
    for (const [, page] of storage.kv.list<Page>({ start: pageKey(state.firstPage), end: "page0" })) {
      this.book.load(page, state.flushedTo);
      // One old hold, as of a long chat, is reason to read every later page.
      this.book.forget(Date.now() - rememberMs);
    }
    // Deleted keys stay in the state, which must fit into one value. Those in use are read again.
    if (Object.keys(state.keys).length > maxKeys) this.#forgetKeys(state);
  }

  /**
   * Forgets keys without an open hold or unwritten entry: a member's budget counts those of all of the member's keys, and what D1 says of the
   * key may include the entry.
   */
  #forgetKeys(state: WalletState): void {
    const used = new Set(this.book.unwritten().map(({ keyId }) => keyId));
    const keys = Object.fromEntries(Object.entries(state.keys).filter(([id]) => used.has(id)));
    Object.assign(state, { keys, windows: {} });
  }

  /** The state. Throws if the rows were never read: callers read them before they hold or write anything. */
  get loaded(): WalletState {
    if (!this.state) throw new Error("the wallet's rows were not read yet");
    return this.state;
  }

  /** The millionths of the grant that nothing needs. */
  unused(): number {
    const { held, owed } = this.book.sums();
    return this.state ? this.state.granted - this.state.lost - held - owed : 0;
  }

  /** The millionths of them that may still be held: what a hold did not need first covers the debt. Below 0 while the account owes: then not even work without a price is held. */
  free(): number {
    const { state } = this;
    const unused = this.unused();
    const quota = state?.debt ? seenQuota(state) : null;
    return !state || quota === null ? unused : Math.min(unused, quota - state.used - state.granted + unused);
  }

  /** Stores the state; the alarm fires at `wakeAt` (milliseconds) at the latest. */
  save(wakeAt = Infinity): void {
    this.#storage.kv.put("wallet", this.state);
    this.isStored = this.state !== undefined;
    this.arm(wakeAt);
  }

  /** Stores a changed page, with a changed state; undefined is no change. The alarm fires at `wakeAt` (milliseconds) at the latest. */
  put(page: Page | undefined, wakeAt = Infinity): void {
    if (!page) return;
    if (this.#changed) this.#changed.add(page);
    else this.#storage.kv.put(pageKey(page.seq), page);
    if (this.isStored) this.arm(wakeAt);
    else this.save(wakeAt);
  }

  /** Stores each page that `work` changes once, at its end. */
  together<T>(work: () => T): T {
    const changed = (this.#changed = new Set());
    try {
      return work();
    } finally {
      this.#changed = undefined;
      for (const page of changed) this.put(page);
    }
  }

  /** A stored page; undefined if no page has this number. */
  page = (seq: number): Page | undefined => this.#storage.kv.get<Page>(pageKey(seq));
  drop = (seq: number): void => void this.#storage.kv.delete(pageKey(seq));

  /** Stores that the credit has moved the quota, together with the state after it. */
  keepCredit(credit: Credit): void {
    this.#storage.kv.put(creditKey(credit.id), credit);
    this.save();
  }

  hasCredit = (id: string): boolean => this.#storage.kv.get(creditKey(id)) !== undefined;
  /** All credits that have moved the quota: a restored database may lack some. */
  credits = (): Credit[] => [...this.#storage.kv.list<Credit>({ prefix: creditKey("") })].map(([, credit]) => credit);

  /** Sets the alarm to `at` (milliseconds), unless it is set to an earlier time. */
  arm(at: number): void {
    if (at === Infinity || (this.#alarmAt !== undefined && this.#alarmAt <= at && this.#alarmAt > Date.now())) return;
    // Replaces an alarm that is due but late, or that was set before this object started: neither is postponed.
    this.#alarmAt = Math.max(Math.min(at, this.#alarmAt ?? this.#nextAlarm()), Date.now() + 1);
    void this.#storage.setAlarm(this.#alarmAt);
  }

  /** The alarm runs: none is set any more. */
  disarm(): void {
    this.#alarmAt = Infinity;
  }
}
