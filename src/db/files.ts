/** Files that callers uploaded, in D1: rows with an expiry, and the sum of what each account's files count. */

import { fileCreatedAt } from "../base/ids.ts";
import { isOwn, type Owner, toWallets } from "./callers.ts";
import { execute, hasRow, queryRows } from "./query.ts";

/** A caller's file. Times in milliseconds. */
export interface StoredFile {
  id: string;
  accountId: string;
  type: string;
  bytes: number;
  name: string | null;
  /** The key in the bucket; files with the same bytes share it. */
  object: string;
  createdAt: number;
  expiresAt: number;
  /** The wallet of the key with which it was uploaded. */
  keyId: string;
}

const columns: Record<keyof StoredFile, string> = {
  id: "id",
  accountId: "account_id",
  type: "type",
  bytes: "bytes",
  name: "name",
  object: "object",
  createdAt: "created_at",
  expiresAt: "expires_at",
  keyId: "key_id",
};
const fields = Object.keys(columns) as (keyof StoredFile)[];
const selected = fields.map((field) => `${columns[field]} AS ${field}`).join();

/** `file_`, the 43 characters of the digest: the same for all files with the same bytes. */
const sameBytes = (id: string) => `id >= substr(${id}, 1, 48) AND id < substr(${id}, 1, 48) || '~'`;

/**
 * What a file or the input of a batch counts at least, however small it is: its row and its object cost the same. The triggers on both tables
 * use the same number. 5 GiB are 81,920 of them, so that each line of the largest batch may name a file of its own.
 */
const minCountedBytes = 65_536;

/** What the account `account` uses. The arguments are SQL. */
const usedSpace = (account: string) => `coalesce((SELECT bytes + padding FROM file_space WHERE account_id = ${account}), 0)`;

/** True if something of this size has room in the account's space. The arguments are SQL. */
export const hasRoom = (account: string, bytes: string, maxBytes: string) =>
  `${usedSpace(account)} + max(${bytes}, ${minCountedBytes}) <= ${maxBytes}`;

/**
 * Adds a file, if the account's files then count at most `maxBytes` together and the account was not erased. All other files of the account with the same bytes move to the
 * new object: then the newest file's object is never older than any of its files. Returns the objects that are no longer used; undefined if
 * the file does not fit. Exact in parallel: one transaction.
 */
export async function insertFile(db: D1Database, file: StoredFile, maxBytes: number): Promise<string[] | undefined> {
  const others = `account_id = ?1 AND ${sameBytes("?2")} AND object <> ?3`;
  const isAdded = "EXISTS (SELECT 1 FROM file WHERE account_id = ?1 AND id = ?2)";
  const values = [file.accountId, file.id, file.object];
  const [added, replaced] = await db.batch<{ object: string }>([
    db
      .prepare(
        `INSERT INTO file (${Object.values(columns).join()}) SELECT ${fields.map((_, at) => `?${at + 1}`).join()}
         WHERE ${hasRoom("?2", "?4", `?${fields.length + 1}`)}
           AND EXISTS (SELECT 1 FROM account WHERE id = ?2 AND erased_at IS NULL) RETURNING object`,
      )
      .bind(...fields.map((field) => file[field]), maxBytes),
    db.prepare(`SELECT DISTINCT object FROM file WHERE ${others} AND ${isAdded}`).bind(...values),
    db.prepare(`UPDATE file SET object = ?3 WHERE ${others} AND ${isAdded}`).bind(...values),
  ]);
  return added?.results.length === 1 ? (replaced?.results ?? []).map(({ object }) => object) : undefined;
}

/** What an account's files and the inputs of its batches count towards its limit, in bytes. */
export const usedFileBytes = async (db: D1Database, accountId: string): Promise<number> =>
  (await db
    .prepare(`SELECT ${usedSpace("?1")} AS bytes`)
    .bind(accountId)
    .first<number>("bytes"))!;

/** The owner's files with these ids that have not expired. */
export const filesWithIds = (db: D1Database, owner: Owner, ids: string[], now: number): Promise<StoredFile[]> =>
  queryRows(
    db,
    `SELECT ${selected} FROM file WHERE account_id = ?1 AND id IN (SELECT value FROM json_each(?2)) AND expires_at > ?3 AND ${isOwn("?4")}`,
    [owner.accountId, JSON.stringify(ids), now, toWallets(owner)],
  );

export const fileById = async (db: D1Database, owner: Owner, id: string, now: number): Promise<StoredFile | undefined> =>
  (await filesWithIds(db, owner, [id], now))[0];

/** A page of the owner's files that have not expired, newest first, after the file `after`. The ids of the release before do not say when their files were created. */
export const listFiles = (db: D1Database, owner: Owner, { limit, after }: { limit: number; after?: string | undefined }, now: number) =>
  queryRows<StoredFile>(
    db,
    `SELECT ${selected} FROM file WHERE account_id = ?1 AND expires_at > ?2 AND ${isOwn("?5")}
      AND (?3 IS NULL OR (created_at, id) < (coalesce(?6, (SELECT created_at FROM file WHERE account_id = ?1 AND id = ?3)), ?3))
      ORDER BY created_at DESC, id DESC LIMIT ?4`,
    [owner.accountId, now, after ?? null, limit, toWallets(owner), (after !== undefined && fileCreatedAt(owner.accountId, after)) || null],
  );

/** Makes a file expire now. False if the owner has no such file. */
export const endFile = (db: D1Database, owner: Owner, id: string, now: number): Promise<boolean> =>
  hasRow(db, `UPDATE file SET expires_at = ?3 WHERE account_id = ?1 AND id = ?2 AND expires_at > ?3 AND ${isOwn("?4")} RETURNING id`, [
    owner.accountId,
    id,
    now,
    toWallets(owner),
  ]);

/** An expired file; `isShared` if a file that has not expired has the same bytes. */
export interface ExpiredFile extends Pick<StoredFile, "accountId" | "id" | "object"> {
  isShared: 0 | 1;
}

/** Some expired files, of one account or of all, the longest expired first. */
export const expiredFiles = (db: D1Database, now: number, limit: number, accountId: string | undefined): Promise<ExpiredFile[]> =>
  queryRows(
    db,
    `SELECT account_id AS accountId, id, object, EXISTS (
        SELECT 1 FROM file o WHERE o.account_id = f.account_id AND o.id >= substr(f.id, 1, 48) AND o.id < substr(f.id, 1, 48) || '~'
          AND o.expires_at > ?1) AS isShared
      FROM file f WHERE expires_at <= ?1 AND (?3 IS NULL OR account_id = ?3) ORDER BY expires_at LIMIT ?2`,
    [now, limit, accountId ?? null],
  );

/** Deletes the rows of expired files whose bytes have been removed. */
export const deleteExpiredFiles = (db: D1Database, files: ExpiredFile[], now: number): Promise<void> =>
  execute(db, `DELETE FROM file WHERE (account_id, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1)) AND expires_at <= ?2`, [
    JSON.stringify(files.map(({ accountId, id }) => [accountId, id])),
    now,
  ]);

/** Deletes all rows of an account that is erased. */
export const eraseFiles = async (db: D1Database, accountId: string): Promise<void> => {
  await db.batch([
    db.prepare("DELETE FROM file WHERE account_id = ?1").bind(accountId),
    db.prepare("DELETE FROM file_space WHERE account_id = ?1").bind(accountId),
  ]);
};
