/** The wallet object: one per account, named by the account's id. Holds money for tasks and chats out of what D1 granted it, and tells D1 in batches what they cost. */

import { DurableObject } from "cloudflare:workers";
import {
  beginRestore,
  type Budget,
  endRestore,
  fence,
  giveBack,
  grant,
  readRows,
  readSpentSince,
  setAccountQuota,
  setBudget,
  setKeyQuota,
  type WalletRow,
  writeEntries,
  type Written,
} from "../db/grants.ts";
import type { WalletSums } from "../db/audit.ts";
import type { Balance, Charge } from "../db/ledger.ts";
import { alert } from "../log.ts";
import { type Page, toSettled, WalletBook, type WalletEntry } from "./wallet-book.ts";
import { windowEnd, windowStart } from "./budget-window.ts";

/** A hold that exists, or why there is none. `closed`: the task was settled before. `budget`: until the window's end, milliseconds. */
export interface ReserveAnswer {
  answer: "reserved" | "insufficient" | "too_many" | "closed" | "budget" | "unavailable";
  until?: number;
}

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
  budget: (Budget & { spent: number; until: number }) | null;
  openTasks: number;
}

/** What the object knows of a row in D1. */
interface RowCopy {
  quota: number | null;
  used: number;
  /** Held in D1's own ledger, from before there were wallet objects: tasks and chats of then settle there. */
  legacy: number;
  budget: Budget | null;
}

interface Copy extends RowCopy {
  /** The object's name, which the platform does not tell an object that an alarm wakes. */
  accountId: string;
  /** Of the D1 row as the object last wrote it. */
  revision: number;
  /** What the object may spend; never more than D1 has granted. */
  granted: number;
  /** Granted before the object had any storage of its own: it was lost, and an operator's reconcile gives it back. */
  lost: number;
  keys: Record<string, RowCopy>;
  /** What D1 was told to be charged in a budget's window, by account or key. */
  windows: Record<string, { start: number; charged: number }>;
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

const flushMs = 5_000;
const retryMs = 10_000;
const batchSize = 100;
/** A grant that is not used goes back after this. */
const idleMs = 60_000;
/** How long an ended entry is known, so that a call that was under way meets it. */
const rememberMs = 120_000;
/** Settled entries are kept for a database that is restored. */
const historyMs = 48 * 3_600_000;
const staleMs = 5_000;

const pageKey = (seq: number) => `page/${String(seq).padStart(12, "0")}`;

export class WalletObject extends DurableObject<Env> {
  readonly #book = new WalletBook();
  #copy: Copy | undefined;
  #isStored = false;
  /** When the platform will wake us; undefined when we do not know. */
  #alarmAt: number | undefined;
  #writes: Promise<unknown> = Promise.resolve();
  /** What was reserved lately, for the size of grants. */
  #recent: { at: number; amount: number }[] = [];
  #readAt = 0;
  /** Batches that D1 took: what was read from it before one is out of date after it. */
  #flushes = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#copy = ctx.storage.kv.get<Copy>("wallet");
    this.#isStored = this.#copy !== undefined;
    if (!this.#copy) return;
    const { firstPage, flushedTo } = this.#copy;
    for (const [, page] of ctx.storage.kv.list<Page>({ start: pageKey(firstPage), end: "page0" })) this.#book.load(page, flushedTo);
  }

  get #accountId(): string {
    return this.ctx.id.name ?? this.#copy!.accountId;
  }

