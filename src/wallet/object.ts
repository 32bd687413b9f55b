/** The wallet object: one per account, named by the account's id. Holds money for tasks and chats from its D1 grant, and writes settled entries to D1 in batches. */

import { DurableObject } from "cloudflare:workers";
import type { WalletSums } from "../db/audit.ts";
import type { Actor, Facts } from "../db/audit-log.ts";
import { type Budget, readRows, setBudget, type WalletRow } from "../db/grants.ts";
import { changeKeys, type AccountChange } from "../db/account-changes.ts";
import type { Credit } from "../db/credits.ts";
import { type DeliveryOutcome, insertDeliveryEvent } from "../db/delivery-events.ts";
import type { Made } from "../db/fingerprints.ts";
import { type Charge, toUnits } from "../db/ledger.ts";
import type { BookedAttempt } from "../db/settled-sums.ts";
import { alert } from "../base/log.ts";
import { chargeVersion, isNewer, requireKnown } from "../base/versions.ts";
import { sendAlerts } from "./alerts.ts";
import type { End, WalletBook, WalletEntry } from "./book.ts";
import { holdEndsAt, WalletHolds } from "./holds.ts";
import { type KeysCheck, WalletKeys } from "./keys.ts";
import { batchSize, idleMs, WalletLedger } from "./ledger.ts";
import { missingWindows, noteAlerts, ownerOf, refusal, type ReserveAnswer, type ReserveRules, toView, type WalletView } from "./limits.ts";
import type { ChatCall } from "./line.ts";
import { OpenWaits } from "./open-waits.ts";
import { type QuotaChange, seenQuota, WalletStore } from "./state.ts";

/** Settled entries reach D1 after this time at the latest. */
const flushMs = 5_000;
const retryMs = 10_000;
/** The maximum age of rows for refusing a hold. */
const staleMs = 5_000;
const maxAttempts = 5;
/** Who changes a limit if the caller does not say it: the previous release, and changes that are made again in a restored database. */
const gateway: Actor = { kind: "system", id: "gateway", address: null };
const factsOf = (budget: Budget | null | undefined): Facts =>
  budget ? { budget: toUnits(budget.amount), window: budget.window } : { budget: null };
/**
 * How long the grant of lost storage stays reserved. A task lasts at most ten minutes and a chat fifteen, and each repeats the report of its
 * end, with the amount that it holds, until the wallet accepts it: after a day all of them have claimed their holds.
 */
const claimMs = 86_400_000;

