/** The batches of each account in D1: only what their list needs. */

export interface BatchRow {
  accountId: string;
  id: string;
  /** Milliseconds */
  createdAt: number;
}

/** Lists a batch. Repeating is safe. */
export const insertBatch = async (db: D1Database, { accountId, id, createdAt }: BatchRow): Promise<void> => {
  await db
    .prepare("INSERT INTO batch (account_id, id, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
    .bind(accountId, id, createdAt)
    .run();
};

export const deleteBatch = async (db: D1Database, accountId: string, id: string): Promise<void> => {
  await db.prepare("DELETE FROM batch WHERE account_id = ?1 AND id = ?2").bind(accountId, id).run();
};

/** A page of the ids of an account's batches, newest first, after the batch `after`. */
export const listBatches = async (
  db: D1Database,
  accountId: string,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<string[]> =>
  (
    await db
      .prepare(
        `SELECT id FROM batch WHERE account_id = ?1
           AND (?2 IS NULL OR (created_at, id) < (SELECT created_at, id FROM batch WHERE account_id = ?1 AND id = ?2))
         ORDER BY created_at DESC, id DESC LIMIT ?3`,
      )
      .bind(accountId, after ?? null, limit)
      .run<{ id: string }>()
  ).results.map(({ id }) => id);

/** True if the account's list has this batch. */
export const hasBatch = async (db: D1Database, accountId: string, id: string): Promise<boolean> =>
  (await db.prepare("SELECT 1 FROM batch WHERE account_id = ?1 AND id = ?2").bind(accountId, id).first()) !== null;
