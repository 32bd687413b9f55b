/** Queries of the ledger: charges by day and model, entries, tasks. Read-only; amounts in millionths, days in UTC. */

import { ofAccount } from "./ledger.ts";

const dayMs = 86_400_000;

/** The first millisecond of the period of this many days that ends today. */
export const startOfDays = (days: number, now: number) => (Math.floor(now / dayMs) - days + 1) * dayMs;

export interface Spent {
  /** Its first millisecond */
  day: number;
  model: string;
  charged: number;
}

/** An account's charges since `since` (milliseconds), by day of submission and model; without rows of zero. */
export async function spentByDay(db: D1Database, accountId: string, since: number): Promise<Spent[]> {
  const { results } = await db
    .prepare(
      `SELECT day, model, sum(charged) AS charged FROM spending WHERE account_id = ?1 AND day > ?2 - ${dayMs}
       GROUP BY 1, 2 HAVING sum(charged) > 0 ORDER BY 1 DESC, 2`,
    )
    .bind(accountId, since)
    .run<Spent>();
  return results;
}

/** The usage of one model by an account in a period. */
export interface ModelUse {
  model: string;
  /** Tasks and chats that ended. */
  runs: number;
  completed: number;
  charged: number;
}

/** Final tasks and chats of an account that were submitted since `since` (milliseconds), by model, the highest charge first. */
export async function usesByModel(db: D1Database, accountId: string, since: number): Promise<ModelUse[]> {
  const { results } = await db
    .prepare(
      `SELECT model, sum(completed + failed) AS runs, sum(completed) AS completed, sum(charged) AS charged FROM spending
       WHERE account_id = ?1 AND day > ?2 - ${dayMs} GROUP BY 1 ORDER BY 4 DESC, 2 DESC, 1`,
    )
    .bind(accountId, since)
    .run<ModelUse>();
  return results;
}

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
     WHERE ${ofAccount()} AND step = 'reserve' AND (kind = 'chat') = ${isChat} AND at BETWEEN ?2 AND ?3 AND (at < ?3 OR task_id < ?4)`;
  return db
    .prepare(
      `WITH hold AS (${side(0)} UNION ALL ${side(1)})
       SELECT h.task_id AS taskId, h.kind, h.model, k.name AS keyName, h.at, h.held,
         iif(h.closed_at IS NULL, NULL, h.charged) AS charged, h.outcome, h.closed_at AS closedAt
       FROM hold h LEFT JOIN api_key k ON k.id = h.key_id ORDER BY h.at DESC, h.task_id DESC LIMIT ?5`,
    )
    .bind(accountId, page.since, page.after?.at ?? Number.MAX_SAFE_INTEGER, page.after?.taskId ?? "", page.limit);
}

/** The cost of a task of the account: the reserved amount and, once it is settled, the charge; undefined without a reservation. */
export const readCost = async (
  db: D1Database,
  accountId: string,
  taskId: string,
): Promise<{ held: number; charged: number | null } | undefined> =>
  (await db
    .prepare(
      `SELECT held, iif(closed_at IS NULL, NULL, charged) AS charged FROM entry
       WHERE task_id = ?1 AND step = 'reserve' AND account_id = ?2`,
    )
    .bind(taskId, accountId)
    .first<{ held: number; charged: number | null }>()) ?? undefined;

/** A task with a reservation. */
export interface OpenTask {
  taskId: string;
  accountId: string;
  kind: string;
  model: string;
  held: number;
  /** When it was reserved, in milliseconds. */
  at: number;
}

/**
 * A page of the open tasks of all accounts in D1's own ledger, oldest first, after the one at `after`: those reserved after `since` (milliseconds),
 * without chats. Reads each wallet, and the open tasks of the accounts that have some: for operators, not for requests.
 */
export async function listOpenTasks(
  db: D1Database,
  page: { since: number; limit: number; after?: Place | undefined },
): Promise<OpenTask[]> {
  const { results } = await db
    .prepare(
      // The cross join fixes the order: wallets first, so that an account without open tasks costs only its wallet's row.
      `SELECT r.task_id AS taskId, r.account_id AS accountId, r.kind, r.model, r.held, r.at
       FROM wallet w CROSS JOIN entry r INDEXED BY entry_open ON r.account_id = w.id
       WHERE w.open_tasks > 0 AND r.step = 'reserve' AND r.closed_at IS NULL AND (r.kind = 'chat') = 0 AND r.at > ?1
         AND (r.at, r.task_id) > (?2, ?3)
       ORDER BY r.at, r.task_id LIMIT ?4`,
    )
    .bind(page.since, page.after?.at ?? 0, page.after?.taskId ?? "", page.limit)
    .run<OpenTask>();
  return results;
}

/** Accounts whose wallet objects have granted amounts. Reads each wallet: for operators, not for requests. */
export const listGrantedAccounts = async (db: D1Database, limit: number): Promise<string[]> =>
  (await db.prepare("SELECT id FROM wallet WHERE granted > 0 LIMIT ?1").bind(limit).run<{ id: string }>()).results.map(({ id }) => id);

/** The position of a task in its account's lists; undefined if the account has no such task. */
export const readPlace = async (db: D1Database, accountId: string, taskId: string): Promise<Place | undefined> =>
  (await db
    .prepare("SELECT at, task_id AS taskId FROM entry WHERE task_id = ?1 AND step = 'reserve' AND account_id = ?2 AND kind <> 'chat'")
    .bind(taskId, accountId)
    .first<Place>()) ?? undefined;

/** The filters of lists of tasks. A closed set, so that each filter needs only a few index scans. */
export interface Sort {
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
  /** Excludes settled tasks with another outcome. Open ones are always included: only their objects have their status. */
  outcome?: "open" | "completed" | "failed" | undefined;
  /** Milliseconds: tasks that ended before this time have no record any more. */
  endedSince: number;
  /** The longest duration of a task in milliseconds: a task submitted longer than that before `endedSince` has no record either. */
  longestMs: number;
}

/** A page of an account's tasks, newest first. Reads the rows of the page, once for each filter and outcome. */
export async function listTasks(db: D1Database, accountId: string, page: TaskPage): Promise<Place[]> {
  const { limit, after, sorts, isNarrowed, outcome, endedSince, longestMs } = page;
  const walk = (index: string, since: number, more: string, ...values: unknown[]) =>
    db
      .prepare(
        // The index is named, because with another one the scan would read every row of the account.
        `SELECT task_id AS taskId, at FROM entry INDEXED BY ${index}
         WHERE ${ofAccount()} AND step = 'reserve' AND at BETWEEN ?2 AND ?3 AND (at < ?3 OR task_id < ?4) AND ${more}
         ORDER BY at DESC, task_id DESC LIMIT ?5`,
      )
      .bind(accountId, since, after?.at ?? Number.MAX_SAFE_INTEGER, after?.taskId ?? "", limit, ...values);
  const settled = (index: string, more: string, ...values: unknown[]) =>
    walk(index, endedSince - longestMs, `closed_at IS NOT NULL AND closed_at > ?6 AND ${more}`, endedSince, ...values);
  const open = walk(
    "entry_open",
    0,
    `closed_at IS NULL AND (kind = 'chat') = 0 AND (?6 = 1 OR instr(?7, '"' || model || ' ' || kind || '"') > 0)`,
    isNarrowed ? 0 : 1,
    JSON.stringify(sorts.map(({ model, kind }) => `${model} ${kind}`)),
  );
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
  const found = await db.batch<Place>([open, ...walks]);
  return found
    .flatMap(({ results }) => results)
    .sort((a, b) => b.at - a.at || (a.taskId < b.taskId ? 1 : -1))
    .slice(0, limit);
}
