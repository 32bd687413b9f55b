/** What the operator's page shows of the whole deployment: its hours, and its providers' health. Amounts in millionths. Reads sums, not tasks. */

import { hourMs } from "../base/times.ts";
import { queryRows } from "./query.ts";
import { durationsOf, providerOf, settledSums } from "./settled-sums.ts";

/** An hour of the deployment, or a longer step. Those without settlements are missing. */
export interface Hour {
  /** Its first millisecond. */
  hour: number;
  /** What callers paid. */
  revenue: number;
  /** What the makers bill, as far as it is known. */
  cost: number;
  completed: number;
  /** Failed for other reasons than the caller's. */
  failed: number;
  /** Cancelled by callers, or refused because of their content or input. */
  caller: number;
}

/** The hours, or steps of several hours, from `from` to `to` (milliseconds; `from` is rounded down to a step), in their order; at most 400 days back. */
export const readHours = (db: D1Database, from: number, to: number, stepMs = hourMs): Promise<Hour[]> =>
  queryRows(
    db,
    `SELECT at / ${stepMs} * ${stepMs} AS hour, sum(charged) AS revenue, sum(cost) AS cost, sum(completed) AS completed, sum(failed) AS failed,
      sum(caller) AS caller FROM (${settledSums}) GROUP BY 1 ORDER BY 1`,
    [from - (from % stepMs), to],
  );

/** How long counts of open tasks are kept. */
const inFlightMs = 31 * 24 * hourMs;

/** Stores how many tasks of all accounts were open at a time, and deletes the oldest counts. */
export const writeInFlight = async (db: D1Database, at: number, tasks: number): Promise<void> => {
  await db.batch([
    db.prepare("INSERT INTO in_flight (at, tasks) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET tasks = excluded.tasks").bind(at, tasks),
    db.prepare("DELETE FROM in_flight WHERE at < ?1").bind(at - inFlightMs),
  ]);
};

/** The most tasks that were open in each step from `from` on (milliseconds, a step's first), by its first millisecond. Steps without a count are missing. */
export async function readInFlight(db: D1Database, from: number, stepMs: number): Promise<Map<number, number>> {
  const rows = await queryRows<{ step: number; tasks: number }>(
    db,
    `SELECT at / ${stepMs} * ${stepMs} AS step, max(tasks) AS tasks FROM in_flight WHERE at >= ?1 GROUP BY 1`,
    [from],
  );
  return new Map(rows.map(({ step, tasks }) => [step, tasks]));
}

/** The health of a route: a provider and a model there. */
export interface RouteHealth {
  provider: string;
  /** The model there, and its server (`routeName`). */
  model: string;
  /** Attempts of tasks and chats that have ended, with every outcome. */
  calls: number;
  completed: number;
  /** Attempts that failed at the maker: those that ended their task, and those that another route followed. */
  failures: number;
  /** Seconds from submission to settlement that half, and 95 of 100, of the completed tasks and chats did not exceed; null without any. Of the last day at most. */
  p50: number | null;
  p95: number | null;
  revenue: number;
  /** What the maker bills, as far as it is known. */
  spend: number;
  uncosted: number;
  /** `down`: nothing completed in the period and attempts failed; `failing`: at least half of the attempts failed */
  state: "ok" | "failing" | "down";
}

/** The health of each route that was used since `since` (milliseconds), over all isolates: the largest spend first, then the most calls. */
export async function readRouteHealth(db: D1Database, since: number, now: number): Promise<RouteHealth[]> {
  const rows = await queryRows<Omit<RouteHealth, "provider" | "model" | "p50" | "p95" | "state"> & { route: string }>(
    db,
    `SELECT route, sum(completed + failed + caller + attempts) AS calls, sum(completed) AS completed, sum(failed + attempts) AS failures,
        sum(charged) AS revenue, sum(cost) AS spend, sum(uncosted) AS uncosted
      FROM (${settledSums}) WHERE route <> '' GROUP BY 1 ORDER BY spend DESC, calls DESC, 1`,
    [since, now + 1],
  );
  const durations = await durationsOf("route", db, since);
  return rows.map(({ route, ...sums }) => {
    const [provider = "", ...model] = route.split(" ");
    return { provider, model: model.join(" "), ...sums, ...(durations.get(route) ?? { p50: null, p95: null }), state: toState(sums) };
  });
}

