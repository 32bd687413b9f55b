/** Sums of settled tasks and chats of all accounts, by model and route: by five minutes for a day, then by hour. Amounts in millionths. */

import { hourMs } from "../base/times.ts";
import { queryRow, queryRows } from "./query.ts";

const slotMs = 300_000;
/** How long the sums by five minutes are kept. */
const slotsMs = 24 * hourMs;
/** How long the sums by hour are kept. */
const hoursMs = 400 * 24 * hourMs;

/** An attempt at a route. */
export interface BookedAttempt {
  /** Its number among the task's routes, and its name (`attemptName`). */
  route: string;
  /** What the maker bills for it; null if that is not known. */
  cost: number | null;
}

/** Attempts as D1 keeps them: short lists. */
type StoredAttempt = [route: string, cost: number | null];

export const toStoredAttempts = (attempts: readonly BookedAttempt[]): StoredAttempt[] => attempts.map(({ route, cost }) => [route, cost]);
export const parseAttempts = (json: string): BookedAttempt[] =>
  (JSON.parse(json) as StoredAttempt[]).map(([route, cost]) => ({ route, cost }));

/** A route as far as its name goes. */
export interface NamedRoute {
  provider: string;
  model: string;
  settings?: Record<string, unknown> | undefined;
}

/** The text of a route: its provider, the model there, and its server, where routes name one: two servers of `compatible` may have a model of the same name. */
export function routeName({ provider, model, settings }: NamedRoute): string {
  const server = settings?.["base_url"];
  return `${provider} ${model}${typeof server === "string" ? ` ${server}` : ""}`;
}

/** The text of a route in attempts; that of sums is without the number. */
export const attemptName = (at: number, route: NamedRoute): string => `${at} ${routeName(route)}`;

/** The attempts of an entry without any: its route is not known, nor its cost. JSON. */
const unknownAttempts = '[["",null]]';

/** The duration's class: classes are a tenth apart, so that an hour has few rows. */
export const toClass = (ms: number): number => Math.round(8 * Math.log2(1 + Math.max(0, ms) / 1000));
const toSeconds = (took: number) => Math.round(10 * (2 ** (took / 8) - 1)) / 10;

const columns = "slot, kind, model, route, outcome, took, tasks, charged, cost, uncosted";
const onConflict = `ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks, charged = charged + excluded.charged,
  cost = cost + excluded.cost, uncosted = uncosted + excluded.uncosted`;

/**
 * The statement that adds new entries (`fresh`, see `grants.ts`) to the sums, if `isWritten`. The task counts at its last attempt's route, and each
 * earlier attempt at its own.
 */
export const addSettled = (isWritten: string) => `INSERT INTO settled_sum (${columns})
  SELECT slot, kind, model, route, outcome, iif(outcome = 'completed', took, 0), count(*), sum(charged), sum(cost), sum(uncosted) FROM (
    SELECT f.closed_at / ${slotMs} * ${slotMs} AS slot, f.kind, f.model, f.took,
      substr(a.value ->> 0, instr(a.value ->> 0, ' ') + 1) AS route,
      iif(a.key + 1 < json_array_length(f.tried), 'attempt', iif(f.outcome IN ('provider_error', 'deadline_exceeded'), 'failed',
        iif(f.outcome = 'completed', 'completed', 'caller'))) AS outcome,
      iif(a.key + 1 = json_array_length(f.tried), f.charged, 0) AS charged,
      coalesce(a.value ->> 1, 0) AS cost, a.value ->> 1 IS NULL AS uncosted
    FROM (SELECT *, coalesce(attempts, '${unknownAttempts}') AS tried FROM fresh) f, json_each(f.tried) a WHERE f.outcome <> 'refused' AND ${isWritten})
  WHERE true GROUP BY 1, 2, 3, 4, 5, 6 ${onConflict}`;

/**
 * Sets what an attempt of a settled task costs, when that is known later: its maker ended the work after the task. A repeat changes nothing.
 * Throws if D1 does not have the entry yet.
 */
