/** A wallet object's queries of D1: grants, batches of settled entries, quotas. One write at a time; if its answer is lost, the next write first finds out whether it took effect. */

import * as grants from "../db/grants.ts";
import { alert } from "../log.ts";
import type { WalletBook } from "./wallet-book.ts";
import { dropHistory, writeAgain } from "./wallet-restore.ts";
import {
  addToWindows,
  adoptKeys,
  changed,
  missingWindows,
  newState,
  type QuotaChange,
  type RowCopy,
  takeOver,
  type WalletState,
  type WalletStorage,
} from "./wallet-state.ts";

const retryMs = 10_000;
export const batchSize = 100;
/** How long a settled entry stays in memory, so that a call that was already running finds it. */
export const rememberMs = 120_000;
const maxAttempts = 5;

export class WalletLedger {
  state: WalletState | undefined;
  /** False if the state contains a key or an account that is not stored yet. */
  isStored: boolean;
  /** When the rows were last read. */
  readAt = 0;
  readonly #db: Env["DB"];
  readonly #accountId: () => string;
  readonly #book: WalletBook;
  readonly #storage: WalletStorage;
  #writes: Promise<unknown> = Promise.resolve();
  /** The number of written batches: a value that was read from D1 before a batch is out of date after it. */
  #flushes = 0;
  /** The key whose quota is being lowered, and the new one. */
  #lowered: { key: RowCopy; quota: number } | undefined;

  constructor(db: Env["DB"], accountId: () => string, book: WalletBook, storage: WalletStorage, state: WalletState | undefined) {
    this.#db = db;
    this.#accountId = accountId;
    this.#book = book;
    this.#storage = storage;
    this.state = state;
    this.isStored = state !== undefined;
  }

  /** The state. Throws if the rows were never read: callers read them before they hold or write anything. */
  get loaded(): WalletState {
    if (!this.state) throw new Error("the wallet's rows were not read yet");
    return this.state;
  }

  /** The millionths that may still be held. */
  free(): number {
    if (!this.state) return 0;
    const { held, owed } = this.#book.sums();
    return this.state.granted - this.state.lost - held - owed;
  }

