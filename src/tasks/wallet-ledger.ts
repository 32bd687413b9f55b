/** A wallet object's side of D1: grants, batches of settled entries, quotas. One write at a time, each found out about when its answer is lost. */

import {
  fence,
  giveBack,
  grant,
  readRows,
  readSpentSince,
  setAccountQuota,
  setKeyQuota,
  writeEntries,
  type Written,
} from "../db/grants.ts";
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
  takeOver,
  type WalletState,
  type WalletStorage,
} from "./wallet-state.ts";

const retryMs = 10_000;
export const batchSize = 100;
/** How long an ended entry is known, so that a call that was under way meets it. */
const rememberMs = 120_000;
const maxAttempts = 5;

export class WalletLedger {
  state: WalletState | undefined;
  /** The state knows a key or an account that is not stored yet. */
  isStored: boolean;
  /** When the rows were last read. */
  readAt = 0;
  readonly #db: Env["DB"];
  readonly #accountId: () => string;
  readonly #book: WalletBook;
  readonly #storage: WalletStorage;
  #writes: Promise<unknown> = Promise.resolve();
  /** Batches that D1 took: what was read from it before one is out of date after it. */
  #flushes = 0;

  constructor(db: Env["DB"], accountId: () => string, book: WalletBook, storage: WalletStorage, state: WalletState | undefined) {
    this.#db = db;
    this.#accountId = accountId;
    this.#book = book;
    this.#storage = storage;
    this.state = state;
    this.isStored = state !== undefined;
  }

  /** The state. Throws when the rows were never read: a caller reads them before it holds or writes anything. */
  get loaded(): WalletState {
    if (!this.state) throw new Error("the wallet's rows were not read yet");
    return this.state;
  }

  /** What may still be held. */
  free(): number {
    if (!this.state) return 0;
    const { held, owed } = this.#book.sums();
    return this.state.granted - this.state.lost - held - owed;
  }

