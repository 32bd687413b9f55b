/** A wallet object's queries of D1: grants, batches of settled entries, quotas. One write at a time; if its answer is lost, the next write first finds out whether it took effect. */

import * as grants from "../db/grants.ts";
import { type Credit, toAct } from "../db/credits.ts";
import { alert } from "../base/log.ts";
import type { Actor } from "../db/audit-log.ts";
import { toUnits } from "../db/ledger.ts";
import { addToWindows, missingWindows, ownerOf } from "./limits.ts";
import { dropHistory, writeAgain } from "./restore.ts";
import {
  adoptKeys,
  changed,
  newState,
  type QuotaChange,
  rememberMs,
  type RowCopy,
  seenQuota,
  takeOver,
  type WalletState,
  type WalletStore,
} from "./state.ts";

const minuteMs = 60_000;
const retryMs = 10_000;
export const batchSize = 100;
const maxAttempts = 5;
/** An unused grant is returned after this time. */
export const idleMs = 60_000;
/** An account that is used again so soon has come back, and then keeps an unused grant for this time. */
const againMs = 600_000;
/** It is granted this many times what it holds first. */
const timesAgain = 10;

export class WalletLedger {
  /** When the rows were last read. */
  readAt = 0;
  /** The millionths held since the last grant, and when that was. */
  #demand = { amount: 0, since: 0 };
  readonly #db: Env["DB"];
  readonly #store: WalletStore;
  readonly #accountId: () => string;
  #writes: Promise<unknown> = Promise.resolve();
  /** The key whose quota is being lowered, and the new one. */
  #lowered: { key: RowCopy; quota: number } | undefined;

  constructor(db: Env["DB"], store: WalletStore, accountId: () => string) {
    this.#db = db;
    this.#store = store;
    this.#accountId = accountId;
  }

