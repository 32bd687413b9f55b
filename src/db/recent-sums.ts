/** Counts of all isolates by five minutes, which the checks read: makers' answers and queues' messages. Not related to money. */

import { dayMs, hourMs } from "../base/times.ts";
import { alert } from "../base/log.ts";
import { execute, queryRows } from "./query.ts";

const slotMs = 300_000;
/** How long the sums are kept: longer than what reads them looks back. */
const keptMs = hourMs;
/** Code of the version before 0008_costs.sql counted outcomes in a table of their own, and kept them for a day. */
const keptOutcomesMs = dayMs;
/** How long an isolate collects calls of one name before it writes them: longer for successes, which are many, than for faults, which must be seen soon. */
const waitMs = { good: 60_000, bad: 2_000 };

/** The calls that this isolate has not written yet. */
let pending: { name: string; isGood: boolean; calls: number }[] = [];
/** When each name's calls were last written. Each has its own time: a first good call must not wait behind those of another name. */
const writtenAt = new Map<string, number>();
const toKey = (name: string, isGood: boolean) => `${name} ${isGood}`;

/** The subject of a count: the answers of a route, or the messages of a queue that consumers claim in time. */
export type Counted = `route ${string}` | `queue ${"start" | "collect" | "notify"}`;

/**
 * Counts one call. The first one of a name is written at once. Returns a promise if calls are written; it never rejects: the work goes on
 * without the count.
 */
export function countCall(db: D1Database, name: Counted, isGood: boolean): Promise<void> | undefined {
  const known = pending.find((one) => one.name === name && one.isGood === isGood);
  if (known) known.calls++;
  else pending.push({ name, isGood, calls: 1 });
  const now = Date.now();
  const passed = now - (writtenAt.get(toKey(name, isGood)) ?? -Infinity);
  // Less than 0: the clock was set back.
  if (passed >= 0 && passed < waitMs[isGood ? "good" : "bad"]) return undefined;
  for (const one of pending) writtenAt.set(toKey(one.name, one.isGood), now);
  const written = pending;
  pending = [];
  return write(db, written, now);
}

async function write(db: D1Database, calls: typeof pending, now: number): Promise<void> {
  try {
    await execute(
      db,
      `INSERT INTO call_sum (slot, name, is_good, calls)
        SELECT ?1, value ->> 'name', value ->> 'isGood', value ->> 'calls' FROM json_each(?2) WHERE true
        ON CONFLICT DO UPDATE SET calls = calls + excluded.calls`,
      [now - (now % slotMs), JSON.stringify(calls)],
    );
  } catch (error) {
    alert("calls", { outcome: "not_counted" }, error);
  }
}

/** The good and bad calls by name since `since` (milliseconds), of names that have at least `minBad` bad ones. */
export const badCallsSince = (db: D1Database, since: number, minBad: number) =>
  queryRows<{ name: Counted; good: number; bad: number }>(
    db,
    `SELECT name, sum(iif(is_good, calls, 0)) AS good, sum(iif(is_good, 0, calls)) AS bad FROM call_sum
      WHERE slot > ?1 - ${slotMs} GROUP BY name HAVING bad >= ?2 ORDER BY bad DESC, name`,
    [since, minBad],
  );

/** Deletes sums that nothing reads any more. */
export const deleteOldSums = async (db: D1Database, now: number): Promise<void> => {
  await db.batch([
    db.prepare("DELETE FROM call_sum WHERE slot < ?1").bind(now - keptMs),
    db.prepare("DELETE FROM outcome_sum WHERE slot < ?1").bind(now - keptOutcomesMs),
  ]);
};
