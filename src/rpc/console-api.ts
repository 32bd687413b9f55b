/** What the gateway hands to the console with each request: its own API, called as the user whom the console has authenticated, and the objects. */

import type { Caller } from "../db/callers.ts";
import { liveCatalog } from "../current-catalog.ts";
import { alert } from "../base/log.ts";
import { toBatchObjectId, toObjectId } from "../base/ids.ts";
import { retryRestart } from "../base/retry.ts";
import { Objects, SharedObjects } from "./objects.ts";
import { PaymentObjects } from "./payment-objects.ts";
import type { CheckoutAnswer, CheckoutOrder, PaymentOptions, StoredCard, TopUpAnswer, TopUpOrder } from "./payments.ts";
import type { Delivery, Reconciliation, RestoredDecision } from "./operations.ts";
import { providerStates } from "../providers/index.ts";
import type { Actor } from "../db/audit-log.ts";
import type { Budget } from "../db/grants.ts";
import { vouch, vouchAsOperator } from "../db/vouched.ts";
import { readWebhook } from "../db/webhooks.ts";
import type { Price, Route } from "../catalog/models.ts";
import type { EndedLines, FailureGroup, LineQuery } from "../tasks/batch-line.ts";
import type { Task } from "../tasks/record.ts";
import { refusedModels } from "./refused-models.ts";
import { type Redeemed, redeemCode } from "../wallet/codes.ts";
import type { WalletView } from "../wallet/limits.ts";
import type { QuotaChange } from "../wallet/state.ts";

/** Providers with their state, and the routes and prices of models. */
export interface Upstreams {
  providers: {
    name: string;
    /** True if its secret or binding is set. */
    on: boolean;
    /** True if its credentials or funds failed in this isolate, which prefers other providers for a minute. */
    aside: boolean;
  }[];
  /** By model. The console reads its own catalogue; the previous release's console reads these. */
  prices: Record<string, Price>;
  routes: Record<string, readonly Route[]>;
  /** The operator's entries of models that this release refuses: by model, the wrong fields. */
  refused?: Record<string, string[]>;
}

/** How long an isolate remembers that an account lost nothing. */
const intactMs = 8_000;
const maxIntact = 10_000;
/** Accounts whose wallet object knew of no loss, with the row's revision that it had seen: a row with a lower one is checked again. */
const intact = new Map<string, { seen: number; until: number }>();

/** Passed to the console with each request, so that neither Worker needs a public address. */
export class ConsoleApi extends SharedObjects {
  readonly #answer: (request: Request) => Promise<Response>;
  readonly #env: Env;

  /** `answer` is the gateway's request handler. */
  constructor(env: Env, answer: (request: Request) => Promise<Response>) {
    super(env);
    this.#env = env;
    this.#answer = answer;
  }

