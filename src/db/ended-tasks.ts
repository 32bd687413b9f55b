/** An account's final tasks in the order of their ends, read from the ledger's settlements. */

export interface EndedTask {
  taskId: string;
  outcome: string;
  /** When it was settled, in milliseconds; unique within the account. */
  at: number;
}

/** When a task of the account was settled; undefined if it is not settled, or not the account's. */
export const settledAt = async (db: D1Database, accountId: string, taskId: string): Promise<number | undefined> =>
  (await db
    .prepare("SELECT at FROM entry WHERE task_id = ?1 AND step = 'close' AND account_id = ?2 AND kind <> 'chat' AND outcome <> 'refused'")
    .bind(taskId, accountId)
    .first<number>("at")) ?? undefined;

/**
 * The first `limit` tasks that were settled after `after` (milliseconds), oldest first. A settlement gets a later time than all earlier ones of
 * its account (`settle` in ledger.ts), so that a client that continues from the last row misses none. Reads only the rows of the page.
 */
export const listEndedTasks = async (db: D1Database, accountId: string, after: number, limit: number): Promise<EndedTask[]> =>
  (
    await db
      .prepare(
        `SELECT task_id AS taskId, outcome, at FROM entry
         WHERE account_id = ?1 AND step = 'close' AND kind <> 'chat' AND outcome <> 'refused' AND at > ?2 ORDER BY at LIMIT ?3`,
      )
      .bind(accountId, after, limit)
      .run<EndedTask>()
  ).results;
