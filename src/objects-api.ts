/** The gateway's objects for the operations Worker, passed to it with each call, so that neither Worker needs the other one to be deployed first. */

import { RpcTarget } from "cloudflare:workers";
import type { WalletSums } from "./db/audit.ts";
import type { Charge } from "./db/ledger.ts";
import { toObjectId } from "./ids.ts";
import type { Objects, Settled } from "./operations/objects.ts";
import { isFinal } from "./tasks/record.ts";
import type { TaskObject } from "./tasks/task-object.ts";
import type { WalletEntry } from "./tasks/wallet-book.ts";

export class ObjectsApi extends RpcTarget implements Objects {
  readonly #env: Env;

  constructor(env: Env) {
    super();
    this.#env = env;
  }

  #wallet(accountId: string) {
    return this.#env.WALLETS.getByName(accountId);
  }

  #task(taskId: string): DurableObjectStub<TaskObject> | undefined {
    const id = toObjectId(this.#env.TASKS, taskId);
    return id && this.#env.TASKS.get(id);
  }

  async auditWallet(accountId: string): Promise<WalletSums> {
    return this.#wallet(accountId).audit();
  }

  async unwritten(accountId: string): Promise<WalletEntry[]> {
    return this.#wallet(accountId).unwritten();
  }

  async taskState(accountId: string, taskId: string): Promise<"final" | "open" | "gone"> {
    const task = await this.#task(taskId)?.read(accountId);
    return task ? (isFinal(task) ? "final" : "open") : "gone";
  }

  async settleAgain(accountId: string, taskId: string): Promise<Settled> {
    return (await this.#task(taskId)?.tellWallet(accountId)) ?? "gone";
  }

  async returnHold(charge: Charge): Promise<void> {
    await this.#wallet(charge.accountId).settle(charge, 0, "refused");
  }

  async returnLost(accountId: string): Promise<number> {
    return this.#wallet(accountId).reconcile();
  }

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