  /** One write to D1 at a time. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#writes.then(work);
    this.#writes = turn.catch(() => undefined); // the caller hears of the fault; the next in line has its own turn
    return turn;
  }

  /** What is known of D1, read once for the account and each of the keys, and once for each budget's window that was not watched from its beginning. */
  async load(keyIds: string[], now: number): Promise<WalletState | undefined> {
    const { state: known } = this;
    const state = known && keyIds.every((id) => known.keys[id]) ? known : await this.refresh(keyIds);
    if (!state) return undefined;
    for (const { id, start } of missingWindows(state, keyIds, now))
      // Waits for its turn among the writes and writes first what D1 lacks: otherwise an entry could count in D1 and here, or in neither.
      await this.inTurn(async () => {
        await this.flushAll();
        const charged = (await readSpentSince(this.#db, state.accountId, start)).get(id) ?? 0;
        // Another call may have read it before, and noted an alert.
        if (state.windows[id]?.start !== start) state.windows[id] = { start, charged };
      });
    return state;
  }

  /** Reads the rows again: what is used, reserved by D1's own ledger, and the quotas. What is granted is taken over from writes alone. */
  async refresh(keyIds: string[]): Promise<WalletState | undefined> {
    const [flushes, isExact] = [this.#flushes, this.#book.outboxSize === 0];
    const rows = await readRows(this.#db, [this.#accountId(), ...keyIds]);
    const account = rows.find(({ id }) => id === this.#accountId());
    if (!account) return undefined;
    this.readAt = Date.now();
    const takesUsed = isExact && flushes === this.#flushes;
    if (!this.state) this.state = newState(account, this.readAt);
    else if (this.state.revision === account.revision) takeOver(this.state, account, takesUsed);
    const others = rows.filter(({ id }) => id !== account.id);
    if (adoptKeys(this.state, others, takesUsed)) this.isStored = false;
    return this.state;
  }

  /** What the object knows of D1, with every earlier write either in effect or without effect for ever. */
  async certain(): Promise<WalletState | undefined> {
    const state = this.state ?? (await this.refresh([]));
    if (!state) return undefined;
    if (!this.isStored) this.#storage.save();
    const before = state.revision;
    const row = await fence(this.#db, state.accountId);
    if (!row) return undefined;
    if (row.revision <= before) await this.#restore();
    else this.#adopt({ isDone: true, row });
    return this.state;
  }

  /**
   * Has D1 grant what `amount` needs, and up to `block`. False when the quota has not that much left. Throws when D1 cannot tell;
   * what it may have granted is found with the next write.
   */
  async grant(amount: number, block: number): Promise<boolean> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const state = this.loaded;
      const missing = amount - this.free();
      if (missing <= 0) return true;
      if (!this.isStored) this.#storage.save();
      const written = await this.#unsureOnFault(() => grant(this.#db, state.accountId, state.revision, missing, Math.max(missing, block)));
      if (!written.row) return false;
      if (written.row.revision < state.revision) await this.#restore();
      else if (!written.isDone && written.row.revision === state.revision) return false;
      else this.#adopt(written);
    }
    throw new Error("the grant's revision changed again and again");
  }

  /** Gives this much back to D1: here first, so that it is never spent twice. */
  async giveBack(amount: number): Promise<void> {
    const state = this.loaded;
    this.#lower(state.granted - amount);
    this.#adopt(await this.#unsureOnFault(() => giveBack(this.#db, state.accountId, state.revision, amount)));
  }

  /** Writes what is owed, in batches. Throws when D1 cannot tell: the same entries are written again. */
  async flushAll(): Promise<void> {
    while (this.#book.outboxSize > 0) await this.flush();
  }

  /** Writes the oldest settled entries. */
  async flush(): Promise<void> {
    const state = this.loaded;
    if (state.isRestoring) return this.#restore();
    const { entries, to } = this.#book.batch(batchSize);
    if (entries.length === 0) return;
    const { isDone, account, keys } = await writeEntries(this.#db, state.accountId, state.revision, entries);
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

  /** Sets the account's quota, or adds to it. `below_use` when less than what is used and reserved would remain. */
  async changeAccountQuota(change: QuotaChange): Promise<"changed" | "below_use"> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const state = await this.certain();
      if (!state) throw new Error("the wallet does not exist");
      const quota = changed(state.quota, change);
      const { held, owed } = this.#book.sums();
      if (quota !== null && quota < state.used + state.legacy + held + owed) return "below_use";
      // Free grant is given up first, here and then there: nothing can be held on it meanwhile.
      const isTooMuch = quota !== null && quota < state.used + state.legacy + state.granted;
      const granted = isTooMuch ? Math.min(state.granted, held + owed + state.lost) : state.granted;
      if (granted < state.granted) this.#lower(granted);
      const written = await this.#unsureOnFault(() => setAccountQuota(this.#db, state.accountId, state.revision, quota, granted));
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
    // Here first: nothing is held above it while D1 is asked.
    const before = key.quota;
    if (quota !== null) key.quota = Math.min(quota, before ?? quota);
    try {
      const written = await setKeyQuota(this.#db, id, quota);
      key.quota = written ? quota : before;
      this.#storage.save();
      return written ? "changed" : "below_use";
    } catch (error) {
      await this.refresh([id]).catch(() => undefined); // the fault that matters is thrown below
      throw error;
    }
  }

  /** Takes over what D1 says after a write. At another revision than expected an earlier write had taken effect. */
  #adopt({ isDone, row }: Written): void {
    const state = this.loaded;
    if (!row || (!isDone && row.revision <= state.revision)) return;
    takeOver(state, row, this.#book.outboxSize === 0);
    Object.assign(state, { granted: row.granted, revision: row.revision, isUnsure: false });
    this.readAt = Date.now();
    this.#storage.save();
  }

  /** Spends no more than `granted` from here on, before D1 hears of it. */
  #lower(granted: number): void {
    Object.assign(this.loaded, { granted, isUnsure: true });
    this.#storage.save();
  }

  /** Makes a write. When it does not answer, its outcome is found out before anything is given back. */
  async #unsureOnFault<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      this.loaded.isUnsure = true;
      this.#storage.save(Date.now() + retryMs);
      throw error;
    }
  }

  /** D1 was restored: writes what it lost of the last two days again, then has it grant what the object holds. Repeats from the beginning after a fault. */
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
