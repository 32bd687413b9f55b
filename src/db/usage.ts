/** An account's charges in a range of days, from the daily sums; by reference from the tasks that have one. Amounts in millionths, days in UTC. */

import { dayMs } from "../base/times.ts";
import { type ArchivePart, slackMs } from "./archive.ts";
import { isOwn, toWallets } from "./callers.ts";

/** The first milliseconds of the first and the last day. */
export interface Span {
  first: number;
  last: number;
}

/** The possible groups of usage. `key` is the wallet of a key, which rotated keys share. */
export type Column = "day" | "model" | "key" | "reference";

/** One group: the requested columns, and the totals of tasks and chats submitted then. */
export interface Used {
  /** Its first millisecond. */
  day?: number;
  model?: string;
  key?: string;
  /** null for everything without a reference. */
  reference?: string | null;
  charged: number;
  returned: number;
  completed: number;
  failed: number;
}

/** The totals of a group. */
export const usageSums = ["charged", "returned", "completed", "failed"] as const;

/** Usage by these columns, in their order, of these keys' wallets alone if they are given. Reads a row per day, model and key. */
export async function readUsage(
  db: D1Database,
  accountId: string,
  span: Span,
  columns: readonly Column[],
  wallets?: string[],
): Promise<Used[]> {
  return (await totals(db, accountId, span, columns, wallets).run<Used>()).results;
}

function totals(
  db: D1Database,
  accountId: string,
  { first, last }: Span,
  columns: readonly Column[],
  wallets?: string[],
): D1PreparedStatement {
  const names = columns.map((column) => (column === "key" ? "key_id AS key" : column));
  const order = columns.map((_, at) => at + 1).join(", ");
  return db
    .prepare(
      `SELECT ${[...names, ...usageSums.map((sum) => `sum(${sum}) AS ${sum}`)].join(", ")} FROM spending
       WHERE account_id = ?1 AND day BETWEEN ?2 AND ?3 AND ${isOwn("?4")} ${order && `GROUP BY ${order} ORDER BY ${order}`}`,
    )
    .bind(accountId, first, last, toWallets({ ownWallets: wallets }));
}

/**
 * What usage by reference is made of, in one transaction: the number of D1's tasks with a reference, counted to one more than `maxTasks`; their usage by
 * reference and columns; the usage of everything by the columns; and the archive's files, which `parts` selects. Reads two rows for each of these tasks.
 */
export async function readReferencedUsage(
  db: D1Database,
  accountId: string,
  span: Span,
  columns: readonly Exclude<Column, "reference">[],
  maxTasks: number,
  parts: D1PreparedStatement,
) {
  const expressions = { day: `e.at / ${dayMs} * ${dayMs} AS day`, model: "e.model", key: "e.key_id AS key" };
  const named = `SELECT reference, task_id FROM task_reference WHERE account_id = ?1 AND at BETWEEN ?2 - ${slackMs} AND ?3 + ${dayMs + slackMs} LIMIT ?4`;
  const groups = ["r.reference", ...columns.map((column) => expressions[column])];
  const order = groups.map((_, at) => at + 1).join(", ");
  const read = await db.batch([
    db.prepare(`SELECT count(*) AS tasks FROM (${named})`).bind(accountId, span.first, span.last, maxTasks + 1),
    db
      .prepare(
        `SELECT ${groups.join(", ")}, sum(e.charged) AS charged, sum(e.held - e.charged) AS returned,
         sum(e.outcome = 'completed') AS completed, sum(e.outcome <> 'completed') AS failed
         FROM (${named}) r JOIN entry e ON e.task_id = r.task_id
         WHERE e.at >= ?2 AND e.at < ?3 + ${dayMs} AND e.outcome <> 'refused' GROUP BY ${order} ORDER BY ${order}`,
      )
      .bind(accountId, span.first, span.last, maxTasks),
    totals(db, accountId, span, columns),
    parts,
  ]);
  return read.map(({ results }) => results) as [[{ tasks: number }], Used[], Used[], ArchivePart[]];
}