const toState = ({ calls, completed, failures }: Pick<RouteHealth, "calls" | "completed" | "failures">): RouteHealth["state"] =>
  failures > 0 && completed === 0 ? "down" : failures > 0 && 2 * failures >= calls ? "failing" : "ok";

/** The health of a provider over all its routes. */
export interface ProviderHealth extends Omit<RouteHealth, "model" | "completed" | "revenue"> {
  /** Its steps with attempts, in their order. */
  steps: { at: number; calls: number; failures: number }[];
}

/**
 * The health of each provider that was used since `since` (milliseconds), over all isolates, in steps: the largest share of failures first. Its state is that of
 * its calls since `recent`, or of all if there were none.
 */
export async function readProviderHealth(
  db: D1Database,
  { since, recent, now, stepMs }: { since: number; recent: number; now: number; stepMs: number },
): Promise<ProviderHealth[]> {
  const counts = "sum(completed + failed + caller + attempts) AS calls, sum(completed) AS completed, sum(failed + attempts) AS failures";
  const [steps, latest, durations] = await Promise.all([
    queryRows<{ provider: string; at: number; calls: number; completed: number; failures: number; spend: number; uncosted: number }>(
      db,
      `SELECT ${providerOf} AS provider, at / ${stepMs} * ${stepMs} AS at, ${counts}, sum(cost) AS spend, sum(uncosted) AS uncosted
        FROM (${settledSums}) WHERE route <> '' GROUP BY 1, 2 ORDER BY 1, 2`,
      [since, now + 1],
    ),
    queryRows<{ provider: string; calls: number; completed: number; failures: number }>(
      db,
      `SELECT ${providerOf} AS provider, ${counts} FROM (${settledSums}) WHERE route <> '' GROUP BY 1`,
      [recent, now + 1],
    ),
    durationsOf("provider", db, since),
  ]);
  const recently = new Map(latest.map((one) => [one.provider, one]));
  const share = ({ failures, calls }: { failures: number; calls: number }) => (calls === 0 ? 0 : failures / calls);
  return [...Map.groupBy(steps, ({ provider }) => provider)]
    .map(([provider, rows]) => {
      const sum = (of: "calls" | "completed" | "failures" | "spend" | "uncosted") => rows.reduce((total, row) => total + row[of], 0);
      const all = { calls: sum("calls"), completed: sum("completed"), failures: sum("failures") };
      const last = recently.get(provider);
      return {
        provider,
        calls: all.calls,
        failures: all.failures,
        spend: sum("spend"),
        uncosted: sum("uncosted"),
        ...(durations.get(provider) ?? { p50: null, p95: null }),
        state: toState(last && last.calls > 0 ? last : all),
        steps: rows.map(({ at, calls, failures }) => ({ at, calls, failures })),
      };
    })
    .sort((a, b) => share(b) - share(a) || b.calls - a.calls);
}

/** Routes whose makers billed more since `since` than callers paid, with their sums: those with at least `calls` attempts or `loss` millionths of loss, the largest loss first. */
export const readLosses = (
  db: D1Database,
  since: number,
  now: number,
  { calls, loss }: { calls: number; loss: number },
): Promise<{ route: string; revenue: number; cost: number }[]> =>
  queryRows(
    db,
    `SELECT route, sum(charged) AS revenue, sum(cost) AS cost FROM (${settledSums}) GROUP BY 1
      HAVING sum(cost - charged) > 0 AND (sum(completed + failed + caller + attempts) >= ?3 OR sum(cost - charged) >= ?4)
      ORDER BY sum(cost - charged) DESC, 1`,
    [since, now + 1, calls, loss],
  );
