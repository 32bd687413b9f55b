/** The archive in D1: which entries are due, the parts that have the archived ones, and the transaction that moves entries from one to the other. */

import { selectedFields, type SettledEntry } from "./grants.ts";
import { ofAccount } from "./ledger.ts";
import { execute, queryRow, queryRows } from "./query.ts";
import { parseAttempts } from "./settled-sums.ts";

/** A settled entry as the archive keeps it; `keyId` is the wallet of the key that paid. Amounts in millionths, times in milliseconds. */
export interface ArchivedEntry extends SettledEntry {
  /** The caller's reference of the task; missing if it has none. */
  reference?: string;
}

/** The number and sums of a file's lines; also stored in D1, to check the file. */
export interface Sums {
  entries: number;
  referenced: number;
  held: number;
  charged: number;
  firstAt: number;
  lastAt: number;
}

/** A part of an account's month: its file, and the file's number and sums of lines. */
export interface ArchivePart extends Sums {
  accountId: string;
  /** The month's first millisecond, UTC. */
  month: number;
  part: number;
  /** The file's key in the bucket. */
  file: string;
}

/** The first millisecond of the month of this time, UTC. */
export const toMonth = (at: number): number => {
  const day = new Date(at);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth());
};

/** The maximum difference between the two recorded times of a submission: of its entry and of its reference. */
export const slackMs = 300_000;

const partColumns =
  "account_id AS accountId, month, part, file, entries, referenced, held, charged, first_at AS firstAt, last_at AS lastAt";

export const databaseBytes = async (db: D1Database): Promise<number> => (await db.prepare("SELECT 1").run()).meta.size_after;

const isDue = (account: string, cutoff: string) => {
  // Each side is a range of entry_by_account. An entry that ended late is not due yet, and does not delay the others.
  const side = (isChat: 0 | 1) =>
    `EXISTS (SELECT 1 FROM entry INDEXED BY entry_by_account WHERE ${ofAccount(account)} AND (kind = 'chat') = ${isChat}
       AND at < ${cutoff} AND closed_at < ${cutoff})`;
  return `(${side(0)} OR ${side(1)})`;
};

/**
 * The next account, in the order of ids, that has entries submitted and settled before `cutoff` (milliseconds). Examines at most `limit`
 * accounts. `last` is the last one examined; undefined after the last account of all.
 */
export async function nextDueAccount(
  db: D1Database,
  after: string,
  cutoff: number,
  limit: number,
): Promise<{ due: string | undefined; last: string | undefined }> {
  const [found, all] = await db.batch<{ id: string; due: 0 | 1 }>([
    db
      .prepare(`SELECT id FROM (SELECT id FROM account WHERE id > ?1 ORDER BY id LIMIT ?3) WHERE ${isDue("id", "?2")} LIMIT 1`)
      .bind(after, cutoff, limit),
    db.prepare("SELECT id FROM account WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2").bind(after, limit - 1),
  ]);
  return { due: found?.results[0]?.id, last: all?.results[0]?.id };
}

/** The first entries of an account that were submitted and settled before `cutoff`, oldest first, with their references. */
export async function readDue(db: D1Database, accountId: string, cutoff: number, limit: number): Promise<ArchivedEntry[]> {
  const side = (isChat: 0 | 1) =>
    `SELECT * FROM (SELECT ${selectedFields} FROM entry INDEXED BY entry_by_account
       WHERE ${ofAccount()} AND (kind = 'chat') = ${isChat} AND at < ?2 AND closed_at < ?2 ORDER BY at, task_id LIMIT ?3)`;
  const rows = await queryRows<Omit<ArchivedEntry, "attempts"> & { attempts: string | null }>(
    db,
    `SELECT * FROM (${side(0)} UNION ALL ${side(1)}) ORDER BY at, taskId LIMIT ?3`,
    [accountId, cutoff, limit],
  );
  const [first, last] = [rows[0], rows.at(-1)];
  if (!first || !last) return [];
  const names = await queryRows<{ taskId: string; reference: string }>(
    db,
    `SELECT task_id AS taskId, reference FROM task_reference
      WHERE account_id = ?1 AND at BETWEEN ?2 AND ?3 AND task_id IN (SELECT value FROM json_each(?4))`,
    [accountId, first.at - slackMs, last.at + slackMs, JSON.stringify(rows.map(({ taskId }) => taskId))],
  );
  const references = new Map(names.map(({ taskId, reference }) => [taskId, reference]));
  return rows.map(({ attempts, ...entry }) => {
    const reference = references.get(entry.taskId);
    return {
      ...entry,
      ...(attempts !== null && { attempts: parseAttempts(attempts) }),
      ...(reference !== undefined && { reference }),
    };
  });
}

