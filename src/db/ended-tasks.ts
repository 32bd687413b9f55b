/** An account's final tasks in the order of their ends, read from the ledger's settlements. */

import sql from "./ended-tasks.txt";

export interface EndedTask {
  taskId: string;
  outcome: string;
  /** When it was settled, in milliseconds; unique within the account. */
  at: number;
}

const [settled = "", ended = ""] = sql.split("\n\n");

/** When a task of the account was settled; undefined if it is open or belongs to another account. */
export const settledAt = async (db: D1Database, accountId: string, taskId: string): Promise<number | undefined> =>
  (await db.prepare(settled).bind(accountId, taskId).first<number>("at")) ?? undefined;

/**
 * The first `limit` tasks settled after `after` (milliseconds), oldest first. Each settlement of an account gets a later time than all
 * earlier ones (`settle` of the wallet object and of ledger.ts), so a reader who continues from the last row misses none.
 */
export const listEndedTasks = async (db: D1Database, accountId: string, after: number, limit: number): Promise<EndedTask[]> =>
  (await db.prepare(ended).bind(accountId, after, limit).run<EndedTask>()).results;