export async function setAttemptCost(db: D1Database, taskId: string, { route, cost }: BookedAttempt, now: number): Promise<void> {
  for (;;) {
    const row = await queryRow<{ attempts: string | null }>(db, "SELECT attempts FROM entry WHERE task_id = ?1", [taskId]);
    if (!row) throw new Error("the entry is not written yet");
    const attempts = parseAttempts(row.attempts ?? unknownAttempts);
    const known = attempts.find((one) => one.route === route);
    if (known?.cost === cost) return;
    // The task ended with the last one.
    const next = known ? attempts.map((one) => (one === known ? { route, cost } : one)) : [{ route, cost }, ...attempts];
    const [, written] = await db.batch([
      db
        .prepare(
          `INSERT INTO settled_sum (${columns}) SELECT ?3 / ${slotMs} * ${slotMs}, kind, model, ?4, 'attempt', 0, ?5, 0, ?6, ?7
           FROM entry WHERE task_id = ?1 AND attempts IS ?2 ${onConflict}`,
        )
        .bind(
          taskId,
          row.attempts,
          now,
          route.slice(route.indexOf(" ") + 1),
          known ? 0 : 1,
          (cost ?? 0) - (known?.cost ?? 0),
          Number(cost === null) - Number(known?.cost === null),
        ),
      db
        .prepare(
          `UPDATE entry SET attempts = ?3, cost = (SELECT sum(value ->> 1) FROM json_each(?3)) WHERE task_id = ?1 AND attempts IS ?2 RETURNING 1`,
        )
        .bind(taskId, row.attempts, JSON.stringify(toStoredAttempts(next))),
    ]);
    if (written?.results.length === 1) return;
  }
}

const tasksOf = (outcome: string) => `iif(outcome = '${outcome}', tasks, 0)`;

/** The statement for the sums of both tables from the time ?1 to ?2, by the beginnings (`at`) of their slots and hours. */
export const settledSums = `SELECT hour AS at, kind, model, route, completed, failed, caller, attempts, charged, cost, uncosted FROM settled_hour
      WHERE hour >= ?1 AND hour < ?2
    UNION ALL SELECT slot, kind, model, route, ${["completed", "failed", "caller", "attempt"].map(tasksOf).join(", ")}, charged, cost, uncosted
      FROM settled_sum WHERE slot >= ?1 AND slot < ?2`;

/** The provider in the text of a route: SQL. */
export const providerOf = "substr(route, 1, instr(route || ' ', ' ') - 1)";

/** The durations of completed tasks and chats by route or provider since `since` (milliseconds), in seconds: the median, and what 95 of 100 did not exceed. */
export async function durationsOf(
  by: "route" | "provider",
  db: D1Database,
  since: number,
): Promise<Map<string, { p50: number | null; p95: number | null }>> {
  const sums = await queryRows<{ name: string; took: number; tasks: number }>(
    db,
    `SELECT ${by === "route" ? "route" : providerOf} AS name, took, sum(tasks) AS tasks FROM settled_sum WHERE slot > ?1 - ${slotMs} AND outcome = 'completed' GROUP BY 1, 2 ORDER BY 1, 2`,
    [since],
  );
  const byName = Map.groupBy(sums, ({ name }) => name);
  return new Map([...byName].map(([name, rows]) => [name, { p50: percentile(rows, 0.5), p95: percentile(rows, 0.95) }]));
}

/** How tasks and chats ended in a period. */
export interface Outcomes {
  /** How many ended, without those that the caller ended or whose input caused the failure. */
  ended: number;
  /** The share of them that completed, 0 to 1. */
  completionRate: number;
  /** The median duration of completed ones in seconds, to a tenth; null if none completed. */
  medianSeconds: number | null;
}