/** The last part of an account's month, to which further entries are added. */
export const lastPart = (db: D1Database, accountId: string, month: number): Promise<ArchivePart | undefined> =>
  queryRow(db, `SELECT ${partColumns} FROM archive_part WHERE account_id = ?1 AND month = ?2 ORDER BY part DESC LIMIT 1`, [
    accountId,
    month,
  ]);

/**
 * Moves entries to the archive in one transaction: the part's row refers to the new file (instead of `before`, if it had one), the entries'
 * sums are added to it, and the entries are deleted with their references. It takes effect only if D1 still has exactly these entries, by
 * number and sums, and the part has not changed since it was read. Returns the size of the database in bytes afterwards; undefined if it
 * had no effect, as a repeat has. Throws if its outcome is unknown.
 */
export async function moveEntries(
  db: D1Database,
  part: ArchivePart,
  before: string | undefined,
  moved: readonly ArchivedEntry[],
): Promise<number | undefined> {
  const tasks = JSON.stringify(moved.map(({ taskId }) => taskId));
  // The plus sign prevents SQLite from using the index by account, of which it would read every row.
  const ofTasks = "+account_id = ?1 AND task_id IN (SELECT value FROM json_each(?4))";
  const sum = (name: "held" | "charged") => moved.reduce((total, entry) => total + entry[name], 0);
  const isWhole = `(SELECT count(*) = ?12 AND sum(held) = ?13 AND sum(charged) = ?14 FROM entry
    WHERE ${ofTasks})`;
  const values = [part.accountId, part.month, part.part, tasks, part.file, part.entries, part.referenced, part.held, part.charged];
  const write =
    before === undefined
      ? `INSERT INTO archive_part (account_id, month, part, file, entries, referenced, held, charged, first_at, last_at)
         SELECT ?1, ?2, ?3, ?5, ?6, ?7, ?8, ?9, ?10, ?11 WHERE ${isWhole} ON CONFLICT DO NOTHING`
      : `UPDATE archive_part SET file = ?5, entries = ?6, referenced = ?7, held = ?8, charged = ?9, first_at = ?10, last_at = ?11
         WHERE account_id = ?1 AND month = ?2 AND part = ?3 AND file = ?15 AND ${isWhole}`;
  const isMoved = "EXISTS (SELECT 1 FROM archive_part WHERE account_id = ?1 AND month = ?2 AND part = ?3 AND file = ?5)";
  const rest = (sql: string) => db.prepare(sql).bind(part.accountId, part.month, part.part, tasks, part.file);
  const times = moved.map(({ at }) => at);
  const result = await db.batch([
    db
      .prepare(write)
      .bind(...values, part.firstAt, part.lastAt, moved.length, sum("held"), sum("charged"), ...(before === undefined ? [] : [before])),
    rest(
      `INSERT INTO archive_sum (account_id, key_id, entries, charged)
       SELECT account_id, key_id, count(*), sum(charged) FROM entry WHERE ${ofTasks} AND ${isMoved} GROUP BY key_id
       ON CONFLICT DO UPDATE SET entries = entries + excluded.entries, charged = charged + excluded.charged`,
    ),
    db
      .prepare(
        `DELETE FROM task_reference WHERE account_id = ?1 AND at BETWEEN ?6 AND ?7 AND task_id IN (SELECT value FROM json_each(?4)) AND ${isMoved}`,
      )
      .bind(part.accountId, part.month, part.part, tasks, part.file, Math.min(...times) - slackMs, Math.max(...times) + slackMs),
    rest(`DELETE FROM entry WHERE ${ofTasks} AND ${isMoved}`),
    // Events were read from them as long as the tasks had a record. The last task of each page is archived at some time.
    db
      .prepare(`DELETE FROM ended_page WHERE account_id = ?1 AND ended_at <= ?6 AND ${isMoved} AND ?4 IS NOT NULL`)
      .bind(part.accountId, part.month, part.part, tasks, part.file, Math.max(...moved.map(({ closedAt }) => closedAt))),
    rest(`SELECT 1 WHERE ${isMoved} AND ?4 IS NOT NULL`),
  ]);
  const last = result.at(-1);
  return last && last.results.length === 1 ? last.meta.size_after : undefined;
}

