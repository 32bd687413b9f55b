/** The wallet object: one per account, named by the account's id. Holds money for tasks and chats from its D1 grant, and writes settled entries to D1 in batches. */

import { DurableObject } from "cloudflare:workers";
import type { WalletSums } from "../db/audit.ts";
import { type Budget, setBudget } from "../db/grants.ts";
import type { Charge } from "../db/ledger.ts";
import { alert } from "../log.ts";
import { sendAlerts } from "./budget-alerts.ts";
import { auditWallet, returnLost } from "./wallet-audit.ts";
import { type Page, WalletBook, type WalletEntry } from "./wallet-book.ts";
import { flushMs, idleMs, WalletHolds } from "./wallet-holds.ts";
import { OldHolds } from "./wallet-old-holds.ts";
import { announceKeys, keysRevision } from "./wallet-keys.ts";
import { batchSize, rememberMs, WalletLedger } from "./wallet-ledger.ts";
import { type ReserveAnswer, type ReserveRules, toView, type WalletView } from "./wallet-limits.ts";
import type { ChatCall } from "./wallet-line.ts";
import { type QuotaChange, type WalletState } from "./wallet-state.ts";

const retryMs = 10_000;
/** An account has at most two hundred keys at a time, rotated ones included. */
const maxKeys = 400;

const pageKey = (seq: number) => `page/${String(seq).padStart(12, "0")}`;

