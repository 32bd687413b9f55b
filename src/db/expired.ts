/** Rows that have expired, and daily sums that are old enough to be added up by month. */

import { nextAccounts } from "./accounts.ts";
import { toMonth } from "./archive.ts";
import { attemptsKeptMs } from "./attempts.ts";

/** The factor of `limit` for rows that visitors cause (challenges, links and attempts, which last for minutes or an hour), and for events of deliveries, of which one account may have many a second. */
const manyTimes = 20;

/** Deletes at most `limit` rows of each table: characters deleted before `charactersBefore`, sessions, verifications and attempts that have expired, invitations that expired before `invitationsBefore`, and events of deliveries before `eventsBefore`. Times in milliseconds. */
export async function deleteExpired(
  db: D1Database,
  now: number,
  { invitationsBefore, eventsBefore, charactersBefore }: { invitationsBefore: number; eventsBefore: number; charactersBefore: number },
  limit: number,
): Promise<void> {
  const expired = (table: string, key: string, column: string, time: number | string, most = limit) =>
    db.prepare(`DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${column} < ?1 LIMIT ?2)`).bind(time, most);
  const date = new Date(now).toISOString();
  await db.batch([
    expired("character", "id", "deleted_at", charactersBefore),
    expired("auth_session", "id", "expiresAt", date),
    expired("auth_verification", "id", "expiresAt", date, manyTimes * limit),
    expired("auth_rate_limit", "id", "lastRequest", now - attemptsKeptMs, manyTimes * limit),
    expired("invitation", "token_hash", "expires_at", invitationsBefore),
    expired("member_invitation", "id", "expires_at", invitationsBefore),
    expired("delivery_event", "task_id", "at", eventsBefore, manyTimes * limit),
  ]);
}

/** The state of the job that adds up daily sums: the month that is being added up, and its last finished account. */
export interface SumsPlace {
  month: number;
  after: string;
}

/** The month (its first millisecond, UTC) of the first account. */
export const firstMonth = async (db: D1Database, now: number): Promise<number> =>
  toMonth((await db.prepare("SELECT min(created_at) AS at FROM account").first<number>("at")) ?? now);

/**
 * Replaces the daily sums of a month (given by its and the next month's first millisecond) with one sum on its first day, for the next
 * `limit` accounts after `after`. One transaction; a repeat changes nothing. Returns the last of these accounts; undefined after the last
 * account of all.
 */
export async function addUpMonth(db: D1Database, month: number, next: number, after: string, limit: number): Promise<string | undefined> {
  const accounts = await nextAccounts(db, after, limit);
  const days = "account_id IN (SELECT value FROM json_each(?1)) AND day > ?2 AND day < ?3";
  const values = [JSON.stringify(accounts), month, next];
  await db.batch([
    db
      .prepare(
        `INSERT INTO spending
         SELECT account_id, CAST(?2 AS INTEGER), model, key_id, sum(charged), sum(returned), sum(completed), sum(failed) FROM spending WHERE ${days} GROUP BY 1, 3, 4
         ON CONFLICT DO UPDATE SET charged = charged + excluded.charged, returned = returned + excluded.returned,
           completed = completed + excluded.completed, failed = failed + excluded.failed`,
      )
      .bind(...values),
    db.prepare(`DELETE FROM spending WHERE ${days}`).bind(...values),
  ]);
  return accounts.length === limit ? accounts.at(-1) : undefined;
}
