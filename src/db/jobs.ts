/** The progress of the operations Worker's regular jobs in D1, one row of JSON for each; and the heartbeat, which shows that the cron trigger is alive. */

import { execute } from "./query.ts";

/** The state of a job; undefined before its first run. */
export const readJob = async <T>(db: D1Database, job: string): Promise<T | undefined> => {
  const state = await db.prepare("SELECT state FROM upkeep WHERE job = ?1").bind(job).first<string>("state");
  return state === null ? undefined : (JSON.parse(state) as T);
};

export const writeJob = (db: D1Database, job: string, state: object): Promise<void> =>
  execute(db, "INSERT INTO upkeep (job, state) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET state = excluded.state", [
    job,
    JSON.stringify(state),
  ]);

/** The checks run every five minutes: after three missed runs they have stopped. */
const staleMs = 16 * 60_000;

export const writeHeartbeat = (db: D1Database, at: number): Promise<void> => writeJob(db, "heartbeat", { at });

export interface Heartbeat {
  /** The end of the last run in milliseconds; null before the first one. */
  at: number | null;
  /** True if the checks have stopped, or never ran. */
  isStale: boolean;
}

export async function readHeartbeat(db: D1Database, now: number): Promise<Heartbeat> {
  const at = (await readJob<{ at: number }>(db, "heartbeat"))?.at ?? null;
  return { at, isStale: at === null || now - at > staleMs };
}
