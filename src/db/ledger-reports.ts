/** Queries of the ledger: charges by day and model, entries, tasks and their ends. Read-only; amounts in millionths, days in UTC. */

import { dayMs } from "../base/times.ts";
import { isOwn, toWallets } from "./callers.ts";
import { ofAccount } from "./ledger.ts";
import { queryRow, queryRows } from "./query.ts";

/** The first millisecond of the period of this many days that ends today. */
export const startOfDays = (days: number, now: number) => (Math.floor(now / dayMs) - days + 1) * dayMs;

export interface Spent {
  /** Its first millisecond */
  day: number;
  model: string;
  charged: number;
}

/** An account's charges since `since` (milliseconds), by day of submission and model; without rows of zero. */
export const spentByDay = (db: D1Database, accountId: string, since: number, wallets?: string[]): Promise<Spent[]> =>
  queryRows(
    db,
    `SELECT day, model, sum(charged) AS charged FROM spending WHERE account_id = ?1 AND day > ?2 - ${dayMs} AND ${isOwn("?3")}
      GROUP BY 1, 2 HAVING sum(charged) > 0 ORDER BY 1 DESC, 2`,
    [accountId, since, toWallets({ ownWallets: wallets })],
  );

/** The usage of one model by an account in a period. */
export interface ModelUse {
  model: string;
  /** Tasks and chats that ended. */
  runs: number;
  completed: number;
  charged: number;
}

/** Final tasks and chats of an account that were submitted from `since` to before `until` (milliseconds), by model, the highest charge first. */
export const usesByModel = (
  db: D1Database,
  accountId: string,
  [since, until]: readonly [number, number],
  wallets?: string[],
): Promise<ModelUse[]> =>
  queryRows(
    db,
    `SELECT model, sum(completed + failed) AS runs, sum(completed) AS completed, sum(charged) AS charged FROM spending
      WHERE account_id = ?1 AND day > ?2 - ${dayMs} AND day < ?4 AND ${isOwn("?3")} GROUP BY 1 ORDER BY 4 DESC, 2 DESC, 1`,
    [accountId, since, toWallets({ ownWallets: wallets }), until],
  );

/** One task or chat in the ledger. The fields about its end are null while it is open. */
export interface Entry {
  taskId: string;
  kind: string;
  model: string;
  /** The name of the key that paid, also if it is deleted */
  keyName: string | null;
  at: number;
  held: number;
  charged: number | null;
  /** "completed", or the reason of its failure */
  outcome: string | null;
  closedAt: number | null;
}

/** A position in the list: the last row of a page. */
export type Place = Pick<Entry, "at" | "taskId">;

export interface EntryPage {
  /** Milliseconds */
  since: number;
  limit: number;
  after?: Place | undefined;
}

/** The statement for a page of an account's entries in D1 since `since`, newest first, after the one at `after`. */
export function selectEntries(db: D1Database, accountId: string, page: EntryPage): D1PreparedStatement {
  // Two index scans, tasks and chats, merged by SQLite: a page reads only its own rows.
  const side = (isChat: 0 | 1) =>
    `SELECT task_id, at, kind, model, key_id, held, charged, outcome, closed_at FROM entry
     WHERE ${ofAccount()} AND (kind = 'chat') = ${isChat} AND at BETWEEN ?2 AND ?3 AND (at < ?3 OR task_id < ?4)`;
  return db
    .prepare(
      `WITH hold AS (${side(0)} UNION ALL ${side(1)})
       SELECT h.task_id AS taskId, h.kind, h.model, k.name AS keyName, h.at, h.held, h.charged, h.outcome, h.closed_at AS closedAt
       FROM hold h LEFT JOIN api_key k ON k.id = h.key_id ORDER BY h.at DESC, h.task_id DESC LIMIT ?5`,
    )
    .bind(accountId, page.since, page.after?.at ?? Number.MAX_SAFE_INTEGER, page.after?.taskId ?? "", page.limit);
}

/** The cost of a settled task of the account: the amount that was held, and the charge; undefined without an entry. */
export const readCost = (db: D1Database, accountId: string, taskId: string): Promise<{ held: number; charged: number } | undefined> =>
  queryRow(db, "SELECT held, charged FROM entry WHERE task_id = ?1 AND account_id = ?2", [taskId, accountId]);

/** What an account's task or chat costs, and how it ended. */
export interface TaskCharge {
  held: number;
  charged: number;
  outcome: string;
  /** Its attempts as D1 keeps them (`parseAttempts`), JSON; null if they are not known. */
  attempts: string | null;
}

/** What these tasks and chats of an account cost; those without an entry are missing. */
export const readCharges = async (db: D1Database, accountId: string, taskIds: string[]): Promise<Map<string, TaskCharge>> => {
  const rows = await queryRows<TaskCharge & { taskId: string }>(
    db,
    "SELECT task_id AS taskId, held, charged, outcome, attempts FROM entry WHERE task_id IN (SELECT value FROM json_each(?1)) AND account_id = ?2",
    [JSON.stringify(taskIds), accountId],
  );
  return new Map(rows.map(({ taskId, ...charge }) => [taskId, charge]));
};

/** A task with a hold. */
export interface OpenTask {
  taskId: string;
  accountId: string;
  kind: string;
  model: string;
  held: number;
  /** When it was reserved, in milliseconds. */
  at: number;
}

