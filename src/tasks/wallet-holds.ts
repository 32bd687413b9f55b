/** The holds of a wallet object: makes them from the grant, and settles them. */

import type { Charge } from "../db/ledger.ts";
import { alert } from "../log.ts";
import { RecentDemand } from "./recent-demand.ts";
import type { Page, WalletBook, WalletEntry } from "./wallet-book.ts";
import { batchSize, type WalletLedger } from "./wallet-ledger.ts";
import { noteAlerts, refusal, type ReserveAnswer, type ReserveRules } from "./wallet-limits.ts";
import type { ChatCall } from "./wallet-line.ts";
import { holdEndsAt, type OldHolds } from "./wallet-old-holds.ts";
import { missingWindows } from "./wallet-state.ts";
import { chargeVersion, isNewer, requireKnown } from "../versions.ts";

/** Settled entries reach D1 after this time at the latest. */
export const flushMs = 5_000;
/** An unused grant is returned after this time. */
export const idleMs = 60_000;
/** The maximum age of rows for refusing a hold. */
const staleMs = 5_000;
const maxAttempts = 5;

/** The functions of the object that its holds use. */
export interface WalletFrame {
  /** Stores a changed page or, without one, the state; an alarm fires at `wakeAt` (milliseconds) at the latest. */
  store(page?: Page, wakeAt?: number): void;
  /** Writes full batches of settled entries to D1. */
  flush(): void;
}

export class WalletHolds {
  readonly #book: WalletBook;
  readonly #ledger: WalletLedger;
  readonly #oldHolds: OldHolds;
  readonly #frame: WalletFrame;
  readonly #demand = new RecentDemand();

  constructor(book: WalletBook, ledger: WalletLedger, oldHolds: OldHolds, frame: WalletFrame) {
    this.#book = book;
    this.#ledger = ledger;
    this.#oldHolds = oldHolds;
    this.#frame = frame;
  }

  /** See `WalletObject`. */
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
          if (!(await this.#ledger.inTurn(() => this.#ledger.grant(amount, this.#demand.perMinute)))) return { answer: "insufficient" };
        } else if (tried.answer === "insufficient" && now - this.#ledger.readAt > staleMs) {
          await this.#ledger.refresh([charge.keyId]);
        } else {
          if (tried.answer === "budget" && noteAlerts(this.#ledger.loaded, this.#book, charge.keyId, now, amount))
            this.#frame.store(undefined, now + flushMs);
          return tried;
        }
      }
    } catch (error) {
      alert("reserve", { task: charge.taskId, account: charge.accountId, outcome: "unavailable" }, error);
    }
    return { answer: "unavailable" };
  }

  /** Holds the amount if D1 is not needed for that. Otherwise the refusal, or what is missing: rows that were not read yet, or a larger grant. */
  #tryHold(charge: Charge, amount: number, rules: ReserveRules, now: number): ReserveAnswer | "unread" | "ungranted" {
    const isOpen = this.#book.isOpen(charge.taskId);
    if (isOpen !== undefined) {
      this.#oldHolds.used(charge.taskId);
      return { answer: isOpen ? "reserved" : "closed" };
    }
    const { state } = this.#ledger;
    // A window may have ended or a budget may have changed during a query of D1.
    if (!state?.keys[charge.keyId] || missingWindows(state, [charge.keyId], now).length > 0) return "unread";
    const refused = refusal(state, this.#book, charge, amount, rules, now);
    if (refused) return refused;
    if (this.#ledger.free() < amount) return "ungranted";
    this.#hold(charge, amount, rules.deadline, now);
    return { answer: "reserved" };
  }

  #hold({ taskId, keyId, kind, model }: Charge, amount: number, deadline: number | undefined, now: number): void {
    const hold: WalletEntry = { taskId, keyId, kind, model, held: amount, at: now, ...(deadline !== undefined && { deadline }) };
    this.#demand.add(amount, now);
    const page = this.#book.add(hold);
    if (noteAlerts(this.#ledger.loaded, this.#book, keyId, now)) this.#ledger.isStored = false; // stored with the hold
    this.#frame.store(page, deadline === undefined ? holdEndsAt(hold) : Math.min(now + idleMs, deadline));
  }

  /** See `WalletObject`. */
  async settle(charge: Charge, charged: number, outcome: string, held: number): Promise<void> {
    requireKnown(charge, chargeVersion);
    if (held > 0 && this.#book.isOpen(charge.taskId) === undefined) await this.recover(charge, held);
    if (this.#end(charge, charged, outcome)) return;
    const at = Date.now();
    const { taskId, keyId, kind, model } = charge;
    this.#frame.store(this.#book.add({ taskId, keyId, kind, model, held: 0, at, end: { charged: 0, outcome, at, n: 0 } }));
  }

  /** Settles a known hold, the first time; false for an unknown task. */
  #end({ taskId }: Charge, charged: number, outcome: string): boolean {
    const isOpen = this.#book.isOpen(taskId);
    if (!isOpen) return isOpen === false;
    const now = Date.now();
    this.#frame.store(this.#book.settle(taskId, { charged, outcome, at: now }), now + flushMs);
    if (this.#book.outboxSize >= batchSize) this.#frame.flush();
    return true;
  }

  /** Makes a chat's call if that needs neither D1 nor a message about a refusal; otherwise changes nothing and returns false. */
  tryChat(call: ChatCall): boolean {
    const { charge, held } = call;
    if (isNewer(charge, chargeVersion)) return false;
    if ("outcome" in call) return this.#end(charge, call.charged, call.outcome);
    const tried = this.#tryHold(charge, held, call, Date.now());
    return typeof tried === "object" && tried.answer === "reserved";
  }

  /** See `WalletObject`. */
  async recover(charge: Charge, held: number): Promise<void> {
    const now = Date.now();
    const state = await this.#ledger.load([charge.keyId], now);
    if (!state || state.lost < held || this.#book.isOpen(charge.taskId) !== undefined) return;
    state.lost -= held;
    this.#ledger.isStored = false; // stored with the hold
    this.#hold(charge, held, undefined, now);
  }
}
