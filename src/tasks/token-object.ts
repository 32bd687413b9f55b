/** The browser token object: counts the tasks that the token submits and their total price. */

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
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

interface Token extends TokenTerms {
  /** SHA-256 of the token. */
  hash: string;
}

/** A task that counts against the token. `price` is null after `giveBack`; a later `take` for the same task is refused. */
type Taken = [taskId: string, price: number | null];

export class TokenObject extends DurableObject<Env> {
  async issue(token: Token): Promise<void> {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.kv.put("token", token);
      void this.ctx.storage.setAlarm(token.expiresAt);
    });
  }

  /** The limits of the token with this hash and the ids of its tasks; null if the hash differs or the token has expired. */
  async open(hash: string): Promise<(TokenTerms & { taskIds: string[] }) | null> {
    const token = this.#token();
    if (token?.hash !== hash) return null;
    return { ...token, taskIds: this.#taken().flatMap(([taskId, price]) => (price === null ? [] : taskId)) };
  }

  /** Counts a task with its full price. False if the token has expired or the task would exceed it. A repeat returns the same. */
  async take(taskId: string, price: number): Promise<boolean> {
    const token = this.#token();
    const known = this.ctx.storage.kv.get<number | null>(taskId);
    if (!token || known !== undefined) return known != null;
    const prices = this.#taken().flatMap(([, one]) => one ?? []);
    if (prices.length >= token.tasks || prices.reduce((sum, one) => sum + one, price) > token.maxCost) return false;
    this.ctx.storage.kv.put(taskId, price);
    return true;
  }

  /** Undoes `take` for a task that was refused afterwards. May be repeated, and may arrive before `take`. */
  async giveBack(taskId: string): Promise<void> {
    if (this.#token()) this.ctx.storage.kv.put(taskId, null);
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  #token(): Token | undefined {
    const token = this.ctx.storage.kv.get<Token>("token");
    return token && token.expiresAt > Date.now() ? token : undefined;
  }

  #taken(): Taken[] {
    return [...this.ctx.storage.kv.list<number | null>({ prefix: "task_" })];
  }
}