/** Parts in their order after this one: those of all accounts, or of one. */
export const listParts = (
  db: D1Database,
  after: Pick<ArchivePart, "accountId" | "month" | "part">,
  limit: number,
): Promise<ArchivePart[]> =>
  queryRows(
    db,
    `SELECT ${partColumns} FROM archive_part WHERE (account_id, month, part) > (?1, ?2, ?3) ORDER BY account_id, month, part LIMIT ?4`,
    [after.accountId, after.month, after.part, limit],
  );

/** The current rows of those of these parts that exist. */
export const findParts = (db: D1Database, parts: readonly Pick<ArchivePart, "accountId" | "month" | "part">[]): Promise<ArchivePart[]> =>
  queryRows(
    db,
    `SELECT ${partColumns} FROM json_each(?1) CROSS JOIN archive_part
      ON account_id = value ->> 0 AND month = value ->> 1 AND part = value ->> 2`,
    [JSON.stringify(parts.map(({ accountId, month, part }) => [accountId, month, part]))],
  );

/** The account's parts of these months (first milliseconds) with entries in a range of time, those with the latest entries first. */
export const partsIn = (
  db: D1Database,
  accountId: string,
  months: [number, number],
  times: [number, number],
  page: { limit: number; skip: number },
) =>
  db
    .prepare(
      `SELECT ${partColumns} FROM archive_part WHERE account_id = ?1 AND month BETWEEN ?2 AND ?3 AND last_at >= ?4 AND first_at <= ?5
       ORDER BY last_at DESC, month, part LIMIT ?6 OFFSET ?7`,
    )
    .bind(accountId, ...months, ...times, page.limit, page.skip);

/**
 * The account's newest parts, which may contain an entry that D1 does not have; empty if D1 has an entry of this task, of whichever
 * account.
 */
export const partsToSearch = (db: D1Database, accountId: string, taskId: string, limit: number): Promise<ArchivePart[]> =>
  queryRows(
    db,
    `SELECT ${partColumns} FROM archive_part WHERE account_id = ?1 AND NOT EXISTS (SELECT 1 FROM entry WHERE task_id = ?2)
      ORDER BY month DESC, part DESC LIMIT ?3`,
    [accountId, taskId, limit],
  );

/** Some of the account's parts that have references. */
export const partsWithReferences = (db: D1Database, accountId: string, limit: number): Promise<ArchivePart[]> =>
  queryRows(db, `SELECT ${partColumns} FROM archive_part WHERE account_id = ?1 AND referenced > 0 LIMIT ?2`, [accountId, limit]);

/** Replaces the file of a part whose references were removed. No effect if the part has changed since it was read. */
export const replaceFile = (db: D1Database, { accountId, month, part, file }: ArchivePart, before: string): Promise<void> =>
  execute(db, "UPDATE archive_part SET file = ?4, referenced = 0 WHERE account_id = ?1 AND month = ?2 AND part = ?3 AND file = ?5", [
    accountId,
    month,
    part,
    file,
    before,
  ]);
