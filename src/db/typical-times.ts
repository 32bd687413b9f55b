/** The durations of recent tasks by group, in the database, shared by all isolates. */

import { queryRows } from "./query.ts";

/** The number of recent tasks kept per group. */
const kept = 100;

/** Adds durations in seconds, newest first, to those of this group. Returns the last hundred. */
export async function addDurations(db: D1Database, sort: string, seconds: number[]): Promise<number[]> {
  const written = await db
    .prepare(
      `INSERT INTO typical_time (sort, seconds) VALUES (?1, ?2)
       ON CONFLICT DO UPDATE SET seconds = (SELECT json_group_array(value) FROM (
         SELECT value FROM (SELECT 0 AS age, key, value FROM json_each(excluded.seconds)
         UNION ALL SELECT 1, key, value FROM json_each(typical_time.seconds))
         ORDER BY age, key LIMIT ${kept}))
       RETURNING seconds`,
    )
    .bind(sort, JSON.stringify(seconds.slice(0, kept)))
    .first<string>("seconds");
  return JSON.parse(written ?? "[]") as number[];
}

/** The durations of every group, from the nearest replica. One row for each kind, model and route that was used. */
export async function readDurations(db: D1Database): Promise<Map<string, number[]>> {
  const replica = db.withSession("first-unconstrained");
  const rows = await queryRows<{ sort: string; seconds: string }>(replica, "SELECT sort, seconds FROM typical_time");
  return new Map(rows.map(({ sort, seconds }) => [sort, JSON.parse(seconds) as number[]]));
}
