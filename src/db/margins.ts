/** What the operator earned and paid in a range of days, by model, route, account or day of settlement. Amounts in millionths, days in UTC. For the operator only. */

import { dayMs } from "../base/times.ts";
import { readJob } from "./jobs.ts";
import { ofAccount } from "./ledger.ts";
import { execute, queryRows } from "./query.ts";
import { settledSums } from "./settled-sums.ts";
import type { Span } from "./usage.ts";

/** Entries are found by their submission: none is settled later than this after it, except after long faults. */
const longestMs = 7_200_000;
/** How long the days of accounts are kept. */
const keptMs = 400 * dayMs;

export type MarginGroup = "model" | "route" | "account" | "day";

/** One group of settled tasks and chats. */
export interface Margin {
  /** A model, the name of a route (`routeName`; empty: not known), the id of an account, or a day as its first millisecond. */
  name: string | number;
  /** What callers paid. */
  revenue: number;
  /** What the makers bill, as far as it is known. */
  cost: number;
  completed: number;
  /** Tasks and chats without a result, also those whose caller caused it. */
  failed: number;
  /** Attempts whose cost is not known. */
  uncosted: number;
}

/**
 * Margins of the settlements of these days, by `group`: the highest revenue first, days in their order. Reads the sums, and of accounts also the
 * entries of the last days. At most `limit` groups; `model` leaves out other models, except by account.
 */
export async function readMargins(
  db: D1Database,
  { first, last }: Span,
  group: MarginGroup,
  { limit = -1, model }: { limit?: number; model?: string } = {},
): Promise<Margin[]> {
  const order = `GROUP BY 1 ORDER BY ${group === "day" ? "1" : "2 DESC, 3 DESC, 1"} LIMIT ${limit}`;
  const end = last + dayMs;
  if (group !== "account")
    return queryRows(
      db,
      `SELECT ${group === "day" ? `at / ${dayMs} * ${dayMs}` : group} AS name, sum(charged) AS revenue, sum(cost) AS cost, sum(completed) AS completed,
             sum(failed + caller) AS failed, sum(uncosted) AS uncosted FROM (${settledSums}) WHERE ?3 IS NULL OR model = ?3 ${order}`,
      [first, end, model ?? null],
    );
  return queryRows(
    db,
    `SELECT account_id AS name, sum(charged) AS revenue, sum(cost) AS cost, sum(completed) AS completed, sum(failed) AS failed, sum(uncosted) AS uncosted
      FROM (SELECT account_id, charged, cost, completed, failed, uncosted FROM account_day WHERE day >= ?3 AND day < ?1
        UNION ALL SELECT * FROM (${sumAccounts("account")})) ${order}`,
    [Math.max(first, Math.min(end, (await readSummedTo(db)) ?? 0)), end, first],
  );
}

/** What these accounts paid and cost by the entries that D1 has from the time ?1 to ?2: two ranges of the index for each, of tasks and of chats. */
function sumAccounts(accounts: string): string {
  const side = (isChat: 0 | 1) =>
    `SELECT a.id, charged, cost, attempts, outcome FROM ${accounts} a CROSS JOIN entry e INDEXED BY entry_by_account
       ON ${ofAccount("a.id")} AND (kind = 'chat') = ${isChat} AND at >= ?1 - ${longestMs} AND at < ?2
     WHERE closed_at >= ?1 AND closed_at < ?2 AND outcome <> 'refused'`;
  return `SELECT id, sum(charged), sum(coalesce(cost, 0)), sum(outcome = 'completed'), sum(outcome <> 'completed'),
      sum(iif(attempts IS NULL, 1, (SELECT count(*) FROM json_each(attempts) WHERE value ->> 1 IS NULL)))
    FROM (${side(0)} UNION ALL ${side(1)}) GROUP BY 1`;
}

/** The progress of the job that sums days: the day that is next, and the last account of it that is done. */
export interface SummedDays {
  day: number;
  after: string;
}

export const summedDaysJob = "account_days";

/** The beginning of the first day that is not summed; undefined if none is. */
const readSummedTo = async (db: D1Database): Promise<number | undefined> => (await readJob<SummedDays>(db, summedDaysJob))?.day;

/** Writes the sums of a day of the next `limit` accounts after `after`. Returns the last one; undefined after the last of all. A repeat changes nothing. */
export async function sumAccountDay(db: D1Database, day: number, after: string, limit: number): Promise<string | undefined> {
  const [, last] = await db.batch<{ id: string }>([
    db
      .prepare(
        `INSERT INTO account_day (day, account_id, charged, cost, completed, failed, uncosted)
         SELECT ?1, * FROM (${sumAccounts("(SELECT id FROM account WHERE id > ?3 ORDER BY id LIMIT ?4)")}) WHERE true
         ON CONFLICT DO UPDATE SET charged = excluded.charged, cost = excluded.cost, completed = excluded.completed, failed = excluded.failed,
           uncosted = excluded.uncosted`,
      )
      .bind(day, day + dayMs, after, limit),
    db.prepare("SELECT id FROM account WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2").bind(after, limit - 1),
  ]);
  return last?.results[0]?.id;
}

/** Deletes the days of accounts that nothing reads any more. */
export const deleteAccountDays = (db: D1Database, now: number): Promise<void> =>
  execute(db, "DELETE FROM account_day WHERE day < ?1", [now - keptMs]);
