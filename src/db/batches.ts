/** The batches of each account in D1: only what their list needs. */

import { hasRoom } from "./files.ts";
import { isOwn, type Owner, toWallets } from "./callers.ts";
import { execute, hasRow, queryIds, queryRows } from "./query.ts";

export interface BatchRow {
  accountId: string;
  id: string;
  keyId: string;
  /** The size of the stored input. */
  inputBytes: number;
  /** Milliseconds */
  createdAt: number;
}

/**
 * Lists a batch before its object exists, if its input and the account's files then count at most `maxBytes` together and fewer than `maxOpen`
 * batches of the account are open. Otherwise the code of the error. Repeating is safe.
 */
export async function insertBatch(
  db: D1Database,
  { accountId, id, keyId, inputBytes, createdAt }: BatchRow,
  maxBytes: number,
  maxOpen: number,
): Promise<"listed" | "too_many_files" | "too_many_open_tasks"> {
  const hasRoomForOne = "(SELECT count(*) FROM batch WHERE account_id = ?1 AND is_open = 1) < ?7";
  const [, listed, refused] = await db.batch<{ isFull: 0 | 1 }>([
    db
      .prepare(
        `INSERT INTO batch (account_id, id, created_at, key_id, bytes, begins_at, is_open) SELECT ?1, ?2, ?3, ?4, ?5, ?3, 1
         WHERE ${hasRoom("?1", "?5", "?6")} AND ${hasRoomForOne} ON CONFLICT DO NOTHING`,
      )
      .bind(accountId, id, createdAt, keyId, inputBytes, maxBytes, maxOpen),
    // What an earlier request with its key has left is not swept while this one begins the batch.
    db
      .prepare("UPDATE batch SET begins_at = iif(begins_at IS NULL, NULL, ?3) WHERE account_id = ?1 AND id = ?2 RETURNING 1")
      .bind(accountId, id, createdAt),
    db.prepare(`SELECT NOT ${hasRoomForOne.replace("?7", "?2")} AS isFull`).bind(accountId, maxOpen),
  ]);
  if (listed?.results.length === 1) return "listed";
  return refused?.results[0]?.isFull === 1 ? "too_many_open_tasks" : "too_many_files";
}

/** The batch has ended, or is about to. */
export const noteBatchEnded = (db: D1Database, accountId: string, id: string): Promise<void> =>
  execute(db, "UPDATE batch SET is_open = 0 WHERE account_id = ?1 AND id = ?2 AND is_open = 1", [accountId, id]);

/** The batch's object exists. */
export const noteBatchBegun = (db: D1Database, accountId: string, id: string): Promise<void> =>
  execute(db, "UPDATE batch SET begins_at = NULL WHERE account_id = ?1 AND id = ?2 AND begins_at IS NOT NULL", [accountId, id]);

/** Some batches that were listed before this time and whose objects may not exist. */
export const unbegunBatches = (db: D1Database, before: number, limit: number): Promise<Pick<BatchRow, "accountId" | "id">[]> =>
  queryRows(db, "SELECT account_id AS accountId, id FROM batch WHERE begins_at < ?1 ORDER BY begins_at LIMIT ?2", [before, limit]);

/** A random selection of batches that were created before this time and count as open. */
export const openBatches = (db: D1Database, before: number, limit: number): Promise<Pick<BatchRow, "accountId" | "id">[]> =>
  queryRows(
    db,
    "SELECT account_id AS accountId, id FROM batch WHERE is_open = 1 AND begins_at IS NULL AND created_at < ?1 ORDER BY random() LIMIT ?2",
    [before, limit],
  );

export const deleteBatch = (db: D1Database, accountId: string, id: string): Promise<void> =>
  execute(db, "DELETE FROM batch WHERE account_id = ?1 AND id = ?2", [accountId, id]);

/** A page of the ids of the owner's batches, newest first, after the batch `after`. */
export const listBatches = (
  db: D1Database,
  owner: Owner,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<string[]> =>
  queryIds(
    db,
    `SELECT id FROM batch WHERE account_id = ?1
        AND (?2 IS NULL OR (created_at, id) < (SELECT created_at, id FROM batch WHERE account_id = ?1 AND id = ?2))
        AND ${isOwn("?4")}
      ORDER BY created_at DESC, id DESC LIMIT ?3`,
    [owner.accountId, after ?? null, limit, toWallets(owner)],
  );

/** True if the account's list has this batch. */
export const hasBatch = (db: D1Database, accountId: string, id: string): Promise<boolean> =>
  hasRow(db, "SELECT 1 FROM batch WHERE account_id = ?1 AND id = ?2", [accountId, id]);