/** Completion and duration since `since` (milliseconds) of each kind, or of each "kind model". Reads the sums of that time, not its tasks. */
export async function readOutcomes(db: D1Database, since: number, by: "kind" | "model" = "kind"): Promise<Map<string, Outcomes>> {
  const sums = await queryRows<{ name: string; isCompleted: 0 | 1; took: number; tasks: number }>(
    db,
    `SELECT ${by === "kind" ? "kind" : "kind || ' ' || model"} AS name, outcome = 'completed' AS isCompleted, took, sum(tasks) AS tasks FROM settled_sum
      WHERE slot > ?1 - ${slotMs} AND outcome IN ('completed', 'failed') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    [since],
  );
  const count = (of: typeof sums) => of.reduce((sum, { tasks }) => sum + tasks, 0);
  return new Map(
    [...Map.groupBy(sums, ({ name }) => name)].map(([name, rows]) => {
      const completed = rows.filter(({ isCompleted }) => isCompleted === 1);
      const completionRate = Math.round((1000 * count(completed)) / count(rows)) / 1000;
      return [name, { ended: count(rows), completionRate, medianSeconds: percentile(completed, 0.5) }];
    }),
  );
}

/** How many tasks and chats of each kind ended since `since` (milliseconds), and how many of them completed; without those that callers caused. */
export const countOutcomes = (db: D1Database, since: number): Promise<{ kind: string; ended: number; completed: number }[]> =>
  queryRows(
    db,
    `SELECT kind, sum(tasks) AS ended, sum(iif(outcome = 'completed', tasks, 0)) AS completed FROM settled_sum
      WHERE slot > ?1 - ${slotMs} AND outcome IN ('completed', 'failed') GROUP BY kind ORDER BY kind`,
    [since],
  );

/** The duration in seconds that this share of tasks did not exceed, null without tasks; `rows` in the order of durations. */
function percentile(rows: { took: number; tasks: number }[], share: number): number | null {
  const limit = share * rows.reduce((sum, { tasks }) => sum + tasks, 0);
  let sum = 0;
  for (const { took, tasks } of rows) if ((sum += tasks) >= limit) return toSeconds(took);
  return null;
}

/**
 * Moves sums by five minutes that are a day old to those by hour, whole hours at a time, and deletes the oldest hours. One transaction: each entry is
 * in one of the tables, also one that was written late.
 */
export async function foldSettled(db: D1Database, now: number): Promise<void> {
  const before = Math.floor((now - slotsMs) / hourMs) * hourMs;
  const ofGroup = "r.hour = s.hour AND r.kind = s.kind AND r.model = s.model AND r.route = s.route";
  const at = (share: number) => `(SELECT min(took) FROM ran r WHERE ${ofGroup} AND upto >= ${share} * total)`;
  await db.batch([
    db
      .prepare(
        `WITH old AS (SELECT slot / ${hourMs} * ${hourMs} AS hour, * FROM settled_sum WHERE slot < ?1),
           ran AS (SELECT hour, kind, model, route, took, sum(tasks) OVER (PARTITION BY hour, kind, model, route ORDER BY took) AS upto,
             sum(tasks) OVER (PARTITION BY hour, kind, model, route) AS total FROM old WHERE outcome = 'completed')
         INSERT INTO settled_hour (hour, kind, model, route, completed, failed, caller, attempts, charged, cost, uncosted, p50, p95)
         SELECT hour, kind, model, route, sum(${tasksOf("completed")}), sum(${tasksOf("failed")}), sum(${tasksOf("caller")}),
           sum(${tasksOf("attempt")}), sum(charged), sum(cost), sum(uncosted), ${at(0.5)}, ${at(0.95)}
         FROM old s WHERE true GROUP BY 1, 2, 3, 4
         ON CONFLICT DO UPDATE SET p50 = iif(completed < excluded.completed, excluded.p50, p50), p95 = iif(completed < excluded.completed, excluded.p95, p95),
           completed = completed + excluded.completed, failed = failed + excluded.failed, caller = caller + excluded.caller,
           attempts = attempts + excluded.attempts, charged = charged + excluded.charged, cost = cost + excluded.cost, uncosted = uncosted + excluded.uncosted`,
      )
      .bind(before),
    db.prepare("DELETE FROM settled_sum WHERE slot < ?1").bind(before),
    db.prepare("DELETE FROM settled_hour WHERE hour < ?1").bind(now - hoursMs),
  ]);
}