export class WalletObject extends DurableObject<Env> {
  readonly #book = new WalletBook();
  readonly #ledger: WalletLedger;
  /** The time of the set alarm, Infinity without one; undefined if it is not known. */
  #alarmAt: number | undefined;
  readonly #holds: WalletHolds;
  readonly #oldHolds = new OldHolds(this.#book);
  #isFlushing = false;
  /** The changed pages of a running `chats`, each of which is stored once at its end. */
  #changed: Set<Page> | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { kv } = ctx.storage;
    const state = kv.get<WalletState>("wallet");
    const accountId = () => ctx.id.name ?? this.#ledger.loaded.accountId;
    this.#ledger = new WalletLedger(
      env.DB,
      accountId,
      this.#book,
      {
        save: (wakeAt) => this.#store(undefined, wakeAt),
        page: (seq) => kv.get<Page>(pageKey(seq)),
        drop: (seq) => void kv.delete(pageKey(seq)),
      },
      state,
    );
    this.#holds = new WalletHolds(this.#book, this.#ledger, this.#oldHolds, {
      store: (page, wakeAt) => this.#store(page, wakeAt),
      flush: () => ctx.waitUntil(this.#flushFull()),
    });
    if (!state) return;
    for (const [, page] of kv.list<Page>({ start: pageKey(state.firstPage), end: "page0" })) {
      this.#book.load(page, state.flushedTo);
      // One old hold, as of a long chat, is reason to read every later page.
      this.#book.forget(Date.now() - rememberMs);
    }
    // Deleted keys stay in the state, which must fit into one value. Those in use are read again.
    if (this.#book.outboxSize === 0 && Object.keys(state.keys).length > maxKeys) Object.assign(state, { keys: {}, windows: {} });
    if (this.#oldHolds.begin(Date.now()) < Infinity) this.#arm(this.#nextAlarm());
  }

  get #accountId(): string {
    return this.ctx.id.name ?? this.#ledger.loaded.accountId;
  }

  /** Holds `amount` (millionths) for a task or chat. A repeat returns the same. Calls D1 only if the grant does not suffice. */
  reserve(charge: Charge, amount: number, rules: ReserveRules): Promise<ReserveAnswer> {
    return this.#holds.reserve(charge, amount, rules);
  }

  /**
   * Settles a hold: `charged` (millionths, never more than was held) is owed to D1, the rest is released. The first call decides; an
   * unknown task can hold nothing after it. `held` is the amount in the task's own record, for an object that lost its storage: then throws
   * if D1 does not answer.
   */
  settle(charge: Charge, charged: number, outcome: string, held = 0): Promise<void> {
    return this.#holds.settle(charge, charged, outcome, held);
  }

  /** Reservations and settlements of several chats in one transaction. False for those that need D1 or are refused: their callers make a call of their own. */
  async chats(calls: ChatCall[]): Promise<boolean[]> {
    const changed = (this.#changed = new Set());
    try {
      return calls.map((call) => this.#holds.tryChat(call));
    } finally {
      this.#changed = undefined;
      for (const page of changed) this.#store(page);
    }
  }

  /** Restores the hold of a task after the object lost its storage, from the grant of that storage. */
  recover(charge: Charge, held: number): Promise<void> {
    return this.#holds.recover(charge, held);
  }

  /** True while the task's price is held. For task objects of the previous version. */
  async holds(taskId: string): Promise<boolean> {
    return this.#book.isOpen(taskId) === true;
  }

  /** The balances of the account and of these keys, by id; ids that do not exist are missing. */
  async balances(keyIds: string[] = []): Promise<Record<string, WalletView>> {
    const now = Date.now();
    const loaded = await this.#ledger.load(keyIds, now);
    if (!loaded) return {};
    // D1 settles the holds of its own ledger without informing this object.
    const hasLegacy = loaded.legacy > 0 || keyIds.some((id) => (loaded.keys[id]?.legacy ?? 0) > 0);
    const state = (hasLegacy ? await this.#ledger.refresh(keyIds) : undefined) ?? loaded;
    const views: Record<string, WalletView> = { [this.#accountId]: toView(state, this.#book, undefined, now) };
    for (const id of keyIds) if (state.keys[id]) views[id] = toView(state, this.#book, id, now);
    return views;
  }

  /** Writes all settled entries to D1. Throws if D1 does not answer. */
  async writeEnded(): Promise<void> {
    if (this.#book.outboxSize > 0) await this.#ledger.inTurn(() => this.#ledger.flushAll());
  }

  /** The account's tasks and chats that D1 does not have: open ones, and settled ones that are not written yet. */
  unwritten(): WalletEntry[] {
    return this.#book.unwritten();
  }

  /** Sets the quota of the account or of one of its keys, or adds to it. `below_use` if it would be below the used and reserved amounts. Adding to an unlimited quota leaves it unlimited. */
  changeQuota(id: string, change: QuotaChange): Promise<"changed" | "below_use"> {
    return this.#ledger.inTurn(async () => {
      await this.#ledger.flushAll();
      return id === this.#accountId ? this.#ledger.changeAccountQuota(change) : this.#ledger.changeKeyQuota(id, change);
    });
  }

  /** Sets the budget of the account or of one of its keys; null removes it. Amounts already spent in its window count. */
  changeBudget(id: string, budget: Budget | null): Promise<void> {
    return this.#ledger.inTurn(async () => {
      if (!(await setBudget(this.env.DB, id, budget))) throw new Error("the wallet does not exist");
      await this.#ledger.refresh(id === this.#accountId ? [] : [id]);
      this.#store();
    });
  }

  /** See `wallet-keys.ts`. */
  announceKeys(): number {
    return announceKeys(this.ctx.storage);
  }

  /** See `wallet-keys.ts`. */
  keysRevision(): Promise<number> {
    return keysRevision(this.ctx.storage, this.env.DB, this.#accountId);
  }

  /** The object's own sums, and whether D1 has granted what the object holds: first everything that is owed is written, and nothing is under way. */
  audit(): Promise<WalletSums> {
    return this.#ledger.inTurn(async () => {
      const sums = await auditWallet(this.#ledger, this.#book, this.env.DB, this.#accountId);
      this.#arm(this.#nextAlarm());
      return sums;
    });
  }

  /** Returns the grant of lost storage that no task has claimed, once no task can claim it any more. Millionths, 0 before. */
  reconcile(): Promise<number> {
    return this.#ledger.inTurn(() => returnLost(this.#ledger));
  }

  /** Writes settled entries to D1, settles chats past their deadline, returns the unused grant. Never throws, because the platform would retry a throw six times and then drop the alarm. */
  override async alarm(): Promise<void> {
    this.#alarmAt = Infinity;
    const now = Date.now();
    for (const entry of this.#book.open())
      if (entry.deadline !== undefined && entry.deadline <= now)
        this.#store(this.#book.settle(entry.taskId, { charged: 0, outcome: "deadline_exceeded", at: now }));
    try {
      await this.#ledger.inTurn(async () => {
        await this.#ledger.flushAll();
        if (this.#ledger.state?.isUnsure) await this.#ledger.certain();
        const free = this.#ledger.free();
        if (free > 0 && now - this.#book.usedAt >= idleMs) await this.#ledger.giveBack(free);
      });
      if ((await sendAlerts(this.env.NOTIFY, this.#ledger.state?.alerts ?? [])) > 0) this.#store();
      await this.#oldHolds.ask(this.env.TASKS, this.#accountId, now, (taskId) =>
        this.#store(this.#book.settle(taskId, { charged: 0, outcome: "refused", at: now })),
      );
      this.#arm(this.#nextAlarm());
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Writes full batches to D1, one at a time: each would otherwise be followed by a small one of what was settled meanwhile. Other writes, such as grants, come between them. */
  async #flushFull(): Promise<void> {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    try {
      while (this.#book.outboxSize >= batchSize) await this.#ledger.inTurn(() => this.#ledger.flush());
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isFlushing = false;
    }
  }

  #nextAlarm(): number {
    const flushAt = this.#book.outboxSize > 0 || this.#ledger.state?.alerts?.length ? Date.now() + flushMs : Infinity;
    const next = Math.min(flushAt, this.#oldHolds.nextAt(Date.now()));
    const isIdle = this.#ledger.free() > 0 || this.#ledger.state?.isUnsure;
    return isIdle ? Math.min(next, Math.max(this.#book.usedAt + idleMs, Date.now() + retryMs)) : next;
  }

  #failed(error: unknown): void {
    alert("settle", { account: this.#accountId, outcome: "retry" }, error);
    this.#arm(Date.now() + retryMs);
  }

  #arm(at: number): void {
    if (at === Infinity || (this.#alarmAt !== undefined && this.#alarmAt <= at && this.#alarmAt > Date.now())) return;
    // Replaces an alarm that is due but late, or that was set before this object started: neither is postponed.
    this.#alarmAt = Math.max(Math.min(at, this.#alarmAt ?? this.#nextAlarm()), Date.now() + 1);
    void this.ctx.storage.setAlarm(this.#alarmAt);
  }

  /** Stores a changed page or, without one, the state; and sets the alarm if the current one would be too late. Writes without an `await` between them are one transaction. */
  #store(page?: Page, wakeAt = Infinity): void {
    const { state, isStored } = this.#ledger;
    if (page && this.#changed) this.#changed.add(page);
    else if (page) this.ctx.storage.kv.put(pageKey(page.seq), page);
    if (!page || !isStored) this.ctx.storage.kv.put("wallet", state);
    this.#arm(wakeAt);
    this.#ledger.isStored ||= state !== undefined;
  }
}
