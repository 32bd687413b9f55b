/** What a batch waits for, and until when: money, its key, room among the open tasks, makers that are busy, and faults. */

import { findKey } from "../../db/api-keys.ts";
import { type Caller, findCallerByHash, findCallerById } from "../../db/callers.ts";
import type { Batch, BatchStore, BatchTerms } from "./state.ts";

/** How long a batch waits for balance, for its paused key, or for busy makers of a model. */
const maxWaitMs = 24 * 3_600_000;
/** The longest time between two attempts, and between two of lines that wait for the account's open tasks, which end soon. */
const [maxDelayMs, maxOpenDelayMs] = [600_000, 60_000];
const retryMs = { balance: 15_000, open_tasks: 3_000, fault: 5_000 };

/**
 * The caller as it is now: the key may have ended, its scope may have changed, and its owner may have lost the right to use it. Throws while the
 * account's keys are refused because the database was restored: the batch goes on when the operator has decided.
 */
export async function findCaller(env: Env, { accountId, keyHash, keyId }: BatchTerms): Promise<Caller | undefined> {
  const caller = await (keyHash === undefined ? findCallerById(env, keyId) : findCallerByHash(env, keyHash));
  if (!caller && (await env.WALLETS.getByName(accountId).checkKeys()).isRestored) throw new Error("the database was restored");
  return caller;
}

export class BatchWaits {
  readonly #db: Env["DB"];
  readonly #store: BatchStore;
  /** When each wait ends, in milliseconds, by the kind of lines that wait (`toKind`); undefined for a wait of all. */
  readonly #ends = new Map<string | undefined, number>();
  /** When the wait ends that callers see. */
  #notedUntil = 0;

  constructor(db: Env["DB"], store: BatchStore) {
    this.#db = db;
    this.#store = store;
  }

  /** Makes the lines of this kind, or without one all lines, wait for at least this time. */
  begin(ms: number, kind?: string): void {
    this.#ends.set(kind, Math.max(this.#ends.get(kind) ?? 0, Date.now() + Math.ceil(ms)));
  }

  /** True while lines of this kind wait; without one, while all do. */
  isOn(kind?: string): boolean {
    return (this.#ends.get(kind) ?? 0) > Date.now();
  }

  /** When the next wait ends, in milliseconds; Infinity if nothing waits. */
  nextEnd(): number {
    return Math.min(...[...this.#ends.values()].filter((at) => at > Date.now()), Infinity);
  }

  /** A line has begun: there is no fault, and the batch does not wait, unless another line was refused while this one was made. */
  lineBegan(): void {
    const { waiting: noted, faultSince, ...batch } = this.#store.current;
    const waiting = Date.now() >= this.#notedUntil ? undefined : noted;
    if (waiting !== noted || faultSince !== undefined) this.#store.write({ ...batch, waiting });
  }

  /** How long to wait after a fault of ours, in milliseconds: longer each time, until a line begins or all are checked. */
  afterFault(): number {
    const { batch } = this.#store;
    const now = Date.now();
    const since = batch?.faultSince ?? now;
    if (batch?.faultSince === undefined && batch) this.#store.write({ ...batch, faultSince: since });
    return toDelay(retryMs.fault, (now - since) / 10, maxDelayMs);
  }

  /**
   * Begins a wait that callers see, of all lines or of those of a kind, and returns its milliseconds. undefined if no line has begun for too
   * long: then the rest of them fail.
   */
  note(what: NonNullable<Batch["waiting"]>["for"], until = 0, kind?: string): number | undefined {
    const batch = this.#store.current;
    const now = Date.now();
    if (batch.stop !== undefined) return undefined;
    const isOpen = what === "open_tasks";
    // Waiting for open tasks in between does not begin the day again.
    const balanceSince = batch.waiting?.balanceSince ?? (isOpen ? undefined : now);
    const openSince = isOpen ? (batch.waiting?.openSince ?? now) : undefined;
    const waited = now - (openSince ?? balanceSince ?? now);
    if (!isOpen && waited >= maxWaitMs) {
      this.#store.stop(what === "key" ? "unauthorized" : "insufficient_quota");
      return undefined;
    }
    const waiting = { for: what, ...(balanceSince !== undefined && { balanceSince }), ...(openSince !== undefined && { openSince }) };
    if (batch.waiting?.for !== what || batch.waiting.balanceSince !== balanceSince) this.#store.write({ ...batch, waiting });
    const ms = isOpen
      ? toDelay(retryMs.open_tasks, waited / 10, maxOpenDelayMs)
      : toDelay(retryMs.balance, Math.max(until - now, waited / 10), maxDelayMs);
    this.#notedUntil = now + Math.ceil(ms);
    this.begin(ms, kind);
    return ms;
  }

  /** No caller has the batch's key: a batch waits for a paused one, returns for how many milliseconds, and stops for any other. */
  async noteKey(): Promise<number | undefined> {
    const { keyHash, keyId } = this.#store.current.terms;
    const key = await findKey(this.#db, keyHash ?? keyId);
    if (!this.#store.batch) return undefined;
    if (key && key.pausedAt !== null && (key.expiresAt ?? Infinity) > Date.now()) return this.note("key");
    this.#store.stop("unauthorized");
    return undefined;
  }

  // Busy makers

  /** The makers of a line have refused it and may take it later: the lines of its kind wait. False if none of them was answered for too long. */
  lineRefused(kind: string, retryAfterMs: number): boolean {
    const batch = this.#store.current;
    const now = Date.now();
    const since = batch.refused?.[kind];
    const waited = now - (since ?? now);
    const isTooLong = waited >= maxWaitMs;
    if (since === undefined || isTooLong) this.#store.write({ ...batch, refused: { ...batch.refused, [kind]: isTooLong ? givenUp : now } });
    if (!isTooLong) this.begin(toDelay(Math.max(retryAfterMs, retryMs.fault), waited / 10, maxDelayMs), kind);
    return !isTooLong;
  }

  /** True if the makers refused the last line of this kind: one suffices to find out whether they still do. */
  isRefused(kind: string): boolean {
    return Boolean(this.#store.current.refused?.[kind]);
  }

  /** A line of this kind is about to begin. */
  lineBegins(kind: string): void {
    if (this.isRefused(kind)) this.begin(retryMs.fault, kind);
  }

  /**
   * A line of this kind has ended otherwise than by such a refusal. `isUnknown`: its maker may be down; as after a refusal the others begin one at
   * a time, until one is answered.
   */
  lineEnded(kind: string, isUnknown = false): void {
    if (isUnknown) return void this.lineRefused(kind, 0);
    const batch = this.#store.current;
    if (!batch.refused?.[kind]) return;
    const { [kind]: _since, ...refused } = batch.refused;
    this.#store.write({ ...batch, refused });
  }

  /** True once the lines of this kind have waited for too long: they are not asked for any more. */
  isGivenUp(kind: string): boolean {
    return this.#store.current.refused?.[kind] === givenUp;
  }
}

/** In the place of a time. */
const givenUp = 0;

/** The time until the next attempt, within bounds. `wantedMs` grows with the time waited: thousands of waiting batches ask less and less often. */
const toDelay = (minMs: number, wantedMs: number, maxMs: number) => Math.max(minMs, Math.min(wantedMs, maxMs));