  /** Runs one write to D1 at a time. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#writes.then(work);
    this.#writes = turn.catch(() => undefined); // the caller gets this error; the next write runs regardless
    return turn;
  }

  /** The state, with the rows of the account and of each of the keys, and the charges of each budget's window. Each is read once; a window is only read if the object has not counted it from its beginning. */
  async load(keyIds: string[], now: number): Promise<WalletState | undefined> {
    const { state: known } = this;
    const state = known && keyIds.every((id) => known.keys[id]) ? known : await this.refresh(keyIds);
    if (!state) return undefined;
    for (const { id, start } of missingWindows(state, keyIds, now))
      // Runs as a write, and first writes all settled entries: otherwise an entry could count both in D1 and here, or in neither.
      await this.inTurn(async () => {
        await this.flushAll();
        const charged = (await grants.readSpentSince(this.#db, state.accountId, start)).get(id) ?? 0;
        // A parallel call may have read the window, and noted an alert.
        if (state.windows[id]?.start !== start) state.windows[id] = { start, charged };
      });
    return state;
  }

  /** Reads the used amounts, the reservations in D1's own ledger and the quotas again. Only writes update the granted amount. */
  async refresh(keyIds: string[]): Promise<WalletState | undefined> {
    const [flushes, isExact] = [this.#flushes, this.#book.outboxSize === 0];
    const rows = await grants.readRows(this.#db, [this.#accountId(), ...keyIds]);
    const account = rows.find(({ id }) => id === this.#accountId());
    if (!account) return undefined;
    this.readAt = Date.now();
    const isCurrent = this.state?.revision === account.revision;
    // D1 may already have an entry that has ended meanwhile, or lack some because it was restored.
    const takesUsed = isCurrent && isExact && flushes === this.#flushes && this.#book.outboxSize === 0;
    if (!this.state) this.state = newState(account, this.readAt);
    else if (isCurrent) takeOver(this.state, account, takesUsed);
    const others = rows.filter(({ id }) => id !== account.id);
    if (adoptKeys(this.state, others, takesUsed)) this.isStored = false;
    if (this.#lowered) this.#lowered.key.quota = this.#lowered.quota;
    return this.state;
  }

  /** The state, after every earlier write has either taken effect or can never take effect. */
  async certain(): Promise<WalletState | undefined> {
    const state = this.state ?? (await this.refresh([]));
    if (!state) return undefined;
    if (!this.isStored) this.#storage.save();
    const before = state.revision;
    const row = await grants.fence(this.#db, state.accountId);
    if (!row) return undefined;
    if (row.revision <= before) await this.#restore();
    else this.#adopt({ isDone: true, row });
    return this.state;
  }

  /**
   * Requests a grant of the missing part of `amount`, and up to `block`. False if the remaining quota is too small. Throws if the outcome
   * is unknown; the next write finds out how much was granted.
   */
  async grant(amount: number, block: number): Promise<boolean> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const state = this.loaded;
      const missing = amount - this.free();
      if (missing <= 0) return true;
      if (!this.isStored) this.#storage.save();
      const wanted = Math.max(missing, block);
      const written = await this.#unsureOnFault(() => grants.grant(this.#db, state.accountId, state.revision, missing, wanted));
      if (!written.row) return false;
      if (written.row.revision < state.revision) await this.#restore();
      else if (!written.isDone && written.row.revision === state.revision) return false;
      else this.#adopt(written);
    }
    throw new Error("the grant's revision changed again and again");
  }

  /** Returns this amount to D1. Reduces the grant here first, so that the amount is never spent twice. */
  async giveBack(amount: number): Promise<void> {
    const state = this.loaded;
    this.#lower(state.granted - amount);
    this.#adopt(await this.#unsureOnFault(() => grants.giveBack(this.#db, state.accountId, state.revision, amount)));
  }

  /**
   * Writes the entries that are settled by now, in batches. Not those that are settled meanwhile: in a busy account this would never end.
   * Throws if the outcome is unknown: the same entries are written again.
   */
  async flushAll(): Promise<void> {
    const to = this.#book.settledTo;
    while (this.#book.outboxSize > 0 && this.loaded.flushedTo < to) await this.flush();
  }

  /** Writes the oldest settled entries. */
  async flush(): Promise<void> {
    const state = this.loaded;
    if (state.isRestoring) return this.#restore();
    const { entries, to } = this.#book.batch(batchSize);
    if (entries.length === 0) return;
    const { isDone, account, keys } = await grants.writeEntries(this.#db, state.accountId, state.revision, entries);
    if (!isDone || !account) return this.#restore();
    for (const entry of entries) addToWindows(state, entry);
    this.#book.flushed(to);
    this.#flushes++;
    state.used = account.used;
    state.flushedTo = to;
    state.firstPage = this.#book.forget(Date.now() - rememberMs);
    if (adoptKeys(state, keys, true)) this.isStored = false;
    dropHistory(state, this.#storage);
    this.#adopt({ isDone, row: account });
  }

  /** Sets the account's quota, or adds to it. `below_use` if it would be below the used and reserved amounts. */
  async changeAccountQuota(change: QuotaChange): Promise<"changed" | "below_use"> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const state = await this.certain();
      if (!state) throw new Error("the wallet does not exist");
      const quota = changed(state.quota, change);
      const { held, owed } = this.#book.sums();
      if (quota !== null && quota < state.used + state.legacy + held + owed) return "below_use";
      // The unused grant is given up first, here and then in D1, so that nothing can be held on it meanwhile.
      const isTooMuch = quota !== null && quota < state.used + state.legacy + state.granted;
      const granted = isTooMuch ? Math.min(state.granted, held + owed + state.lost) : state.granted;
      if (granted < state.granted) this.#lower(granted);
      const written = await this.#unsureOnFault(() => grants.setAccountQuota(this.#db, state.accountId, state.revision, quota, granted));
      this.#adopt(written);
      if (written.isDone) return "changed";
    }
    throw new Error("the quota could not be changed");
  }

  /** The same for a key. */
  async changeKeyQuota(id: string, change: QuotaChange): Promise<"changed" | "below_use"> {
    const key = (await this.refresh([id]))?.keys[id];
    if (!key) throw new Error("the wallet does not exist");
    const quota = changed(key.quota, change);
    const { held, owed } = this.#book.sums(id);
    if (quota !== null && quota < key.used + key.legacy + held + owed) return "below_use";
    // Set here first: nothing is held above the quota while D1 is called.
    const before = key.quota;
    if (quota !== null) this.#lowered = { key, quota: (key.quota = Math.min(quota, before ?? quota)) };
    try {
      const written = await grants.setKeyQuota(this.#db, id, quota).finally(() => (this.#lowered = undefined));
      key.quota = written ? quota : before;
      this.#storage.save();
      return written ? "changed" : "below_use";
    } catch (error) {
      await this.refresh([id]).catch(() => undefined); // the original error is thrown below
      throw error;
    }
  }

  /** Updates the state from D1's answer to a write. Another revision than expected means that an earlier write had taken effect. */
  #adopt({ isDone, row }: grants.Written): void {
    const state = this.loaded;
    if (!row || (!isDone && row.revision <= state.revision)) return;
    takeOver(state, row, this.#book.outboxSize === 0);
    Object.assign(state, { granted: row.granted, revision: row.revision, isUnsure: false });
    this.readAt = Date.now();
    this.#storage.save();
  }

  /** Limits spending to `granted` from now on, before D1 is called. */
  #lower(granted: number): void {
    Object.assign(this.loaded, { granted, isUnsure: true });
    this.#storage.save();
  }

  /** Makes a write. If it does not answer, an alarm finds out its outcome before any grant is returned. */
  async #unsureOnFault<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      this.loaded.isUnsure = true;
      this.#storage.save(Date.now() + retryMs);
      throw error;
    }
  }

  /** D1 was restored: writes its lost entries of the last two days again, then requests a grant for the held amounts. Continues after a fault. */
  async #restore(): Promise<void> {
    const state = this.loaded;
    alert("settle", { account: state.accountId, outcome: "database_restored" });
    state.isRestoring = true;
    this.#storage.save(Date.now() + retryMs);
    const row = await writeAgain(this.#db, state, this.#book, this.#storage);
    state.isRestoring = false;
    this.#adopt({ isDone: true, row });
  }
}
