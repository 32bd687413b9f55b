/** A browser token: counts the tasks that it lets through and what they may cost. */

import { DurableObject } from "cloudflare:workers";

/** What a token allows. */
export interface TokenTerms {
  accountId: string;
  /** SHA-256 of the API key that made it: without that key it is worth nothing. */
  keyHash: string;
  /** How many tasks it may submit. */
  tasks: number;
  /** What they may cost in all, in millionths. */
  maxCost: number;
  kinds?: string[] | undefined;
  models?: string[] | undefined;
  /** Where its requests have to come from. */
  origin?: string | undefined;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

interface Token extends TokenTerms {
  /** SHA-256 of the token. */
  hash: string;
}

/** A task that the token pays for, by the task's id; its price is null when it was given back: a late take of it is refused. */
type Taken = [taskId: string, price: number | null];

export class TokenObject extends DurableObject<Env> {
  async issue(token: Token): Promise<void> {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.kv.put("token", token);
      void this.ctx.storage.setAlarm(token.expiresAt);
    });
  }

  /** The terms of the token with this hash and the tasks that are its own; null when it is another or has expired. */
  async open(hash: string): Promise<(TokenTerms & { taskIds: string[] }) | null> {
    const token = this.#token();
    if (token?.hash !== hash) return null;
    return { ...token, taskIds: this.#taken().flatMap(([taskId, price]) => (price === null ? [] : taskId)) };
  }

  /** Counts a task at its full price. False when the token has expired or the task would exceed it. A repeat answers the same. */
  async take(taskId: string, price: number): Promise<boolean> {
    const token = this.#token();
    const known = this.ctx.storage.kv.get<number | null>(taskId);
    if (!token || known !== undefined) return known != null;
    const prices = this.#taken().flatMap(([, one]) => one ?? []);
    if (prices.length >= token.tasks || prices.reduce((sum, one) => sum + one, price) > token.maxCost) return false;
    this.ctx.storage.kv.put(taskId, price);
    return true;
  }

  /** Gives back what a task took that was refused after all. May be repeated, and may come before the take. */
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
