/** The counters of sign-in attempts, in D1: per network, and of guesses at one password. */

import { type AttemptRule, countAttempt, forgiveAttempt } from "../../db/attempts.ts";

/** Guesses at one user's password, from however many networks. A success is not counted. */
const guesses: AttemptRule = { window: 3600, max: 30 };
/** Sessions that a user opens: each is a row for a week, and one of the audit log for more than a year. */
const sessions: AttemptRule = { window: 3600, max: 100 };

export class Attempts {
  readonly #db: AuthEnv["DB"];
  readonly #counted: string[] = [];

  constructor(db: AuthEnv["DB"]) {
    this.#db = db;
  }

  /** Called by better-auth before each of its endpoints. */
  async consume(key: string, rule: AttemptRule): Promise<{ allowed: boolean; retryAfter: number | null }> {
    this.#counted.push(key);
    const allowed = await countAttempt(this.#db, key, rule);
    return { allowed, retryAfter: allowed ? null : rule.window };
  }

  /**
   * Counts a guess at the password of this address; false if it is one too many. A browser in which this user has signed in has its own
   * counter: guesses from elsewhere do not lock the user out there (OWASP, "device cookies").
   */
  async countGuess(email: string, browser: string | undefined): Promise<boolean> {
    return (await this.consume(`guess ${browser === undefined ? "" : `${browser} `}${email}`, guesses)).allowed;
  }

  /** Counts a session of the user, which no success takes back; false if it is one too many. */
  countSession(userId: string): Promise<boolean> {
    return countAttempt(this.#db, `sessions ${userId}`, sessions);
  }

  /** The attempt succeeded, and does not count against the limits. */
  async forgive(): Promise<void> {
    await Promise.all(this.#counted.map((key) => forgiveAttempt(this.#db, key)));
  }
}