/** The position of a task in its account's lists; undefined if the account has no such task. */
export const readPlace = (db: D1Database, accountId: string, taskId: string): Promise<Place | undefined> =>
  queryRow(db, "SELECT at, task_id AS taskId FROM entry WHERE task_id = ?1 AND account_id = ?2 AND kind <> 'chat'", [taskId, accountId]);

/** The filters of lists of tasks. A closed set, so that each filter needs only a few index scans. */
interface Sort {
  model: string;
  kind: string;
}

export interface TaskPage {
  limit: number;
  after?: Place | undefined;
  /** The models and kinds of the tasks: all that exist, or the requested ones. */
  sorts: Sort[];
  /** True if some models or kinds are excluded. */
  isNarrowed: boolean;
  /** Excludes tasks with another outcome. "open": D1 has none of them. */
  outcome?: "open" | "completed" | "failed" | undefined;
  /** Milliseconds: the records of tasks that ended before this time are deleted. */
  endedSince: number;
  /** The longest duration of a task in milliseconds: a task submitted longer than that before `endedSince` has no record either. */
  longestMs: number;
}

/** A page of an account's settled tasks, newest first. Reads the rows of the page and of refused tasks between them, once for each filter and outcome. */
export async function listTasks(db: D1Database, accountId: string, page: TaskPage): Promise<Place[]> {
  const { limit, after, sorts, isNarrowed, outcome, endedSince, longestMs } = page;
  const settled = (index: string, more: string, ...values: unknown[]) =>
    db
      .prepare(
        // The index is named, because with another one the scan would read every row of the account.
        `SELECT task_id AS taskId, at FROM entry INDEXED BY ${index}
         WHERE ${ofAccount()} AND at BETWEEN ?2 AND ?3 AND (at < ?3 OR task_id < ?4)
           AND closed_at > ?6 AND outcome <> 'refused' AND ${more}
         ORDER BY at DESC, task_id DESC LIMIT ?5`,
      )
      .bind(accountId, endedSince - longestMs, after?.at ?? Number.MAX_SAFE_INTEGER, after?.taskId ?? "", limit, endedSince, ...values);
  const outcomes = { open: [], completed: [1], failed: [0] };
  const wanted = outcome ? outcomes[outcome] : [0, 1];
  const sortedWalks = () =>
    sorts.flatMap(({ model, kind }) =>
      wanted.map((isCompleted) =>
        settled(
          "entry_filtered",
          "kind <> 'chat' AND model = ?7 AND substr(kind, 1, 1) = substr(?8, 1, 1) AND kind = ?8 AND (outcome = 'completed') = ?9",
          model,
          kind,
          isCompleted,
        ),
      ),
    );
  const walks = isNarrowed || outcome ? sortedWalks() : [settled("entry_by_account", "(kind = 'chat') = 0")];
  if (walks.length === 0) return [];
  const found = await db.batch<Place>(walks);
  return found
    .flatMap(({ results }) => results)
    .sort((a, b) => b.at - a.at || (a.taskId < b.taskId ? 1 : -1))
    .slice(0, limit);
}

/** A final task, or the end of a delivery. */
export interface EndedTask {
  taskId: string;
  /** "completed", the reason of the task's failure, "delivered" or "delivery_failed". */
  outcome: string;
  /** When it was settled or delivered, in milliseconds; unique within the account. */
  at: number;
}

const isTask = "kind <> 'chat' AND outcome <> 'refused'";

/** When a task of the account was settled; undefined if it is open or belongs to another account. */
export const settledAt = async (db: D1Database, accountId: string, taskId: string): Promise<number | undefined> =>
  (await db
    .prepare(`SELECT closed_at AS at FROM entry WHERE task_id = ?2 AND account_id = ?1 AND ${isTask}`)
    .bind(accountId, taskId)
    .first<number>("at")) ?? undefined;

/**
 * The first `limit` tasks settled, and deliveries ended, after `after` (milliseconds), oldest first. Each of these of an account gets a later
 * time than all earlier ones (`WalletBook.nextEnd`), so a reader who continues from the last row misses none. Reads the rows of the result, and at most one page more.
 */
export async function listEndedTasks(db: D1Database, accountId: string, after: number, limit: number): Promise<EndedTask[]> {
  // Each page has a later task than the pages before it.
  const inPages = `SELECT task_id AS taskId, outcome, closed_at AS at FROM ended_page CROSS JOIN json_each(tasks) CROSS JOIN entry ON task_id = value
    WHERE ended_page.account_id = ?1 AND ended_at > ?2 AND closed_at > ?2 ORDER BY ended_at, closed_at LIMIT ?3`;
  // Those that are in no page: the index entry_ended.
  const alone = `SELECT task_id AS taskId, outcome, closed_at AS at FROM entry
    WHERE ${ofAccount()} AND ${isTask} AND paged IS NULL AND closed_at > ?2 ORDER BY closed_at LIMIT ?3`;
  const deliveries = `SELECT task_id AS taskId, outcome, at FROM delivery_event WHERE account_id = ?1 AND at > ?2 ORDER BY at LIMIT ?3`;
  // One statement: a reader who continues after its last row must not miss an earlier one that was written between two statements.
  return queryRows(
    db,
    `SELECT * FROM (${inPages}) UNION ALL SELECT * FROM (${alone}) UNION ALL SELECT * FROM (${deliveries}) ORDER BY at LIMIT ?3`,
    [accountId, after, limit],
  );
}
