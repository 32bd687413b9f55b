/** The gateway's wallet and task objects for other Workers, passed to them with each call, so that no Worker needs another one to be deployed first. */

import type { AccountChange, Announcer } from "../db/account-changes.ts";
import { RpcTarget } from "cloudflare:workers";
import type { WalletSums } from "../db/audit.ts";
import type { Charge } from "../db/ledger.ts";
import type { LowBalance } from "../db/low-balances.ts";
import { sealDestinations } from "../db/destinations.ts";
import { sealSecrets } from "../db/webhooks.ts";
import { toBatchObjectId, toObjectId } from "../base/ids.ts";
import { isFinal } from "../tasks/record.ts";
import { type ListedRoute, listRoutes } from "./listed-routes.ts";
import { refusedModels } from "./refused-models.ts";
import type { TaskObject } from "../tasks/object/task-object.ts";
import type { WalletEntry } from "../wallet/book.ts";

/** The number of webhooks that one call reads. */
const sealedPerCall = 500;

/** What both the console and the operations Worker may ask of an account's wallet object. */
export abstract class SharedObjects extends RpcTarget implements Announcer {
  readonly #env: Env;

  constructor(env: Env) {
    super();
    this.#env = env;
  }

  /** Announces a change of the account's access; returns its revision. See `db/account-changes.ts`. */
  async announceKeys(accountId: string, change?: AccountChange): Promise<number> {
    return this.#env.WALLETS.getByName(accountId).announceKeys(change);
  }

  /**
   * An account's sums in its wallet object. Before that the object writes its settled entries to D1, and after a restore those that D1
   * lost.
   */
  async auditWallet(accountId: string): Promise<WalletSums> {
    return this.#env.WALLETS.getByName(accountId).audit();
  }

  /** The account's tasks and chats that D1 does not have: open ones, and ended ones that are not written yet. Ask before D1. */
  async unwritten(accountId: string): Promise<WalletEntry[]> {
    return this.#env.WALLETS.getByName(accountId).unwritten();
  }
}

/** What the operations Worker may ask, and the gateway itself. Every public method is callable over RPC. */
export class Objects extends SharedObjects {
  readonly #env: Env;

  constructor(env: Env) {
    super(env);
    this.#env = env;
  }

  #wallet(accountId: string) {
    return this.#env.WALLETS.getByName(accountId);
  }

  #task(taskId: string): DurableObjectStub<TaskObject> | undefined {
    const id = toObjectId(this.#env.TASKS, taskId);
    return id && this.#env.TASKS.get(id);
  }

  /** Stores the account's changes in the bucket that it does not have yet. */
  async storeChanges(accountId: string): Promise<void> {
    await this.#wallet(accountId).storeChanges();
  }

  /** The revision of the database that was restored to before the account's last change; null if nothing is lost or the operator has decided. After that the bucket has all changes. */
  async restoredTo(accountId: string): Promise<number | null> {
    return this.#wallet(accountId).restoredTo();
  }

  /** Sets a key's quota or a budget again that a restored database lost. Nothing is set for a wallet that the database does not have. */
  async limitAgain(accountId: string, change: AccountChange): Promise<void> {
    const wallet = this.#wallet(accountId);
    if (change.act !== "key_quota" && change.act !== "budget") return;
    const { id } = change;
    const balance = (await wallet.balances(id === accountId ? [] : [id]))[id];
    if (!balance) return;
    if (change.act === "budget") await wallet.changeBudget(id, change.budget);
    // A quota below what is used by now becomes that amount: the key can spend nothing more.
    else if ((await wallet.changeQuota(id, { quota: change.quota })) === "below_use")
      await wallet.changeQuota(id, { quota: balance.used + balance.reserved });
  }

  /** Accepts the account's keys again, after the operator's decision. */
  async decideRestored(accountId: string): Promise<void> {
    await this.#wallet(accountId).decideRestored();
  }

  /** Seals the secrets of webhooks and destinations of the next accounts after `after` with the current key; returns the last of them, undefined after the last one of all. */
  async sealSecrets(after: string): Promise<string | undefined> {
    const last = await sealSecrets(this.#env, after, sealedPerCall);
    await sealDestinations(this.#env, after, last);
    return last;
  }

  /** Tells the account's owners that its balance is low. Throws if the e-mail is not accepted. */
  async mailLowBalance(low: LowBalance): Promise<void> {
    await this.#env.CONSOLE?.mailLowBalance(low);
  }

  /** What is known of the ends of all routes; asks the makers, and takes some seconds. */
  async listRoutes(): Promise<ListedRoute[]> {
    return listRoutes(this.#env);
  }

  /** The operator's entries of models that this release refuses: by model, the wrong fields. */
  async refusedModels(): Promise<Record<string, string[]>> {
    return refusedModels(this.#env);
  }

  /** The state of a task, read only. "gone": it has no record. */
  async taskState(accountId: string, taskId: string): Promise<"final" | "open" | "gone"> {
    const task = await this.#task(taskId)?.read(accountId);
    return task ? (isFinal(task) ? "final" : "open") : "gone";
  }

  /** Runs the overdue step of a task's object, and settles the task again if it has ended. "gone": the hold has no task. */
  async settleAgain(accountId: string, taskId: string): Promise<"settled" | "open" | "gone"> {
    return (await this.#task(taskId)?.tellWallet(accountId)) ?? "gone";
  }

  /** Releases a hold of the wallet object without a charge, because its task has no record. */
  async returnHold(charge: Charge): Promise<void> {
    await this.#wallet(charge.accountId).settle(charge, 0, "refused");
  }

  /** Returns the amount that was granted to a wallet object's lost storage and that no task has claimed. Millionths; 0 within a day of the loss. */
  async returnLost(accountId: string): Promise<number> {
    return this.#wallet(accountId).reconcile();
  }

  /** True or "ended" if the batch's object exists: its row is written before it. */
  async hasBatch(accountId: string, batchId: string): Promise<boolean | "ended"> {
    const { BATCHES } = this.#env;
    const id = toBatchObjectId(BATCHES, batchId);
    const view = id && (await BATCHES.get(id).view(accountId));
    return view?.ended_at === undefined ? Boolean(view) : "ended";
  }

  /** Removes a batch: nothing new begins. Its tasks are erased by themselves. */
  async eraseBatch(accountId: string, batchId: string): Promise<void> {
    const { BATCHES } = this.#env;
    const id = toBatchObjectId(BATCHES, batchId);
    if (id) await BATCHES.get(id).erase(accountId);
  }

  /** Cancels the task if it is open, and deletes its files and record. False if its settlement fails. */
  async erase(accountId: string, taskId: string): Promise<boolean> {
    const task = this.#task(taskId);
    if (!task) return true;
    if ((await task.remove(accountId)) === "open") {
      await task.cancel({ view: "generic", language: "en", accountId, base: "" });
      await task.remove(accountId);
    }
    return (await task.read(accountId)) === null;
  }
}
