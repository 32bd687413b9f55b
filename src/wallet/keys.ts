/**
 * The changes of an account's access, as its wallet object knows them. Their revision shows a reader of a replica that the replica lags, and
 * a reader of the database that it was restored. Changes wait here until the bucket has them.
 */

import { storeChange } from "../storage/change-log.ts";
import { readKeysRevision, type AccountChange } from "../db/account-changes.ts";
import { endIncident, recordIncident } from "../db/alerts.ts";
import { alert } from "../base/log.ts";

/** A change takes effect in D1 within this time after its announcement, or not at all. */
const effectMs = 60_000;
const retryMs = 5_000;
/** How long a reading of D1's revision is used for callers who do not have one. */
const readMs = 8_000;

interface AccessState {
  /** The object's name, which the platform does not pass to an object that an alarm starts. */
  accountId?: string;
  /** The highest revision that D1 is known to have had. A lower one in D1 means that the database was restored. */
  written?: number;
  /** The revision of the restored database, until the operator has decided what to do. */
  restoredTo?: number | undefined;
  /** Until then the object asks D1 whether the last announced change took effect. */
  unsureUntil?: number | undefined;
}

/** What the wallet object answers about the account's keys. */
export interface KeysCheck {
  /** The revision of the last announced change: a row with a lower one may be out of date. */
  announced: number;
  /** True if a restored database undid changes, and the operator has not decided about them: the keys are refused. */
  isRestored: boolean;
}

const changePrefix = "change/";

export class WalletKeys {
  readonly #storage: DurableObjectStorage;
  readonly #env: Pick<Env, "DB" | "ASSETS">;
  readonly #name: () => string | undefined;
  /** What is stored, read once. */
  #state: AccessState;
  /** The revision of the last announced change; undefined before the first call. */
  #announced: number | undefined;
  /** When D1's revision was last read. */
  #readAt = 0;

  constructor(storage: DurableObjectStorage, env: Pick<Env, "DB" | "ASSETS">, name: () => string | undefined) {
    this.#storage = storage;
    this.#env = env;
    this.#name = name;
    this.#state = storage.kv.get<AccessState>("access") ?? {};
    this.#announced = storage.kv.get<number>("keys");
  }

  /** Notes that the account's keys are about to change, and the change itself. Returns the revision that the change stores in D1. */
  async announce(change: AccountChange | undefined): Promise<number> {
    // Otherwise the new revision would hide that the database was restored to before an earlier change.
    await this.#compare(await this.#readRevision());
    const { kv } = this.#storage;
    const revision = Math.max(Date.now(), (this.#announced ?? 0) + 1);
    kv.put("keys", (this.#announced = revision));
    this.#save({ accountId: this.accountId, unsureUntil: Date.now() + effectMs });
    if (change) kv.put(`${changePrefix}${revision}`, change);
    return revision;
  }

  /**
   * Compares the revision of a row that was read from D1 or a replica; without one, that of D1. `isPrimary`: it was just read from D1 itself.
   * Throws if D1 has to be queried and does not answer.
   */
  async check(seen: number | undefined, isPrimary = false): Promise<KeysCheck> {
    if (seen !== undefined) await this.#compare(seen);
    else if (Date.now() - this.#readAt > readMs) await this.#compare(await this.#readRevision());
    return { announced: await this.announced(isPrimary ? seen : undefined), isRestored: this.restoredTo !== undefined };
  }

  /**
   * The revision of the last announced change. `read` is D1's, if it was just read. Throws if D1 has to be queried, at the first call, and
   * does not answer.
   */
  async announced(read?: number): Promise<number> {
    if (this.#announced !== undefined) return this.#announced;
    const stored = read ?? (await this.#readRevision());
    // A change may have been announced meanwhile.
    if (this.#announced === undefined) this.#storage.kv.put("keys", (this.#announced = stored));
    return this.#announced;
  }

  /** The revision of the restored database; undefined if it was not restored, or the operator has decided. */
  get restoredTo(): number | undefined {
    return this.#state.restoredTo;
  }

  /** Ends the refusal of the keys: the operator has decided, and D1 has a new revision. */
  async decide(): Promise<void> {
    const written = await this.#readRevision();
    await endIncident(this.#env.DB, "restored", this.accountId);
    this.#save({ written, restoredTo: undefined });
  }

  /** Stores the changes that the bucket does not have yet, in their order. Throws if it does not answer. */
  async store(): Promise<void> {
    // All are read before the first wait, because others may be added meanwhile.
    const changes = Array.from(this.#storage.kv.list<AccountChange>({ prefix: changePrefix }));
    for (const [key, change] of changes) {
      await storeChange(this.#env.ASSETS, this.accountId, { revision: Number(key.slice(changePrefix.length)), change });
      this.#storage.kv.delete(key);
    }
  }

  /** When `work` is due, in milliseconds; Infinity if nothing is. */
  nextAt(now: number): number {
    const [first] = this.#storage.kv.list({ prefix: changePrefix, limit: 1 });
    return first || this.#state.unsureUntil !== undefined ? now + retryMs : Infinity;
  }

  /** Finds out whether the last announced change took effect, and stores the changes that the bucket does not have. Throws on a fault. */
  async work(): Promise<void> {
    const { unsureUntil } = this.#state;
    if (unsureUntil !== undefined) {
      const revision = await this.#readRevision();
      await this.#compare(revision);
      const hasEffect = revision >= (this.#announced ?? 0);
      if ((hasEffect || unsureUntil < Date.now()) && this.#state.unsureUntil === unsureUntil) this.#save({ unsureUntil: undefined });
    }
    await this.store();
  }

  /** Learns that D1 or a replica had this revision; if D1 had a higher one, makes sure that it has lost it. */
  async #compare(seen: number): Promise<void> {
    const { written = 0, restoredTo = Infinity } = this.#state;
    if (seen > written) this.#save({ written: seen });
    if (seen >= written || seen >= restoredTo) return;
    // The row may be from a replica, or from before a change that took effect meanwhile.
    const stored = await this.#readRevision();
    if (stored >= written || stored >= (this.#state.restoredTo ?? Infinity)) return;
    this.#save({ restoredTo: stored });
    alert("keys", { account: this.accountId, outcome: "database_restored" });
    await recordIncident(this.#env.DB, "restored", this.accountId);
  }

  async #readRevision(): Promise<number> {
    const revision = await readKeysRevision(this.#env.DB, this.accountId);
    this.#readAt = Date.now();
    return revision;
  }

  /** Throws if no change was announced and nothing else has the id. */
  get accountId(): string {
    const id = this.#name() ?? this.#state.accountId;
    if (id === undefined) throw new Error("the account of this wallet is not known");
    return id;
  }

  #save(changed: Partial<AccessState>): void {
    this.#storage.kv.put("access", (this.#state = { ...this.#state, ...changed }));
  }
}
