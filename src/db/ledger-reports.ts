/** Reads the ledger: spending by day and model, entries, tasks, audit. It moves nothing; amounts in millionths, days in UTC. */

const dayMs = 86_400_000;

/** The first millisecond of the period of so many days that ends today. */
export const startOfDays = (days: number, now: number) => (Math.floor(now / dayMs) - days + 1) * dayMs;

export interface Spent {
  /** Its first millisecond */
  day: number;
  model: string;
  charged: number;
}

/** What an account was charged since `since` (milliseconds), by the day on which the task or chat was submitted and by model; nothing where nothing was charged. */
export async function spentByDay(db: D1Database, accountId: string, since: number): Promise<Spent[]> {
  // The day's length is no parameter: those are floating-point numbers, and the division has to be whole.
  const { results } = await db
    .prepare(
      `SELECT r.at / ${dayMs} * ${dayMs} AS day, r.model AS model, sum(c.charged) AS charged
       FROM entry r JOIN entry c ON c.task_id = r.task_id AND c.step = 'close'
       WHERE r.account_id = ?1 AND r.step = 'reserve' AND (r.kind = 'chat') IN (0, 1) AND r.at >= ?2
       GROUP BY 1, 2 HAVING sum(c.charged) > 0 ORDER BY 1 DESC, 2`,
    )
    .bind(accountId, since)
    .run<Spent>();
  return results;
}

/** What one model did for an account in a period. */
export interface ModelUse {
  model: string;
  /** Tasks and chats that ended. */
  runs: number;
  completed: number;
  charged: number;
}

/** Tasks and chats of an account that were submitted since `since` (milliseconds) and have ended, by model, the dearest first. */
export async function usesByModel(db: D1Database, accountId: string, since: number): Promise<ModelUse[]> {
  const { results } = await db
    .prepare(
      `SELECT r.model AS model, count(*) AS runs, sum(c.outcome = 'completed') AS completed, sum(c.charged) AS charged
       FROM entry r JOIN entry c ON c.task_id = r.task_id AND c.step = 'close'
       WHERE r.account_id = ?1 AND r.step = 'reserve' AND (r.kind = 'chat') IN (0, 1) AND r.at >= ?2
       GROUP BY 1 ORDER BY 4 DESC, 2 DESC, 1`,
    )
    .bind(accountId, since)
    .run<ModelUse>();
  return results;
}

/** One task or chat in the books. What follows its end is null while it is open. */
export interface Entry {
  taskId: string;
  kind: string;
  model: string;
  /** Of the key that paid, also when it is deleted */
  keyName: string | null;
  at: number;
  held: number;
  charged: number | null;
  /** "completed", or why it failed */
  outcome: string | null;
  closedAt: number | null;
}

/** A place in the list: the last one of a page. */
export type Place = Pick<Entry, "at" | "taskId">;

/** A page of an account's entries since `since` (milliseconds), newest first, after the one at `after`. */
export async function listEntries(
  db: D1Database,
  accountId: string,
  page: { since: number; limit: number; after?: Place | undefined },
): Promise<Entry[]> {
  // Two walks along the index, tasks and chats, that SQLite merges: no page costs more than its own rows.
  const side = (isChat: 0 | 1) =>
    `SELECT task_id, at, kind, model, key_id, held FROM entry
     WHERE account_id = ?1 AND step = 'reserve' AND (kind = 'chat') = ${isChat} AND at BETWEEN ?2 AND ?3 AND (at < ?3 OR task_id < ?4)`;
  const { results } = await db
    .prepare(
      `WITH hold AS (${side(0)} UNION ALL ${side(1)})
       SELECT h.task_id AS taskId, h.kind, h.model, k.name AS keyName, h.at, h.held, c.charged, c.outcome, c.at AS closedAt
       FROM hold h LEFT JOIN entry c ON c.task_id = h.task_id AND c.step = 'close' LEFT JOIN api_key k ON k.id = h.key_id
       ORDER BY h.at DESC, h.task_id DESC LIMIT ?5`,
    )
    .bind(accountId, page.since, page.after?.at ?? Number.MAX_SAFE_INTEGER, page.after?.taskId ?? "", page.limit)
    .run<Entry>();
  return results;
}

/** What a task of the account cost: what was held for it and, once its books are closed, what was charged of that; undefined when it held nothing. */
export const readCost = async (
  db: D1Database,
  accountId: string,
  taskId: string,
): Promise<{ held: number; charged: number | null } | undefined> =>
  (await db
    .prepare(
      `SELECT r.held, c.charged FROM entry r LEFT JOIN entry c ON c.task_id = r.task_id AND c.step = 'close'
       WHERE r.task_id = ?1 AND r.account_id = ?2 AND r.step = 'reserve'`,
    )
    .bind(taskId, accountId)
    .first<{ held: number; charged: number | null }>()) ?? undefined;

/** A task that holds money. */
export interface OpenTask {
  taskId: string;
  accountId: string;
  kind: string;
  model: string;
  held: number;
  /** When it was reserved, milliseconds. */
  at: number;
}

