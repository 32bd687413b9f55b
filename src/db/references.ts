/** The callers' own names for tasks: written with the task, read by lists. */

/** A task and the name its caller gave it; `at` is when it was submitted, milliseconds. */
interface NamedTask {
  accountId: string;
  reference: string;
  at: number;
  taskId: string;
}

/** Throws when D1 cannot tell; repeating is safe. */
export async function insertReference(db: D1Database, { accountId, reference, at, taskId }: NamedTask): Promise<void> {
  await db
    .prepare("INSERT INTO task_reference (account_id, reference, at, task_id) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")
    .bind(accountId, reference, at, taskId)
    .run();
}

/**
 * A page of an account's tasks with this reference, newest first, after the one at `after`; `since` (milliseconds) leaves out what was
 * submitted before and has no record any more. Reads the rows of the page.
 */
export async function listReferenced(
  db: D1Database,
  accountId: string,
  page: { reference: string; limit: number; since: number; after?: Pick<NamedTask, "at" | "taskId"> | undefined },
): Promise<Pick<NamedTask, "at" | "taskId">[]> {
  const { reference, limit, since, after } = page;
  const { results } = await db
    .prepare(
      `SELECT task_id AS taskId, at FROM task_reference
       WHERE account_id = ?1 AND reference = ?2 AND at BETWEEN ?3 AND ?4 AND (at < ?4 OR task_id < ?5)
       ORDER BY at DESC, task_id DESC LIMIT ?6`,
    )
    .bind(accountId, reference, since, after?.at ?? Number.MAX_SAFE_INTEGER, after?.taskId ?? "", limit)
    .run<Pick<NamedTask, "at" | "taskId">>();
  return results;
}
