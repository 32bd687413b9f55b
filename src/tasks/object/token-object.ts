/** The client token object: counts the tasks that the token submits, their total price, and its refused submissions. */

import { DurableObject } from "cloudflare:workers";

/** The limits of a token. */
export interface TokenTerms {
  accountId: string;
  /** SHA-256 of the API key that created it: if that key is revoked, the token is invalid. */
  keyHash: string;
  /** How many tasks it may submit. */
  tasks: number;
  /** The maximum total price of its tasks, in millionths. */
  maxCost: number;
  kinds?: string[] | undefined;
  models?: string[] | undefined;
  /** The only origin from which its requests are accepted. */
  origin?: string | undefined;
  /** The ids of the only characters that its prompts may mention. */
  characters?: string[] | undefined;
  /** The ids of the only files that its bodies may name. */
  files?: string[] | undefined;
  /** Of its tasks; missing if they use the account's endpoint. */
  callbackUrl?: string | undefined;
  /** Of its tasks. */
  reference?: string | undefined;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

interface Token extends TokenTerms {
  /** SHA-256 of the token. */
  hash: string;
}

/** What the token may still submit: tasks, and their total price in millionths. */
export interface TokenAllowance {
  tasks: number;
  price: number;
}

/** Refused submissions that cost nothing: a page may need some attempts, and its visitor must not have any number of them. */
const freeRefusals = 3;

/** A task that counts against the token: with its price, later with what it was charged. `price` is null after `giveBack`; a later `take` for the same task is refused. */
type Taken = [taskId: string, price: number | null];

export class TokenObject extends DurableObject<Env> {
  async issue(token: Token): Promise<void> {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.kv.put("token", token);
      void this.ctx.storage.setAlarm(token.expiresAt);
    });
  }

  /** The limits of the token with this hash, what is left of them, and the ids of its tasks; null if the hash differs or the token has expired. */
  async open(hash: string): Promise<(TokenTerms & { taskIds: string[]; left: TokenAllowance }) | null> {
    const token = this.#token();
    if (token?.hash !== hash) return null;
    return { ...token, taskIds: this.#taken().flatMap(([taskId, price]) => (price === null ? [] : taskId)), left: this.#left(token) };
  }

  /**
   * Counts a task with its full price. False if the token has expired or the task would exceed it. A repeat returns the same; one with a lower
   * price, at the task's end, leaves the rest of the price to other tasks.
   */
  async take(taskId: string, price: number): Promise<boolean> {
    const token = this.#token();
    const { kv } = this.ctx.storage;
    const known = kv.get<number | null>(taskId);
    if (!token || known === null) return known != null;
    const left = this.#left(token);
    if (known === undefined && (left.tasks < 1 || price > left.price)) return false;
    if (price < (known ?? Infinity)) kv.put(taskId, price);
    return true;
  }

  /** Undoes `take` for a task that was refused afterwards. May be repeated, and may arrive before `take`. */
  async giveBack(taskId: string): Promise<void> {
    if (this.#token()) this.ctx.storage.kv.put(taskId, null);
  }

  /** Counts a refused submission: after the third, each uses up one of the token's tasks. */
  async countRefusal(): Promise<void> {
    const token = this.#token();
    const refusals = this.#refusals();
    if (token && refusals < freeRefusals + token.tasks) this.ctx.storage.kv.put("refusals", refusals + 1);
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  #token(): Token | undefined {
    const token = this.ctx.storage.kv.get<Token>("token");
    return token && token.expiresAt > Date.now() ? token : undefined;
  }

  #refusals(): number {
    return this.ctx.storage.kv.get<number>("refusals") ?? 0;
  }

  #left(token: Token): TokenAllowance {
    const prices = this.#taken().flatMap(([, price]) => price ?? []);
    return {
      tasks: token.tasks - prices.length - Math.max(0, this.#refusals() - freeRefusals),
      price: prices.reduce((left, price) => left - price, token.maxCost),
    };
  }

  #taken(): Taken[] {
    return [...this.ctx.storage.kv.list<number | null>({ prefix: "task_" })];
  }
}