  /** Holds `amount` (millionths) for a task or chat. A repeat answers the same. Asks D1 only when what it granted does not suffice. */
  async reserve(charge: Charge, amount: number, rules: ReserveRules): Promise<ReserveAnswer> {
    const { taskId, keyId, kind, model } = charge;
    try {
      for (let attempt = 0; attempt < 5; attempt++) {
        const known = this.#book.get(taskId);
        if (known) return { answer: known.end ? "closed" : "reserved" };
        const now = Date.now();
        const copy = await this.#loaded([keyId], now);
        const key = copy?.keys[keyId];
        if (!copy || !key) return { answer: "insufficient" };
        if (this.#book.get(taskId)) continue;
        const refusal = this.#refusal(copy, key, charge, amount, rules, now);
        if (refusal?.answer === "insufficient" && now - this.#readAt > staleMs) {
          await this.#refresh([keyId]);
          continue;
        }
        if (refusal) return refusal;
        if (this.#free(copy) >= amount) {
          const hold: WalletEntry = { taskId, keyId, kind, model, held: amount, at: now };
          if (rules.deadline !== undefined) hold.deadline = rules.deadline;
          this.#recent.push({ at: now, amount });
          this.#store(this.#book.add(hold), Math.min(now + idleMs, rules.deadline ?? Infinity));
          return { answer: "reserved" };
        }
        if (!(await this.#inTurn(() => this.#grant(amount)))) return { answer: "insufficient" };
      }
    } catch (error) {
      alert("reserve", { task: taskId, account: this.#accountId, outcome: "unavailable" }, error);
    }
    return { answer: "unavailable" };
  }

  /** Ends a hold: `charged` (millionths, never more than was held) is owed to D1, the rest is free again. The first call decides; a task that is not known can hold nothing any more. */
  async settle(charge: Charge, charged: number, outcome: string): Promise<void> {
    const now = Date.now();
    const known = this.#book.get(charge.taskId);
    if (known?.end) return;
    if (!known) {
      const { taskId, keyId, kind, model } = charge;
      this.#store(this.#book.add({ taskId, keyId, kind, model, held: 0, at: now, end: { charged: 0, outcome, at: now, n: 0 } }), Infinity);
      return;
    }
    this.#store(this.#book.settle(charge.taskId, { charged, outcome, at: now })!, now + flushMs);
    if (this.#book.outboxSize >= batchSize)
      this.ctx.waitUntil(this.#inTurn(() => this.#flush()).catch((error: unknown) => this.#failed(error)));
  }

  /** The account's balance and those of these keys, by id; one that does not exist is missing. */
  async balances(keyIds: string[] = []): Promise<Record<string, WalletView>> {
    const now = Date.now();
    let copy = await this.#loaded(keyIds, now);
    if (!copy) return {};
    // What D1's own ledger still holds is settled there, without our knowing.
    if ([copy, ...keyIds.map((id) => copy!.keys[id])].some((row) => row && row.legacy > 0)) copy = (await this.#refresh(keyIds))!;
    const views: Record<string, WalletView> = { [this.#accountId]: this.#view(copy, copy, undefined, now) };
    for (const id of keyIds) {
      const key = copy.keys[id];
      if (key) views[id] = this.#view(copy, key, id, now);
    }
    return views;
  }

  #view(copy: Copy, row: RowCopy, keyId: string | undefined, now: number): WalletView {
    const { held, owed, tasks } = this.#book.sums(keyId);
    const spent = this.#spentInWindow(copy, row, keyId, now);
    const budget = row.budget && { ...row.budget, spent, until: windowEnd(row.budget.window, now) };
    return { quota: row.quota, used: row.used + owed, reserved: row.legacy + held, budget, openTasks: tasks };
  }

  /** What D1 does not have of the account's tasks and chats: those that are open, and those that have ended and are not written yet. */
  unwritten(): WalletEntry[] {
    return this.#book.unwritten();
  }

  /** Sets the quota of the account or of one of its keys, or adds to it. `below_use` when less than what is used and reserved would remain. Adding to an unlimited quota leaves it so. */
  changeQuota(id: string, change: { quota: number | null } | { add: number }): Promise<"changed" | "below_use"> {
    return this.#inTurn(async () => {
      await this.#flushAll();
      return id === this.#accountId ? this.#changeAccountQuota(change) : this.#changeKeyQuota(id, change);
    });
  }

  async #changeAccountQuota(change: { quota: number | null } | { add: number }): Promise<"changed" | "below_use"> {
    for (let attempt = 0; attempt < 5; attempt++) {
      const copy = await this.#certain();
      if (!copy) throw new Error("the wallet does not exist");
      const quota = changed(copy.quota, change);
      const { held, owed } = this.#book.sums();
      if (quota !== null && quota < copy.used + copy.legacy + held + owed) return "below_use";
      // Free grant is given up first, here and then there: nothing can be held on it meanwhile.
      const isTooMuch = quota !== null && quota < copy.used + copy.legacy + copy.granted;
      const granted = isTooMuch ? Math.min(copy.granted, held + owed + copy.lost) : copy.granted;
      if (granted < copy.granted) this.#lower(granted);
      const written = await this.#unsureOnFault(() => setAccountQuota(this.env.DB, this.#accountId, copy.revision, quota, granted));
      this.#adopt(written);
      if (written.isDone) return "changed";
    }
    throw new Error("the quota could not be changed");
  }

  async #changeKeyQuota(id: string, change: { quota: number | null } | { add: number }): Promise<"changed" | "below_use"> {
    const key = (await this.#refresh([id]))?.keys[id];
    if (!key) throw new Error("the wallet does not exist");
    const quota = changed(key.quota, change);
    const { held, owed } = this.#book.sums(id);
    if (quota !== null && quota < key.used + key.legacy + held + owed) return "below_use";
    // Here first: nothing is held above it while D1 is asked.
    const before = key.quota;
    if (quota !== null) key.quota = Math.min(quota, before ?? quota);
    try {
      const written = await setKeyQuota(this.env.DB, id, quota);
      key.quota = written ? quota : before;
      this.#store();
      return written ? "changed" : "below_use";
    } catch (error) {
      await this.#refresh([id]).catch(() => undefined); // the fault that matters is thrown below
      throw error;
    }
  }

  /** Sets the budget of the account or of one of its keys; null removes it. Its window begins with what was spent in it. */
  changeBudget(id: string, budget: Budget | null): Promise<void> {
    return this.#inTurn(async () => {
      const row = await setBudget(this.env.DB, id, budget);
      if (!row) throw new Error("the wallet does not exist");
      const copy = await this.#refresh(id === this.#accountId ? [] : [id]);
      if (copy) delete copy.windows[id];
      this.#store();
    });
  }

  /** The object's own sums, and whether D1 has granted what the object holds. What it says of D1 is exact: no write is under way. */
  audit(): Promise<WalletSums> {
    return this.#inTurn(async () => {
      await this.#flushAll();
      const copy = await this.#certain();
      const { held, owed } = this.#book.sums();
      const [row] = await readRows(this.env.DB, [this.#accountId]);
      const granted = copy?.granted ?? 0;
      const isGrantRight = (row?.granted ?? 0) === granted && granted >= held + owed;
      this.#arm(this.#nextAlarm());
      return { granted, isGrantRight, held, open: [...this.#book.open()].length };
    });
  }

  /** Gives back what was granted to an object that lost its storage. For operators: tasks that still run on it would cost nothing. */
  reconcile(): Promise<number> {
    return this.#inTurn(async () => {
      const copy = await this.#certain();
      const lost = copy?.lost ?? 0;
      if (!copy || lost === 0) return 0;
      copy.lost = 0;
      await this.#giveBack(lost);
      return lost;
    });
  }

  /** Writes what has ended to D1, ends chats whose deadline is over, gives back what is not used. A throw would be repeated six times and then dropped, so there is none. */
  override async alarm(): Promise<void> {
    this.#alarmAt = undefined;
    const now = Date.now();
    for (const entry of [...this.#book.open()])
      if (entry.deadline !== undefined && entry.deadline <= now)
        this.#store(this.#book.settle(entry.taskId, { charged: 0, outcome: "deadline_exceeded", at: now })!);
    try {
      await this.#inTurn(async () => {
        await this.#flushAll();
        const copy = this.#copy?.isUnsure ? await this.#certain() : this.#copy;
        if (!copy) return;
        const free = this.#free(copy);
        if (free > 0 && now - this.#book.usedAt >= idleMs) await this.#giveBack(free);
      });
      this.#arm(this.#nextAlarm());
    } catch (error) {
      this.#failed(error);
    }
  }

  #nextAlarm(): number {
    const copy = this.#copy;
    let next = Infinity;
    if (this.#book.outboxSize > 0) next = Date.now() + flushMs;
    for (const { deadline } of this.#book.open()) next = Math.min(next, deadline ?? Infinity);
    if (copy && (this.#free(copy) > 0 || copy.isUnsure)) next = Math.min(next, Math.max(this.#book.usedAt + idleMs, Date.now() + 1));
    return next;
  }

  #failed(error: unknown): void {
    alert("settle", { account: this.#accountId, outcome: "retry" }, error);
    this.#arm(Date.now() + retryMs);
  }

  #arm(at: number): void {
    if (at === Infinity) return;
    if (this.#alarmAt !== undefined && this.#alarmAt <= at && this.#alarmAt > Date.now()) return;
    this.#alarmAt = Math.max(at, Date.now() + 1);
    void this.ctx.storage.setAlarm(this.#alarmAt);
  }

  /** One transaction: a page when one changed, else what is known of D1; and the alarm when the one that is set would come too late. */
  #store(page?: Page, wakeAt = Infinity): void {
    this.ctx.storage.transactionSync(() => {
      if (page) this.ctx.storage.kv.put(pageKey(page.seq), page);
      if (!page || !this.#isStored) this.ctx.storage.kv.put("wallet", this.#copy);
      this.#arm(wakeAt);
    });
    this.#isStored ||= this.#copy !== undefined;
  }

  /** One write to D1 at a time. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#writes.then(work);
    this.#writes = turn.catch(() => undefined); // the caller hears of the fault; the next in line has its own turn
    return turn;
  }

  /** What may still be held. */
  #free(copy: Copy): number {
    const { held, owed } = this.#book.sums();
    return copy.granted - copy.lost - held - owed;
  }

  /** Why the amount cannot be held, as far as the account's grant is not the reason. */
  #refusal(copy: Copy, key: RowCopy, charge: Charge, amount: number, rules: ReserveRules, now: number): ReserveAnswer | undefined {
    const { keyId, kind } = charge;
    const ofKey = this.#book.sums(keyId);
    if (kind !== "chat" && this.#book.sums().tasks >= (rules.maxOpenTasks ?? Infinity)) return { answer: "too_many" };
    if (kind !== "chat" && ofKey.tasks >= (rules.maxKeyTasks ?? Infinity)) return { answer: "too_many" };
    if (key.quota !== null && key.quota - key.used - key.legacy - ofKey.held - ofKey.owed < amount) return { answer: "insufficient" };
    for (const [row, id] of [
      [copy, undefined],
      [key, keyId],
    ] as const)
      if (row.budget && this.#spentInWindow(copy, row, id, now) + amount > row.budget.amount)
        return { answer: "budget", until: windowEnd(row.budget.window, now) };
    return undefined;
  }

  /** What was charged and is held in the window of the row's budget; 0 without one. */
  #spentInWindow(copy: Copy, { budget }: RowCopy, keyId: string | undefined, now: number): number {
    if (!budget) return 0;
    const start = windowStart(budget.window, now);
    const window = copy.windows[keyId ?? this.#accountId];
    return (window?.start === start ? window.charged : 0) + this.#book.spentSince(start, keyId);
  }

  /** What is known of D1, read once for the account and each of the keys, and once for each budget's window that was not watched from its beginning. */
  async #loaded(keyIds: string[], now: number): Promise<Copy | undefined> {
    let copy = this.#copy;
    if (!copy || keyIds.some((id) => !copy!.keys[id])) copy = await this.#refresh(keyIds);
    if (!copy) return undefined;
    const rows: [string, RowCopy | undefined][] = [
      [this.#accountId, copy],
      ...keyIds.map((id): [string, RowCopy | undefined] => [id, copy!.keys[id]]),
    ];
    for (const [id, row] of rows) {
      if (!row?.budget) continue;
      const start = windowStart(row.budget.window, now);
      if (copy.windows[id]?.start === start) continue;
      // Entries of a window that begins while it is watched all pass through here; otherwise D1 is asked, in turn with the writes.
      const charged = await this.#inTurn(async () => {
        await this.#flushAll();
        return (await readSpentSince(this.env.DB, this.#accountId, start)).get(id) ?? 0;
      });
      copy.windows[id] = { start, charged };
    }
    return copy;
  }

  /** Reads the rows again: what is used, reserved by D1's own ledger, and the quotas. What is granted is taken over from writes alone. */
  async #refresh(keyIds: string[]): Promise<Copy | undefined> {
    const [flushes, isExact] = [this.#flushes, this.#book.outboxSize === 0];
    const rows = await readRows(this.env.DB, [this.#accountId, ...keyIds]);
    const account = rows.find(({ id }) => id === this.#accountId);
    if (!account) return undefined;
    this.#readAt = Date.now();
    const known = this.#copy;
    if (!known) {
      const { granted, revision } = account;
      const first = { granted, lost: granted, flushedTo: 0, firstPage: 0, oldestPage: 1, isUnsure: false, isRestoring: false };
      this.#copy = { ...toCopy(account), ...first, accountId: account.id, revision, keys: {}, windows: {} };
    } else if (known.revision === account.revision) takeOver(known, account, isExact && flushes === this.#flushes);
    this.#adoptKeys(
      rows.filter(({ id }) => id !== this.#accountId),
      isExact && flushes === this.#flushes,
    );
    return this.#copy;
  }

  /** What the object knows of D1, with every earlier write either in effect or without effect for ever. */
  async #certain(): Promise<Copy | undefined> {
    const copy = this.#copy ?? (await this.#refresh([]));
    if (!copy) return undefined;
    if (!this.#isStored) this.#store();
    const before = copy.revision;
    const row = await fence(this.env.DB, this.#accountId);
    if (!row) return undefined;
    if (row.revision <= before) await this.#restore();
    else this.#adopt({ isDone: true, row });
    return this.#copy;
  }

  /** Takes over what D1 says after a write. At another revision than expected an earlier write had taken effect, or the database was restored. */
  #adopt({ isDone, row }: Written): void {
    const copy = this.#copy!;
    if (!row || (!isDone && row.revision <= copy.revision)) return;
    takeOver(copy, row, this.#book.outboxSize === 0);
    Object.assign(copy, { granted: row.granted, revision: row.revision, isUnsure: false });
    this.#readAt = Date.now();
    this.#store();
  }

  #adoptKeys(rows: WalletRow[], takesUsed: boolean): void {
    const { keys } = this.#copy!;
    for (const row of rows) {
      const known = keys[row.id];
      if (known) takeOver(known, row, takesUsed);
      else {
        keys[row.id] = toCopy(row);
        // Stored with the key's first entry: what D1 says later may include entries that are in the outbox too.
        this.#isStored = false;
      }
    }
  }

  /** Spends no more than `granted` from here on, before D1 hears of it. */
  #lower(granted: number): void {
    Object.assign(this.#copy!, { granted, isUnsure: true });
    this.#store();
  }

  /** Has D1 grant what `amount` needs. False when the quota has not that much left. Throws when D1 cannot tell; what it may have granted is found with the next write. */
  async #grant(amount: number): Promise<boolean> {
    const now = Date.now();
    this.#recent = this.#recent.filter(({ at }) => at > now - idleMs);
    const block = this.#recent.reduce((sum, spent) => sum + spent.amount, 0);
    for (let attempt = 0; attempt < 5; attempt++) {
      const copy = this.#copy!;
      const missing = amount - this.#free(copy);
      if (missing <= 0) return true;
      if (!this.#isStored) this.#store();
      const written = await this.#unsureOnFault(() =>
        grant(this.env.DB, this.#accountId, copy.revision, missing, Math.max(missing, block)),
      );
      if (!written.row) return false;
      if (written.row.revision < copy.revision) await this.#restore();
      else if (!written.isDone && written.row.revision === copy.revision) return false;
      else this.#adopt(written);
    }
    throw new Error("the grant's revision changed again and again");
  }

  /** Gives this much back to D1: here first, so that it is never spent twice. */
  async #giveBack(amount: number): Promise<void> {
    const copy = this.#copy!;
    this.#lower(copy.granted - amount);
    this.#adopt(await this.#unsureOnFault(() => giveBack(this.env.DB, this.#accountId, copy.revision, amount)));
  }

  async #flushAll(): Promise<void> {
    while (this.#book.outboxSize > 0) await this.#flush();
  }

  /** Makes a write whose outcome is found out before anything is given back, when it does not answer. */
  async #unsureOnFault<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      this.#copy!.isUnsure = true;
      this.#store(undefined, Date.now() + retryMs);
      throw error;
    }
  }

  /** Writes the oldest settled entries to D1. Throws when D1 cannot tell: the same ones are written again. */
  async #flush(): Promise<void> {
    const copy = this.#copy!;
    if (copy.isRestoring) return this.#restore();
    const { entries, to } = this.#book.batch(batchSize);
    if (entries.length === 0) return;
    const { isDone, account, keys } = await writeEntries(this.env.DB, this.#accountId, copy.revision, entries);
    if (!isDone || !account) return this.#restore();
    for (const { keyId, charged, at } of entries)
      for (const id of [keyId, this.#accountId]) {
        const window = copy.windows[id];
        if (window && at >= window.start) window.charged += charged;
      }
    this.#book.flushed(to);
    this.#flushes++;
    copy.used = account.used;
    copy.flushedTo = to;
    copy.firstPage = this.#book.forget(Date.now() - rememberMs);
    this.#adoptKeys(keys, true);
    this.ctx.storage.transactionSync(() => {
      this.#dropHistory(copy);
      this.#adopt({ isDone, row: account });
    });
  }

  /** Removes pages of settled entries that are older than any backup that would be restored. A few at a time. */
  #dropHistory(copy: Copy): void {
    const { kv } = this.ctx.storage;
    for (let count = 0; count < 8 && copy.oldestPage < copy.firstPage; count++) {
      const page = kv.get<Page>(pageKey(copy.oldestPage));
      if (page?.entries.some(({ end }) => (end?.at ?? Infinity) > Date.now() - historyMs)) return;
      if (page) kv.delete(pageKey(copy.oldestPage));
      copy.oldestPage++;
    }
  }

  /** D1 was restored: writes what it lost of the last two days again, then has it grant what the object holds. Repeats from the beginning after a fault. */
  async #restore(): Promise<void> {
    const copy = this.#copy!;
    alert("settle", { account: this.#accountId, outcome: "database_restored" });
    copy.isRestoring = true;
    this.#store();
    await beginRestore(this.env.DB, this.#accountId, copy.revision, copy.quota);
    for (const [, page] of this.ctx.storage.kv.list<Page>({ start: pageKey(copy.oldestPage), end: "page0" })) {
      const written = page.entries.filter(({ end }) => end && end.n > 0 && end.n <= copy.flushedTo).map(toSettled);
      if (written.length > 0) await writeEntries(this.env.DB, this.#accountId, copy.revision, written, false);
    }
    const row = await endRestore(this.env.DB, this.#accountId, copy.granted, copy.quota);
    copy.isRestoring = false;
    this.#adopt({ isDone: true, row });
  }
}

/** Takes over what D1 says. What is used only while nothing is owed: D1 may have taken a batch without our knowing, and it would count twice. */
function takeOver(copy: RowCopy, row: WalletRow, takesUsed: boolean): void {
  const { used, ...others } = toCopy(row);
  Object.assign(copy, others, takesUsed && { used });
}

/** A quota after its change; an unlimited one stays so when something is added. */
const changed = (quota: number | null, change: { quota: number | null } | { add: number }): number | null =>
  "quota" in change ? change.quota : quota === null ? null : quota + change.add;

const toCopy = ({ quota, used, reserved, granted, budget }: WalletRow): RowCopy => ({ quota, used, legacy: reserved - granted, budget });
