/** The counter of sign-in attempts per network, in D1. */

import { type AttemptRule, countAttempt, forgiveAttempt } from "../../db/attempts.ts";

export class Attempts {
  readonly #db: AuthEnv["DB"];
  #latest: string | undefined;

  constructor(db: AuthEnv["DB"]) {
    this.#db = db;
  }

  /** Called by better-auth before each of its endpoints. */
  async consume(key: string, rule: AttemptRule): Promise<{ allowed: boolean; retryAfter: number | null }> {
    this.#latest = key;
    const allowed = await countAttempt(this.#db, key, rule);
    return { allowed, retryAfter: allowed ? null : rule.window };
  }

  /** The latest attempt succeeded, and does not count against the limit. */
  async forgive(): Promise<void> {
    if (this.#latest !== undefined) await forgiveAttempt(this.#db, this.#latest);
  }
}