  /** Runs one write to D1 at a time. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#writes.then(work);
    this.#writes = turn.catch(() => undefined); // the caller gets this error; the next write runs regardless
    return turn;
  }

  /** The state, with the rows of the account and of each of the keys, and the charges of each budget's window. Each is read once; a window is only read if the object has not counted it from its beginning. */
  async load(keyIds: string[], now: number): Promise<WalletState | undefined> {
    const { state: known } = this.#store;
    const state = known && keyIds.every((id) => known.keys[id]) ? known : await this.refresh(keyIds);
    if (!state) return undefined;
    const owners = keyIds.flatMap((id) => ownerOf(state, id) ?? []).filter((id) => !state.keys[id]);
    if (owners.length > 0) await this.refresh(owners);
    // A member who has just left has no row: the key is refused at its next look-up.
    for (const id of owners) state.keys[id] ??= { quota: null, used: 0, budget: null };
    for (const { id, start } of missingWindows(state, keyIds, now))
      // Runs as a write, and first writes all settled entries: otherwise an entry could count both in D1 and here, or in neither.
      await this.inTurn(async () => {
        // A parallel call may have read the window, and noted an alert.
        if (state.windows[id]?.start === start) return;
        await this.flushAll();
        const charged = (await grants.readSpentSince(this.#db, state.accountId, start)).get(id) ?? 0;
        state.windows[id] = { start, charged };
      });
    return state;
  }

  /** Takes over rows that were just read, if the object never had any: nothing was ever held or settled here, so nothing can have changed them since. */
  learn(rows: grants.WalletRow[]): void {
    const account = rows.find(({ id }) => id === this.#accountId());
    if (this.#store.state || !account) return;
    this.readAt = Date.now();
    this.#store.state = newState(account, this.readAt);
    adoptKeys(
      this.#store.state,
      rows.filter(({ id }) => id !== account.id),
      true,
    );
  }

  /** Reads the used amounts and the quotas again. Only writes update the granted amount. */
  async refresh(keyIds: string[]): Promise<WalletState | undefined> {
    const rows = await grants.readRows(this.#db, [this.#accountId(), ...keyIds]);
    const account = rows.find(({ id }) => id === this.#accountId());
    if (!account) return undefined;
    this.readAt = Date.now();
    const isCurrent = this.#store.state?.revision === account.revision;
    // Every charge raises the revision. An entry of the outbox may be in D1 all the same: its write took effect, and the answer was lost.
    const takesUsed = isCurrent && this.#store.book.outboxSize === 0;
    if (!this.#store.state) this.#store.state = newState(account, this.readAt);
    else if (isCurrent) takeOver(this.#store.state, account, takesUsed);
    const others = rows.filter(({ id }) => id !== account.id);
    if (adoptKeys(this.#store.state, others, takesUsed)) this.#store.isStored = false;
    if (this.#lowered) this.#lowered.key.quota = this.#lowered.quota;
    return this.#store.state;
  }

  /** The state, after every earlier write has either taken effect or can never take effect. */
  async certain(): Promise<WalletState | undefined> {
    const state = this.#store.state ?? (await this.refresh([]));
    if (!state) return undefined;
    if (!this.#store.isStored) this.#store.save();
    const before = state.revision;
    const row = await grants.fence(this.#db, state.accountId);
    if (!row) return undefined;
    if (row.revision <= before) await this.#restore();
    else this.#adopt({ isDone: true, row });
    return this.#store.state;
  }

  /**
   * Requests a grant of the missing part of `amount`, and up to the recent demand, or to what an account that comes back will need. False
   * if the remaining quota is too small. Throws if the outcome is unknown; the next write finds out how much was granted.
   */
  async grant(amount: number): Promise<boolean> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const state = this.#store.loaded;
      const missing = amount - this.#store.free();
      if (missing <= 0) return true;
      if (!this.#store.isStored) this.#store.save();
      const now = Date.now();
      const again = this.#hasComeBack(now) ? timesAgain * amount : 0;
      const ms = now - this.#demand.since;
      // Twice the demand since the last grant, until one lasts for a minute.
      const wanted = Math.max(missing, again, ms < minuteMs ? 2 * this.#demand.amount : ms < 2 * minuteMs ? this.#demand.amount : 0);
      this.#demand = { amount: 0, since: now };
      const written = await this.#unsureOnFault(() => grants.grant(this.#db, state.accountId, state.revision, missing, wanted));
      if (!written.row) return false;
      if (written.row.revision < state.revision) await this.#restore();
      else if (!written.isDone && written.row.revision === state.revision) return false;
      else this.#adopt(written);
    }
    throw new Error(`no grant: the wallet's revision in D1 changed in ${maxAttempts} attempts`);
  }

  /** Counts a hold of this many millionths. */
  noteHold(amount: number): void {
    this.#demand.amount += amount;
  }

  /** When an unused grant is returned, in milliseconds. */
  get idleAt(): number {
    const { usedAt } = this.#store.book;
    return usedAt + (this.#hasComeBack(usedAt) ? againMs : idleMs);
  }

  /** True if the account was used at `usedAt` (milliseconds) soon after the last use before: it will probably be used so again. */
  #hasComeBack(usedAt: number): boolean {
    return usedAt - (this.#store.state?.returnedAt ?? 0) < againMs;
  }

  /** Returns the unused grant to D1. */
  async giveBackUnused(): Promise<void> {
    this.#store.loaded.returnedAt = this.#store.book.usedAt;
    await this.giveBack(this.#store.unused());
  }

  /** Returns this amount to D1. Reduces the grant here first, so that the amount is never spent twice. */
  async giveBack(amount: number): Promise<void> {
    const state = this.#store.loaded;
    this.#lower(state.granted - amount);
    this.#adopt(await this.#unsureOnFault(() => grants.giveBack(this.#db, state.accountId, state.revision, amount)));
  }

  /**
   * Writes the entries that are settled by now, in batches. Not those that are settled meanwhile: in a busy account this would never end.
   * Throws if the outcome is unknown: the same entries are written again.
   * `returnsUnused`: an account that had one chat after a long time returns its unused grant with the entry, which saves a call of D1 and a
   * start of this object some minutes later: what that chat has not spent would not suffice for the next one.
   */
  async flushAll(returnsUnused = false): Promise<void> {
    const to = this.#store.book.settledTo;
    const back = returnsUnused && this.#store.book.outboxSize === 1 ? this.#lowerUnused() : 0;
    for (let rest = back; this.#store.book.outboxSize > 0 && this.#store.loaded.flushedTo < to; rest = 0) await this.flush(rest, to);
  }

  /** Gives up the grant that an account without open holds does not need any more, and returns it, in millionths. 0 if the account has come back lately. */
  #lowerUnused(): number {
    const { book, loaded: state } = this.#store;
    const unused = this.#store.unused();
    if (unused <= 0 || book.sums().held > 0 || state.isUnsure || state.isRestoring || this.#hasComeBack(book.usedAt)) return 0;
    this.#lower(state.granted - unused);
    return unused;
  }

  /** Writes the oldest settled entries, up to that number, and returns `back` of the grant, which was given up here. */
  async flush(back = 0, upTo?: number): Promise<void> {
    const state = this.#store.loaded;
    if (state.isRestoring) return this.#restore();
    const { entries, to } = this.#store.book.batch(batchSize, upTo);
    if (entries.length === 0) return;
    const { account, keys } = await grants.writeEntries(this.#db, state.accountId, state.revision, entries, { back });
    if (!account) return this.#restore();
    for (const entry of entries) addToWindows(state, entry);
    this.#store.book.flushed(to);
    state.used = account.used;
    state.flushedTo = to;
    // An account that has come back stays one while it is used.
    const { usedAt } = this.#store.book;
    if (back > 0 || this.#hasComeBack(usedAt)) state.returnedAt = usedAt;
    this.#store.book.forget(Date.now() - rememberMs);
    state.firstPage = this.#store.book.firstPage;
    if (adoptKeys(state, keys, true)) this.#store.isStored = false;
    dropHistory(state, this.#store);
    this.#adopt({ isDone: true, row: account });
  }

  /** Sets the account's quota, or adds to it. `below_use` if it would be below the used and reserved amounts, unless it only covers debt. */
  async changeAccountQuota(change: QuotaChange, by: Actor): Promise<"changed" | "below_use"> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const state = await this.certain();
      if (!state) throw new Error("the wallet does not exist");
      const quota = changed(seenQuota(state), change);
      const { held, owed } = this.#store.book.sums();
      const coversDebt = "add" in change && change.add > 0;
      if (quota !== null && quota < state.used + held + owed && !coversDebt) return "below_use";
      const log = this.#log(state.accountId, by, seenQuota(state), quota);
      const row = this.#lowerTo(quota);
      const written = await this.#unsureOnFault(() => grants.setAccountQuota(this.#db, state.accountId, state.revision, row, log));
      this.#adopt(written);
      if (written.isDone) return "changed";
    }
    throw new Error("the quota could not be changed");
  }

  /** Moves the account's quota by a credit or debit that this object does not have. "known": the database has it. Throws if the outcome is unknown. */
  async credit(credit: Credit, by: Actor): Promise<"credited" | "known"> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const state = await this.certain();
      if (!state) throw new Error("the wallet does not exist");
      const row = this.#lowerTo(changed(seenQuota(state), { add: credit.amount }));
      const log = { accountId: state.accountId, by, act: toAct(credit) };
      const written = await this.#unsureOnFault(() => grants.writeCredit(this.#db, state.accountId, state.revision, row, credit, log));
      this.#adopt(written);
      if (!written.isKnown) continue;
      if (!written.isDone) await this.certain(); // an earlier write moved the quota: takes over what was granted above
      this.#store.keepCredit(credit);
      return written.isDone ? "credited" : "known";
    }
    throw new Error("the quota could not be changed");
  }

  /** The account's row for a quota that callers see. Gives up the unused grant first, here and then in D1, if the quota has no room for it, so that nothing can be held on it meanwhile. */
  #lowerTo(quota: number | null): grants.QuotaRow {
    const state = this.#store.loaded;
    const { held, owed } = this.#store.book.sums();
    const isTooMuch = quota !== null && quota < state.used + state.granted;
    const granted = isTooMuch ? Math.min(state.granted, held + owed + state.lost) : state.granted;
    if (granted < state.granted) this.#lower(granted);
    if (quota === null) return { quota, debt: 0, granted };
    const stored = Math.max(quota, state.used + granted);
    return { quota: stored, debt: stored - quota, granted };
  }

  #log(target: string, by: Actor, before: number | null, after: number | null): grants.LimitLog {
    const units = (quota: number | null) => ({ quota: quota === null ? null : toUnits(quota) });
    return { accountId: this.#accountId(), by, act: { act: "quota_changed", target, before: units(before), after: units(after) } };
  }

  /** The same for a key. */
  async changeKeyQuota(id: string, change: QuotaChange, by: Actor): Promise<"changed" | "below_use"> {
    await this.certain();
    const state = await this.refresh([id]);
    const key = state?.keys[id];
    if (!key) throw new Error("the wallet does not exist");
    const quota = changed(key.quota, change);
    const { held, owed } = this.#store.book.sums(id);
    if (quota !== null && quota < key.used + held + owed) return "below_use";
    // Set here first: nothing is held above the quota while D1 is called.
    const before = key.quota;
    if (quota !== null) this.#lowered = { key, quota: (key.quota = Math.min(quota, before ?? quota)) };
    try {
      const written = await grants
        .setKeyQuota(this.#db, id, quota, state.revision, this.#log(id, by, before, quota))
        .finally(() => (this.#lowered = undefined));
      key.quota = written ? quota : before;
      this.#store.save();
      return written ? "changed" : "below_use";
    } catch (error) {
      await this.refresh([id]).catch(() => undefined); // the original error is thrown below
      throw error;
    }
  }

  /** Updates the state from D1's answer to a write. Another revision than expected means that an earlier write had taken effect. */
  #adopt({ isDone, row }: grants.Written): void {
    const state = this.#store.loaded;
    if (!row || (!isDone && row.revision <= state.revision)) return;
    takeOver(state, row, this.#store.book.outboxSize === 0);
    Object.assign(state, { granted: row.granted, revision: row.revision, isUnsure: false });
    this.readAt = Date.now();
    this.#store.save();
  }

  /** Limits spending to `granted` from now on, before D1 is called. */
  #lower(granted: number): void {
    Object.assign(this.#store.loaded, { granted, isUnsure: true });
    this.#store.save();
  }

  /** Makes a write. If it does not answer, an alarm finds out its outcome before any grant is returned. */
  async #unsureOnFault<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      this.#store.loaded.isUnsure = true;
      this.#store.save(Date.now() + retryMs);
      throw error;
    }
  }

  /** D1 was restored: writes its lost entries of the last two days again, then requests a grant for the held amounts. Continues after a fault. */
  async #restore(): Promise<void> {
    const state = this.#store.loaded;
    alert("settle", { account: state.accountId, outcome: "database_restored" });
    state.isRestoring = true;
    this.#store.save(Date.now() + retryMs);
    const row = await writeAgain(this.#db, this.#store);
    state.isRestoring = false;
    this.#adopt({ isDone: true, row });
  }
}
