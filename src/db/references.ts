/** The callers' references of tasks: written with the task, read by lists. */

import type { TaskPage } from "./ledger-reports.ts";
import sql from "./references.txt";

/** A task and its reference; `at` is its time of submission in milliseconds. */
interface NamedTask {
  accountId: string;
  reference: string;
  at: number;
  taskId: string;
}

/** Throws if D1 does not answer; repeating is safe. */
export async function insertReference(db: D1Database, { accountId, reference, at, taskId }: NamedTask): Promise<void> {
  await db
    .prepare("INSERT INTO task_reference (account_id, reference, at, task_id) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING")
    .bind(accountId, reference, at, taskId)
    .run();
}

/** A task's position in the list of its reference. */
export type ReferencedPlace = Pick<NamedTask, "at" | "taskId">;

/**
 * A page of an account's tasks with this reference, newest first. Settled tasks that do not match the filters are left out; the status of an open
 * one is only in its object. Reads two rows per task with this reference.
 */
export async function listReferenced(
  db: D1Database,
  accountId: string,
  reference: string,
  page: Pick<TaskPage, "limit" | "sorts" | "outcome" | "endedSince" | "longestMs"> & { after?: ReferencedPlace | undefined },
): Promise<ReferencedPlace[]> {
  const { limit, after, sorts, outcome, endedSince, longestMs } = page;
  const { results } = await db
    .prepare(sql)
    .bind(
      accountId,
      reference,
      endedSince - longestMs,
      after?.at ?? Number.MAX_SAFE_INTEGER,
      after?.taskId ?? "",
      JSON.stringify(sorts.map(({ model, kind }) => `${model} ${kind}`)),
      endedSince,
      limit,
      outcome ?? null,
    )
    .run<ReferencedPlace>();
  return results;
}
