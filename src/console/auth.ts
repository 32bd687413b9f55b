/** Facts about signing in that pages need without loading better-auth. */

import { type AttemptRule, countAttempt, forgiveAttempt } from "../db/attempts.ts";

export const authPath = "/console/auth";

/** Linked logins, with the names that pages show. */
export const loginNames = { github: "GitHub", google: "Google" } as const;
export type Login = keyof typeof loginNames;

/** The id and the secret of a login; either may be missing. */
export const loginSecrets = (env: ConsoleEnv, login: Login) =>
  login === "github" ? [env.GITHUB_CLIENT_ID, env.GITHUB_CLIENT_SECRET] : [env.GOOGLE_CLIENT_ID, env.GOOGLE_CLIENT_SECRET];

/** The logins that the operator has configured. */
export const configuredLogins = (env: ConsoleEnv): Login[] =>
  (Object.keys(loginNames) as Login[]).filter((login) => loginSecrets(env, login).every(Boolean));

/** Adding or removing a way to sign in needs a session younger than this, in seconds. */
export const freshSeconds = 3600;

/** The counter of sign-in attempts per network, in D1. */
export class Attempts {
  readonly #db: ConsoleEnv["DB"];
  #latest: string | undefined;

  constructor(db: ConsoleEnv["DB"]) {
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