export class WalletObject extends DurableObject<Env> {
  readonly #store: WalletStore;
  readonly #book: WalletBook;
  readonly #ledger: WalletLedger;
  readonly #keys: WalletKeys;
  readonly #holds: WalletHolds;
  readonly #waits = new OpenWaits();
  #isFlushing = false;
  /** How many tasks and deliveries have ended since this object was loaded. */
  #events = 0;
  readonly #instance = crypto.randomUUID();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = new WalletStore(ctx.storage, () => this.#nextAlarm());
    this.#book = this.#store.book;
    this.#keys = new WalletKeys(ctx.storage, env, () => ctx.id.name ?? this.#store.state?.accountId);
    this.#ledger = new WalletLedger(env.DB, this.#store, () => this.#accountId);
    this.#holds = new WalletHolds(this.#store);
    this.#store.arm(this.#holds.begin(Date.now()));
  }

  get #accountId(): string {
    return this.#keys.accountId;
  }

  /** Holds `amount` (millionths) for a task or chat. A repeat returns the same. Calls D1 only if the grant does not suffice. */
  async reserve(charge: Charge, amount: number, rules: ReserveRules): Promise<ReserveAnswer> {
    try {
      requireKnown(charge, chargeVersion);
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const now = Date.now();
        const tried = this.#tryHold(charge, amount, rules, now);
        if (tried === "unread") {
          const state = await this.#ledger.load([charge.keyId], now);
          if (!state?.keys[charge.keyId]) return { answer: "insufficient" };
        } else if (tried === "ungranted") {
          if (!(await this.#ledger.inTurn(() => this.#ledger.grant(amount)))) return { answer: "insufficient" };
        } else if (tried.answer === "insufficient" && now - this.#ledger.readAt > staleMs) {
          await this.#ledger.refresh([charge.keyId]);
        } else {
          if (tried.answer === "budget" && noteAlerts(this.#store.loaded, this.#book, charge.keyId, now, amount))
            this.#store.save(now + flushMs);
          return tried;
        }
      }
    } catch (error) {
      alert("reserve", { task: charge.taskId, account: charge.accountId, outcome: "unavailable" }, error);
    }
    return { answer: "unavailable" };
  }

  /**
   * Settles a hold: `charged` (millionths, never more than was held) is owed to D1, the rest is released. The first call decides; an
   * unknown task can hold nothing after it. `held` is the amount in the task's own record, for an object that lost its storage: then throws
   * if D1 does not answer. `made`: the files of a completed task, whose fingerprints D1 gets with the entry. `attempts`: what the makers bill for it.
   */
  async settle(
    charge: Charge,
    charged: number,
    outcome: string,
    held = 0,
    made?: Made,
    attempts?: readonly BookedAttempt[],
  ): Promise<void> {
    requireKnown(charge, chargeVersion);
    if (held > 0 && this.#book.isOpen(charge.taskId) === undefined) await this.recover(charge, held);
    if (this.#end(charge, { charged, outcome, ...(made && { made }), ...(attempts && { attempts }) })) return;
    const at = Date.now();
    const { taskId, keyId, kind, model } = charge;
    this.#store.put(this.#book.add({ taskId, keyId, kind, model, held: 0, at, end: { charged: 0, outcome, at, n: 0 } }));
  }

  /**
   * Reservations and settlements of several chats in one transaction. False for those that need D1 or are refused: their callers make a call
   * of their own. Only the hold of a single chat asks D1 at once, if the quota is large enough as far as the object knows.
   */
  async chats(calls: ChatCall[]): Promise<boolean[]> {
    const [only] = calls;
    if (only && calls.length === 1 && "deadline" in only && this.#isGrantable(only))
      return [(await this.reserve(only.charge, only.held, { deadline: only.deadline })).answer === "reserved"];
    return this.#store.together(() =>
      calls.map((call) => {
        const { charge, held } = call;
        if (isNewer(charge, chargeVersion)) return false;
        if ("outcome" in call) {
          const { charged, outcome, attempts } = call;
          return this.#end(charge, { charged, outcome, ...(attempts && { attempts }) });
        }
        const tried = this.#tryHold(charge, held, call, Date.now());
        return typeof tried === "object" && tried.answer === "reserved";
      }),
    );
  }

  /** True if a hold needs a larger grant, and D1 will probably give it. */
  #isGrantable({ charge, held }: ChatCall): boolean {
    const { state } = this.#store;
    const missing = held - this.#store.free();
    if (!state || missing <= 0 || isNewer(charge, chargeVersion)) return false;
    const quota = seenQuota(state);
    return quota === null || quota - state.used - state.granted >= missing;
  }

  /** Restores the hold of a task after the object lost its storage, from the grant of that storage. */
  async recover(charge: Charge, held: number): Promise<void> {
    const now = Date.now();
    const state = await this.#ledger.load([charge.keyId], now);
    if (!state || state.lost < held || this.#book.isOpen(charge.taskId) !== undefined) return;
    state.lost -= held;
    this.#store.isStored = false; // stored with the hold
    this.#hold(charge, held, undefined, now);
  }

  /** Holds the amount if D1 is not needed for that. Otherwise the refusal, or what is missing: rows that were not read yet, or a larger grant. */
  #tryHold(charge: Charge, amount: number, rules: ReserveRules, now: number): ReserveAnswer | "unread" | "ungranted" {
    const isOpen = this.#book.isOpen(charge.taskId);
    if (isOpen !== undefined) {
      this.#holds.used(charge.taskId);
      return { answer: isOpen ? "reserved" : "closed" };
    }
    const { state } = this.#store;
    // A window may have ended or a budget may have changed during a query of D1.
    const owner = state && ownerOf(state, charge.keyId);
    if (!state?.keys[charge.keyId] || (owner !== undefined && !state.keys[owner]) || missingWindows(state, [charge.keyId], now).length > 0)
      return "unread";
    const refused = refusal(state, this.#book, charge, amount, rules, now);
    if (refused) return refused;
    if (this.#store.free() < amount) return "ungranted";
    this.#hold(charge, amount, rules.deadline, now);
    return { answer: "reserved" };
  }

  #hold({ taskId, keyId, kind, model }: Charge, amount: number, deadline: number | undefined, now: number): void {
    const hold: WalletEntry = { taskId, keyId, kind, model, held: amount, at: now, ...(deadline !== undefined && { deadline }) };
    this.#ledger.noteHold(amount);
    const page = this.#book.add(hold);
    if (noteAlerts(this.#store.loaded, this.#book, keyId, now)) this.#store.isStored = false; // stored with the hold
    this.#store.put(page, deadline === undefined ? holdEndsAt(hold) : Math.min(now + idleMs, deadline));
  }

  /** Settles a known hold, the first time; false for an unknown task. */
  #end({ taskId, kind }: Charge, end: Pick<End, "charged" | "outcome" | "made" | "attempts">): boolean {
    const isOpen = this.#book.isOpen(taskId);
    if (!isOpen) return isOpen === false;
    const now = Date.now();
    this.#store.put(this.#book.settle(taskId, { ...end, at: now }), now + flushMs);
    if (kind !== "chat") this.#events++;
    if (this.#book.outboxSize >= batchSize && !this.#isFlushing) this.ctx.waitUntil(this.#flushFull());
    return true;
  }

  /** The balances of the account and of these keys, by id; ids that do not exist are missing. */
  async balances(keyIds: string[] = []): Promise<Record<string, WalletView>> {
    const now = Date.now();
    const state = await this.#ledger.load(keyIds, now);
    if (!state) return {};
    const views: Record<string, WalletView> = { [this.#accountId]: toView(state, this.#book, undefined, now) };
    for (const id of keyIds) if (state.keys[id]) views[id] = toView(state, this.#book, id, now);
    return views;
  }

  /** Writes all settled entries to D1. Returns a text that differs from that of an earlier call if there were events of the account since then. Throws if D1 does not answer. */
  async writeEnded(): Promise<string> {
    // What ends while the others are written is for the next call.
    const events = `${this.#instance} ${this.#events}`;
    if (this.#book.outboxSize > 0) await this.#ledger.inTurn(() => this.#ledger.flushAll());
    return events;
  }

  /**
   * Writes the end of a task's delivery among the account's events, once. Its time is later than that of every settlement that a reader of
   * events can have seen, and earlier than that of every later one. Throws if D1 does not answer.
   */
  noteDelivery(taskId: string, outcome: DeliveryOutcome): Promise<void> {
    return this.#ledger.inTurn(async () => {
      // What is settled while the earlier entries are written has a later time, and is written after the event.
      const at = this.#book.nextEnd(Date.now());
      await this.#ledger.flushAll();
      await insertDeliveryEvent(this.env.DB, { accountId: this.#accountId, taskId, outcome, at });
      this.#events++;
    });
  }

  /** The account's tasks and chats that D1 does not have: open ones, and settled ones that are not written yet. */
  unwritten(): WalletEntry[] {
    return this.#book.unwritten();
  }

  /** Sets the quota of the account or of one of its keys, or adds to it. `below_use` if it would be below the used and reserved amounts. Adding to an unlimited quota leaves it unlimited. */
  changeQuota(id: string, change: QuotaChange, by: Actor = gateway): Promise<"changed" | "below_use"> {
    return this.#ledger.inTurn(async () => {
      await this.#ledger.flushAll();
      // A restored database gets the account's quota from this object.
      if (id === this.#accountId) return this.#ledger.changeAccountQuota(change, by);
      const changed = await this.#ledger.changeKeyQuota(id, change, by);
      if (changed === "changed") await this.#record({ act: "key_quota", id, quota: this.#store.loaded.keys[id]?.quota ?? null });
      return changed;
    });
  }

  /**
   * Moves the account's quota by a credit or debit, once for each id: a repeat, also after a restored database, changes nothing. A debit may
   * take the quota below what is used: then nothing new is held until it is covered. Throws if the outcome is unknown; repeat it then.
   */
  credit(credit: Credit, by: Actor = gateway): Promise<"credited" | "known"> {
    return this.#ledger.inTurn(async () => {
      if (this.#store.hasCredit(credit.id)) return "known";
      await this.#ledger.flushAll();
      return this.#ledger.credit(credit, by);
    });
  }

  /** Sets the budget of the account or of one of its keys; null removes it. Amounts already spent in its window count. */
  changeBudget(id: string, budget: Budget | null, by: Actor = gateway): Promise<void> {
    return this.#ledger.inTurn(async () => {
      const { revision = 0 } = (await this.#ledger.certain()) ?? {};
      const state = await this.#ledger.refresh(id === this.#accountId ? [] : [id]);
      const before = factsOf(id === this.#accountId ? state?.budget : state?.keys[id]?.budget);
      const act = { act: "budget_changed", target: id, before, after: factsOf(budget) } as const;
      if (!(await setBudget(this.env.DB, id, budget, revision, { accountId: this.#accountId, by, act })))
        throw new Error("the wallet does not exist");
      // With all known keys: rows that were read before keys had owners do not name them.
      await this.#ledger.refresh(id === this.#accountId ? [] : [id, ...Object.keys(this.#store.state?.keys ?? {})]);
      this.#store.save();
      await this.#record({ act: "budget", id, budget });
    });
  }

  /** Records a change that this object has made in D1 itself. */
  async #record(change: AccountChange): Promise<void> {
    await changeKeys(this.env.DB, { announceKeys: (_, recorded) => this.announceKeys(recorded) }, this.#accountId, [], change);
  }

  /** Announces a change of the account's access; returns its revision. See `WalletKeys.announce`. */
  async announceKeys(change?: AccountChange): Promise<number> {
    const revision = await this.#keys.announce(change);
    this.#store.arm(this.#nextAlarm());
    // The storage has the change: if the bucket does not answer, the alarm stores it there.
    this.ctx.waitUntil(this.#keys.store().catch((error: unknown) => this.#failed(error)));
    return revision;
  }

  /** See `WalletKeys.check`. `primary` are the rows of the account and of a key that were just read from the primary, together with `seen`. */
  checkKeys(seen?: number, primary: WalletRow[] | null = null): Promise<KeysCheck> {
    if (primary) this.#ledger.learn(primary);
    return this.#keys.check(seen, primary !== null);
  }

  /** The revision of the restored database, null if the database was not restored or the operator has decided. All changes are in the bucket after that. Throws if D1 or the bucket does not answer. */
  async restoredTo(): Promise<number | null> {
    await this.#keys.check(undefined);
    await this.#keys.store();
    return this.#keys.restoredTo ?? null;
  }

  /** Stores the changes in the bucket that it does not have yet. Throws if it does not answer. */
  storeChanges(): Promise<void> {
    return this.#keys.store();
  }

  /** Accepts the account's keys again after the operator's decision. */
  decideRestored(): Promise<void> {
    return this.#keys.decide();
  }

  /** Counts an event stream or wait of a key or client token, for some seconds. False if it has the maximum of others already. */
  holdWait(caller: string, wait: string): boolean {
    return this.#waits.hold(caller, wait, Date.now());
  }

  endWait(caller: string, wait: string): void {
    this.#waits.end(caller, wait);
  }

  /** The object's own sums, and whether D1 has granted what the object holds: first everything that is owed is written, and nothing is under way. */
  audit(): Promise<WalletSums> {
    return this.#ledger.inTurn(async () => {
      await this.#ledger.flushAll();
      const { granted, lost } = (await this.#ledger.certain()) ?? { granted: 0, lost: 0 };
      const { held, owed } = this.#book.sums();
      const [row] = await readRows(this.env.DB, [this.#accountId]);
      const isGrantRight = (row?.granted ?? 0) === granted && granted >= held + owed;
      this.#store.arm(this.#nextAlarm());
      return { granted, isGrantRight, held, open: [...this.#book.open()].length, lost };
    });
  }

  /** Returns the grant of lost storage that no task has claimed, once no task can claim it any more. Millionths, 0 before; may be repeated. Throws if D1 does not answer. */
  reconcile(): Promise<number> {
    return this.#ledger.inTurn(async () => {
      const state = await this.#ledger.certain();
      if (!state?.lost || state.lostAt > Date.now() - claimMs) return 0;
      const { lost } = state;
      state.lost = 0;
      await this.#ledger.giveBack(lost);
      return lost;
    });
  }

  /** Writes settled entries to D1, settles chats past their deadline, returns the unused grant. Never throws, because the platform would retry a throw six times and then drop the alarm. */
  override async alarm(): Promise<void> {
    this.#store.disarm();
    const now = Date.now();
    const released = this.#holds.release(now);
    if (released > 0) alert("settle", { account: this.#accountId, outcome: "deadline_exceeded", chats: released });
    try {
      await this.#ledger.inTurn(async () => {
        await this.#ledger.flushAll(true);
        if (this.#store.state?.isUnsure) await this.#ledger.certain();
        if (this.#store.unused() > 0 && now >= this.#ledger.idleAt) await this.#ledger.giveBackUnused();
      });
      if ((await sendAlerts(this.env.NOTIFY, this.#store.state?.alerts ?? [])) > 0) this.#store.save();
      await this.#holds.ask(this.env.TASKS, this.#accountId, now);
      await this.#keys.work();
      this.#store.arm(this.#nextAlarm());
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Writes full batches to D1, one at a time: each would otherwise be followed by a small one of what was settled meanwhile. Other writes, such as grants, come between them. */
  async #flushFull(): Promise<void> {
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
    const now = Date.now();
    const { state } = this.#store;
    const flushAt = this.#book.outboxSize > 0 || state?.alerts.length ? now + flushMs : Infinity;
    const next = Math.min(flushAt, this.#holds.nextAt(now), this.#keys.nextAt(now));
    const isIdle = this.#store.unused() > 0 || state?.isUnsure;
    return isIdle ? Math.min(next, Math.max(this.#ledger.idleAt, now + retryMs)) : next;
  }

  #failed(error: unknown): void {
    alert("settle", { account: this.#accountId, outcome: "retry" }, error);
    this.#store.arm(Date.now() + retryMs);
  }
}