/**
 * A page of everybody's tasks whose books are open, oldest first, after the task `after`: those that were reserved after `since`
 * (milliseconds), without chats, and without what is free while its account holds nothing else. Reads each wallet, and three rows
 * for each task since then of the accounts that hold something: for operators, not for requests.
 */
export async function listOpenTasks(
  db: D1Database,
  page: { since: number; limit: number; after?: string | undefined },
): Promise<OpenTask[]> {
  const { results } = await db
    .prepare(
      // The cross join keeps the order: wallets first, so that who holds nothing is passed over whatever was done in the past.
      `SELECT r.task_id AS taskId, r.account_id AS accountId, r.kind, r.model, r.held, r.at
       FROM wallet w CROSS JOIN entry r ON r.account_id = w.id
       WHERE w.reserved > 0 AND r.at > ?1 AND r.step = 'reserve' AND (r.kind = 'chat') = 0
         AND NOT EXISTS (SELECT 1 FROM entry c WHERE c.task_id = r.task_id AND c.step = 'close')
         AND (?2 IS NULL OR (r.at, r.task_id) > (SELECT at, task_id FROM entry WHERE task_id = ?2 AND step = 'reserve'))
       ORDER BY r.at, r.task_id LIMIT ?3`,
    )
    .bind(page.since, page.after ?? null, page.limit)
    .run<OpenTask>();
  return results;
}

/**
 * A page of an account's tasks, newest first, after the task `after`. `outcome` leaves out those that ended otherwise;
 * how one stands whose books are still open only its object knows.
 */
export async function listTasks(
  db: D1Database,
  accountId: string,
  page: {
    limit: number;
    after?: string | undefined;
    kind?: string | undefined;
    model?: string | undefined;
    outcome?: "open" | "completed" | "failed" | undefined;
    /** Milliseconds: tasks that ended before have no record any more. */
    endedSince: number;
  },
): Promise<{ taskId: string }[]> {
  const outcomes = { open: "false", completed: "c.outcome = 'completed'", failed: "c.outcome <> 'completed'" };
  const { results } = await db
    .prepare(
      `SELECT r.task_id AS taskId FROM entry r LEFT JOIN entry c ON c.task_id = r.task_id AND c.step = 'close'
       WHERE r.account_id = ?1 AND r.step = 'reserve' AND (r.kind = 'chat') = 0
         AND (?2 IS NULL OR (r.at, r.task_id) < (SELECT at, task_id FROM entry WHERE task_id = ?2 AND step = 'reserve' AND account_id = ?1))
         AND (?3 IS NULL OR r.kind = ?3) AND (?6 IS NULL OR r.model = ?6)
         AND (c.task_id IS NULL OR (c.at > ?5 AND ${page.outcome ? outcomes[page.outcome] : "true"}))
       ORDER BY r.at DESC, r.task_id DESC LIMIT ?4`,
    )
    .bind(accountId, page.after ?? null, page.kind ?? null, page.limit, page.endedSince, page.model ?? null)
    .run<{ taskId: string }>();
  return results;
}

export interface Audit {
  accounts: number;
  tasksOpen: number;
  reserved: number;
  /** Every wallet whose sums disagree with the ledger. */
  drift: { id: string; reserved: number; used: number; ledgerReserved: number; ledgerUsed: number }[];
}

/** Checks the books: each wallet against the sums of its entries. Reads everything: for operators, not for requests. */
export async function audit(db: D1Database): Promise<Audit> {
  const [totals, drift] = await db.batch<Record<string, number | string>>([
    db.prepare(
      `SELECT (SELECT count(*) FROM account) AS accounts,
              (SELECT count(*) FROM entry r WHERE step = 'reserve' AND NOT EXISTS (SELECT 1 FROM entry c WHERE c.task_id = r.task_id AND c.step = 'close')) AS tasksOpen,
              (SELECT coalesce(sum(w.reserved), 0) FROM wallet w JOIN account a ON a.id = w.id) AS reserved`,
    ),
    db.prepare(
      `WITH side (id, held, charged) AS (
         SELECT account_id, CASE step WHEN 'reserve' THEN held ELSE -held END, charged FROM entry
         UNION ALL SELECT key_id, CASE step WHEN 'reserve' THEN held ELSE -held END, charged FROM entry),
       book (id, held, charged) AS (SELECT id, sum(held), sum(charged) FROM side GROUP BY id)
       SELECT coalesce(w.id, b.id) AS id, coalesce(w.reserved, 0) AS reserved, coalesce(w.used, 0) AS used,
              coalesce(b.held, 0) AS ledgerReserved, coalesce(b.charged, 0) AS ledgerUsed
       FROM wallet w FULL JOIN book b ON b.id = w.id
       WHERE coalesce(w.reserved, 0) <> coalesce(b.held, 0) OR coalesce(w.used, 0) <> coalesce(b.charged, 0)`,
    ),
  ]);
  return { ...(totals!.results[0] as unknown as Omit<Audit, "drift">), drift: drift!.results as unknown as Audit["drift"] };
}
