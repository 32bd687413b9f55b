/** The gateway's API for the console: requests of users whom the console has authenticated, without an API key. */

import { RpcTarget } from "cloudflare:workers";
import type { Caller } from "./db/callers.ts";
import { authenticateAs } from "./api/auth.ts";
import { pricesAndRoutes } from "./config.ts";
import type { Api, Upstreams } from "./console/api.ts";
import { toObjectId } from "./ids.ts";
import { ObjectsApi } from "./objects-api.ts";
import type { Reconciliation } from "./operations/objects.ts";
import { providerStates } from "./providers/index.ts";
import type { Budget } from "./db/grants.ts";
import type { WalletSums } from "./db/audit.ts";
import type { Task } from "./tasks/record.ts";
import type { WalletEntry } from "./tasks/wallet-book.ts";
import type { WalletView } from "./tasks/wallet-limits.ts";
import { auditWallet, changeBudget, changeQuota, readBalances, readUnwritten } from "./tasks/wallets.ts";

/** Passed to the console with each request, so that neither Worker needs a public address. */
export class ConsoleApi extends RpcTarget implements Api {
  readonly #answer: (request: Request) => Promise<Response>;
  readonly #env: Env;

  /** `answer` is the gateway's request handler. */
  constructor(env: Env, answer: (request: Request) => Promise<Response>) {
    super();
    this.#env = env;
    this.#answer = answer;
  }

  ask(caller: Caller, request: Request): Promise<Response> {
    authenticateAs(request, caller);
    return this.#answer(request);
  }

  async record(accountId: string, taskId: string): Promise<Task | null> {
    const { TASKS } = this.#env;
    const id = toObjectId(TASKS, taskId);
    return id ? await TASKS.get(id).read(accountId) : null;
  }

  async balances(accountId: string, keyIds?: string[]): Promise<Record<string, WalletView>> {
    return readBalances(this.#env.WALLETS, accountId, keyIds);
  }

  async changeQuota(accountId: string, id: string, change: { quota: number | null } | { add: number }): Promise<"changed" | "below_use"> {
    return changeQuota(this.#env.WALLETS, accountId, id, change);
  }

  async changeBudget(accountId: string, id: string, budget: Budget | null): Promise<void> {
    return changeBudget(this.#env.WALLETS, accountId, id, budget);
  }

  async unwritten(accountId: string): Promise<WalletEntry[]> {
    return readUnwritten(this.#env.WALLETS, accountId);
  }

  async auditWallet(accountId: string): Promise<WalletSums> {
    return auditWallet(this.#env.WALLETS)(accountId);
  }

  async reconcile(after: string | undefined): Promise<Reconciliation | undefined> {
    return this.#env.OPERATIONS?.reconcile(new ObjectsApi(this.#env), { after });
  }

  async erase(accountId: string) {
    return this.#env.OPERATIONS?.erase(new ObjectsApi(this.#env), accountId);
  }

  async upstreams(): Promise<Upstreams> {
    return { providers: providerStates(this.#env), ...pricesAndRoutes(this.#env) };
  }
}
