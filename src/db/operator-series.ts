/** What the operator's page shows of the whole deployment: its hours, and its providers' health. Amounts in millionths. Reads sums, not tasks. */

import { durationsOfRoutes, settledSums } from "./settled-sums.ts";

const hourMs = 3_600_000;

/** An hour of the deployment. Hours without settlements are missing. */
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

/** The hours from `from` to `to` (milliseconds; `from` is rounded down to an hour), in their order; at most 400 days back. */
export async function readHours(db: D1Database, from: number, to: number): Promise<Hour[]> {
  const { results } = await db
    .prepare(
      `SELECT at / ${hourMs} * ${hourMs} AS hour, sum(charged) AS revenue, sum(cost) AS cost, sum(completed) AS completed, sum(failed) AS failed,
         sum(caller) AS caller FROM (${settledSums("?1", "?2")}) GROUP BY 1 ORDER BY 1`,
    )
    .bind(from - (from % hourMs), to)
    .run<Hour>();
  return results;
}

/** The health of a route: a provider and a model there. */
export interface RouteHealth {
  provider: string;
  /** The model there. */
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
  const { results } = await db
    .prepare(
      `SELECT route, sum(completed + failed + caller + attempts) AS calls, sum(completed) AS completed, sum(failed + attempts) AS failures,
         sum(charged) AS revenue, sum(cost) AS spend, sum(uncosted) AS uncosted
       FROM (${settledSums("?1", "?2")}) WHERE route <> '' GROUP BY 1 ORDER BY spend DESC, calls DESC, 1`,
    )
    .bind(since, now + 1)
    .run<Omit<RouteHealth, "provider" | "model" | "p50" | "p95" | "state"> & { route: string }>();
  const durations = await durationsOfRoutes(db, since);
  return results.map(({ route, ...sums }) => {
    const [provider = "", ...model] = route.split(" ");
    return { provider, model: model.join(" "), ...sums, ...(durations.get(route) ?? { p50: null, p95: null }), state: toState(sums) };
  });
}

const toState = ({ calls, completed, failures }: Pick<RouteHealth, "calls" | "completed" | "failures">): RouteHealth["state"] =>
  failures > 0 && completed === 0 ? "down" : 2 * failures >= calls ? "failing" : "ok";

/** Routes whose makers billed more since `since` than callers paid, with their sums, of at least `minCalls` attempts: the largest loss first. */
export async function readLosses(
  db: D1Database,
  since: number,
  now: number,
  minCalls: number,
): Promise<{ route: string; revenue: number; cost: number }[]> {
  const { results } = await db
    .prepare(
      `SELECT route, sum(charged) AS revenue, sum(cost) AS cost FROM (${settledSums("?1", "?2")}) GROUP BY 1
       HAVING cost > revenue AND sum(completed + failed + caller + attempts) >= ?3 ORDER BY cost - revenue DESC, 1`,
    )
    .bind(since, now + 1, minCalls)
    .run<{ route: string; revenue: number; cost: number }>();
  return results;
}
