/** An account's final tasks in the order of their ends, read from the ledger's settlements. */

import sql from "./ended-tasks.txt";

export interface EndedTask {
  taskId: string;
  outcome: string;
  /** When it was settled, in milliseconds; unique within the account. */
  at: number;
}

/** When a task of the account was settled; undefined if it is open or belongs to another account. */
export const settledAt = async (db: D1Database, accountId: string, taskId: string): Promise<number | undefined> =>
  (await db
    .prepare(
      `SELECT closed_at AS at FROM entry
       WHERE task_id = ?1 AND step = 'reserve' AND account_id = ?2 AND kind <> 'chat' AND closed_at IS NOT NULL AND outcome <> 'refused'`,
    )
    .bind(taskId, accountId)
    .first<number>("at")) ?? undefined;

/**
 * The first `limit` tasks settled after `after` (milliseconds), oldest first. Each settlement of an account gets a later time than all
 * earlier ones (`settle` of the wallet object and of ledger.ts), so a reader who continues from the last row misses none.
 */
export const listEndedTasks = async (db: D1Database, accountId: string, after: number, limit: number): Promise<EndedTask[]> =>
  (await db.prepare(sql).bind(accountId, after, limit).run<EndedTask>()).results;
