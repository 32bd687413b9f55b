/** Counted attempts in D1, by network and kind of attempt. */

import { hourMs } from "../base/times.ts";
import { execute, queryRow } from "./query.ts";

export interface AttemptRule {
  /** Seconds without an attempt after which the count restarts. */
  window: number;
  /** Attempts that are allowed within the window. */
  max: number;
}

/** The age in milliseconds after which rows are deleted (`expired.ts`); no window is longer. */
export const attemptsKeptMs = hourMs;

/** Counts one attempt under a key, in one statement. Returns true if it is allowed; a refused one is not counted. */
export async function countAttempt(db: D1Database, key: string, { window, max }: AttemptRule): Promise<boolean> {
  const row = await queryRow<{ id: string }>(
    db,
    `INSERT INTO auth_rate_limit (id, key, count, lastRequest) VALUES (?1, ?2, 1, ?3)
       ON CONFLICT (key) DO UPDATE SET count = CASE WHEN ?3 - lastRequest >= ?4 THEN 1 ELSE count + 1 END, lastRequest = ?3
       WHERE ?3 - lastRequest >= ?4 OR count < ?5
       RETURNING id`,
    [crypto.randomUUID(), key, Date.now(), 1000 * window, max],
  );
  return row !== undefined;
}

/** Removes one counted attempt after a success. Other attempts under the key stay counted, so that a success with one account does not hide guesses at another. */
export async function forgiveAttempt(db: D1Database, key: string): Promise<void> {
  await execute(db, "UPDATE auth_rate_limit SET count = count - 1 WHERE key = ?1 AND count > 0", [key]);
}
