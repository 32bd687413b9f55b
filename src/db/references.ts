/** The callers' references of tasks: written with the task, read by lists. */

import { slackMs } from "./archive.ts";
import type { TaskPage } from "./ledger-reports.ts";
import { execute, queryRow, queryRows } from "./query.ts";

/** A task and its reference; `at` is its time of submission in milliseconds. */
interface NamedTask {
  accountId: string;
  reference: string;
  at: number;
  taskId: string;
}

/** Throws if D1 does not answer; repeating is safe. */
export async function insertReference(db: D1Database, { accountId, reference, at, taskId }: NamedTask): Promise<void> {
  await execute(db, "INSERT INTO task_reference (account_id, reference, at, task_id) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING", [
    accountId,
    reference,
    at,
    taskId,
  ]);
}

/** A task's position in the list of its reference. */
export type ReferencedPlace = Pick<NamedTask, "at" | "taskId">;

/**
 * The next `limit` of an account's tasks with this reference, newest first. `isWanted`: it may match the filters, because it does or is open and
 * its status is only in its object. Reads two rows for each of them.
 */
export async function listReferenced(
  db: D1Database,
  accountId: string,
  reference: string,
  page: Pick<TaskPage, "limit" | "sorts" | "outcome" | "endedSince" | "longestMs"> & { after?: ReferencedPlace | undefined },
): Promise<(ReferencedPlace & { isWanted: 0 | 1 })[]> {
  const { limit, after, sorts, outcome, endedSince, longestMs } = page;
  return queryRows(
    db,
    `SELECT r.task_id AS taskId, r.at,
       e.task_id IS NULL OR (e.closed_at > ?7 AND e.outcome <> 'refused' AND instr(?6, '"' || e.model || ' ' || e.kind || '"') > 0
         AND CASE ?9 WHEN 'open' THEN false WHEN 'completed' THEN e.outcome = 'completed' WHEN 'failed' THEN e.outcome <> 'completed' ELSE true END)
       AS isWanted
     FROM task_reference r LEFT JOIN entry e ON e.task_id = r.task_id
     WHERE r.account_id = ?1 AND r.reference = ?2 AND r.at BETWEEN ?3 AND ?4 AND (r.at < ?4 OR r.task_id < ?5)
     ORDER BY r.at DESC, r.task_id DESC LIMIT ?8`,
    [
      accountId,
      reference,
      endedSince - longestMs,
      after?.at ?? Number.MAX_SAFE_INTEGER,
      after?.taskId ?? "",
      JSON.stringify(sorts.map(({ model, kind }) => `${model} ${kind}`)),
      endedSince,
      limit,
      outcome ?? null,
    ],
  );
}

/**
 * The position of an account's task in the list of its reference; undefined if it is not in it. `heldAt`: when its price was held, in
 * milliseconds, if D1 has no entry of it yet. Reads the reference's rows of some minutes.
 */
export const readReferencedPlace = (
  db: D1Database,
  accountId: string,
  reference: string,
  taskId: string,
  heldAt: number | undefined,
): Promise<ReferencedPlace | undefined> =>
  queryRow(
    db,
    `SELECT r.at, r.task_id AS taskId FROM (SELECT coalesce((SELECT at FROM entry WHERE task_id = ?3), ?4) AS at) h
       JOIN task_reference r ON r.account_id = ?1 AND r.reference = ?2 AND r.at BETWEEN h.at - ${slackMs} AND h.at + ${slackMs}
     WHERE r.task_id = ?3`,
    [accountId, reference, taskId, heldAt ?? null],
  );