  #wallet(accountId: string) {
    return this.#env.WALLETS.getByName(accountId);
  }

  /**
   * Answers a request like the gateway does for a request with the caller's key. If a restored database lacks changes of the account, its users
   * are refused like its keys.
   */
  async ask(caller: Caller, request: Request): Promise<Response> {
    if (!(await this.isRestored(caller.accountId))) vouch(request, caller);
    return this.#answer(request);
  }

  /** Answers a request of `/admin` like the gateway does for the operator's token, also if there is none; the audit log names the admin. For admins. */
  async askAsOperator(request: Request, admin: Actor): Promise<Response> {
    vouchAsOperator(request, admin);
    return this.#answer(request);
  }

  /** A task's whole record, which its caller does not see; null if it does not exist or belongs to another account. */
  async record(accountId: string, taskId: string): Promise<Task | null> {
    const { TASKS } = this.#env;
    const id = toObjectId(TASKS, taskId);
    return id ? retryRestart("read", taskId, async () => TASKS.get(id).read(accountId)) : null;
  }

  /** What a batch's object answers; null for an id that was never issued. */
  async #askBatch<T>(batchId: string, ask: (batch: ReturnType<Env["BATCHES"]["get"]>) => Promise<T | null>): Promise<T | null> {
    const { BATCHES } = this.#env;
    const id = toBatchObjectId(BATCHES, batchId);
    return id ? retryRestart("batch", batchId, () => ask(BATCHES.get(id))) : null;
  }

  /** Ended lines of a batch; null if the account has no such batch. */
  async batchLines(accountId: string, batchId: string, query: LineQuery, ownWallets?: string[]): Promise<EndedLines | null> {
    return this.#askBatch(batchId, async (batch) => batch.endedLines(accountId, query, ownWallets));
  }

  /** The failed lines of a batch by their error; null if the account has no such batch. */
  async batchFailures(accountId: string, batchId: string, ownWallets?: string[]): Promise<FailureGroup[] | null> {
    return this.#askBatch(batchId, async (batch) => batch.failures(accountId, ownWallets));
  }

  /** The input of failed lines of a batch, in parts: `next` is where the next one begins; null if the account has no such batch. */
  async failedInput(
    accountId: string,
    batchId: string,
    code: string | undefined,
    from: number,
    ownWallets?: string[],
  ): Promise<{ text: string; next: number | undefined } | null> {
    return this.#askBatch(batchId, async (batch) => batch.failedInput(accountId, code, from, ownWallets));
  }

  /** The balances of an account and of these keys (their wallets), by id; those that do not exist are missing. */
  async balances(accountId: string, keyIds?: string[]): Promise<Record<string, WalletView>> {
    return retryRestart("balance", { account: accountId }, async () => this.#wallet(accountId).balances(keyIds));
  }

  /** Sets the quota of an account or one of its keys (`id`, its wallet). `below_use` if the quota would be below the used and reserved amounts. */
  async changeQuota(accountId: string, id: string, change: QuotaChange, by?: Actor): Promise<"changed" | "below_use"> {
    return this.#wallet(accountId).changeQuota(id, change, by);
  }

  /** Credits an account with a prepaid code as its user typed it. Throws if a storage does not answer: it may be repeated then. */
  async redeemCode(accountId: string, typed: string, by: Actor): Promise<Redeemed> {
    return redeemCode(this.#env, accountId, typed, by);
  }

  /** What the account can pay; undefined if payments are not deployed or not set up. */
  async paymentOptions(accountId: string): Promise<PaymentOptions | undefined> {
    return this.#env.PAYMENTS?.options(accountId);
  }

  /** Opens a page of Stripe on which the user pays; undefined if payments are not deployed. */
  async checkout(order: CheckoutOrder): Promise<CheckoutAnswer | undefined> {
    return this.#env.PAYMENTS?.checkout(order);
  }

  /** Sets automatic top-up, or switches it off; undefined if payments are not deployed. */
  async changeTopUp(order: TopUpOrder, by: Actor): Promise<TopUpAnswer | undefined> {
    return this.#env.PAYMENTS?.changeTopUp(order, by, new PaymentObjects(this.#env));
  }

  /** The address of a payment's invoice or receipt at Stripe; undefined if it has none. */
  async paymentReceipt(accountId: string, paymentId: string): Promise<string | undefined> {
    return this.#env.PAYMENTS?.receipt(accountId, paymentId);
  }

  /** The card that is stored for automatic top-up; undefined without one. Throws if Stripe does not answer. */
  async paymentCard(accountId: string): Promise<StoredCard | undefined> {
    return this.#env.PAYMENTS?.card(accountId);
  }

  /** The address of Stripe's portal for the account; undefined before its first payment. */
  async paymentPortal(accountId: string, returnUrl: string): Promise<string | undefined> {
    return this.#env.PAYMENTS?.portal(accountId, returnUrl);
  }

  /** Sets the budget of an account or one of its keys (`id`, its wallet); null removes it. Amounts already spent in its window count. */
  async changeBudget(accountId: string, id: string, budget: Budget | null, by?: Actor): Promise<void> {
    return this.#wallet(accountId).changeBudget(id, budget, by);
  }

  /**
   * True if a restored database undid changes of the account and no admin has decided about them: its keys and its users are refused. `seen`
   * is the row's `keysRevision`; without it the object reads D1. False while the wallet object does not answer, as for keys. A request of
   * an account that lost nothing costs a call of the object at most every eight seconds.
   */
  async isRestored(accountId: string, seen?: number): Promise<boolean> {
    const known = intact.get(accountId);
    if (known && known.until > Date.now() && (seen ?? known.seen) >= known.seen) return false;
    try {
      const { isRestored } = await this.#wallet(accountId).checkKeys(seen);
      intact.delete(accountId);
      if (intact.size >= maxIntact) intact.delete(intact.keys().next().value ?? "");
      if (!isRestored) intact.set(accountId, { seen: seen ?? 0, until: Date.now() + intactMs });
      return isRestored;
    } catch (error) {
      alert("keys", { account: accountId, outcome: "not_checked" }, error);
      return false;
    }
  }

  /** The account's endpoint, and the secret that signs its callbacks. */
  async webhook(accountId: string): Promise<{ url: string | null; secret: string }> {
    const { url, secret } = await readWebhook(this.#env, accountId);
    return { url, secret };
  }

  /** Reconciles a share of all accounts, from the start or from a place in an earlier answer, with a decision about those that lost changes; undefined without the operations Worker. For admins. */
  async reconcile(after: string | undefined, restored?: RestoredDecision, by?: Actor): Promise<Reconciliation | undefined> {
    return this.#env.OPERATIONS?.reconcile(new Objects(this.#env), { after, restored, by });
  }

  /** Sends a test alert, and returns how each receiver took it; undefined without the operations Worker. For admins. */
  async testAlert(): Promise<Delivery[] | undefined> {
    return this.#env.OPERATIONS?.testAlert();
  }

  /** Erases an account and its owner: see `operations/erase.ts`; undefined without the operations Worker. For admins. */
  async erase(accountId: string, by?: Actor): Promise<"erased" | "continues" | "unknown" | undefined> {
    return this.#env.OPERATIONS?.erase(new Objects(this.#env), accountId, by);
  }

  /** Providers, routes and prices as configured, without secrets and URLs. For admins. */
  async upstreams(): Promise<Upstreams> {
    const { all } = await liveCatalog(this.#env.DB);
    return {
      providers: providerStates(this.#env),
      prices: Object.fromEntries(all.map(({ id, price }) => [id, price])),
      routes: Object.fromEntries(all.map(({ id, routes }) => [id, routes])),
      refused: await refusedModels(this.#env),
    };
  }
}
