/** Validates query parameters, which are defined for each path in `schema/queries.ts`; spans of days, answers of lists. */

import { type AppContext, hasQuery } from "./context.ts";
import type * as z from "zod/mini";
import { toViolations } from "../../catalog/parse.ts";
import { ApiError, invalid } from "../../base/errors.ts";
import { toDate } from "../../base/times.ts";
import type { Span } from "../../db/usage.ts";

/** The parameters of a request's query, checked; unknown ones are ignored. Throws 400, also for a known one that is repeated. */
export function readQuery<T extends z.ZodMiniType>(c: AppContext, schema: () => T): z.output<T> {
  const given = Object.entries(hasQuery(c) ? c.req.queries() : {});
  return checkQuery(Object.fromEntries(given.map(([name, values]) => [name, values.length === 1 ? values[0] : values])), schema);
}

/** These parameters of a query, checked. Throws 400. */
export function checkQuery<T extends z.ZodMiniType>(query: Record<string, unknown>, schema: () => T): z.output<T> {
  const result = schema().safeParse(query);
  if (result.success) return result.data;
  const violations = toViolations(result.error, query);
  throw new ApiError("invalid_request", {
    violations: violations.map((one) => (Array.isArray(query[one.param]) ? { param: one.param, rule: "repeated" } : one)),
  });
}

const dayMs = 86_400_000;
const defaultDays = 30;

/** The first and the last day of a query, as their first milliseconds: the last 30 days by default. Throws 400 for more than `maxDays`. */
export function toSpan({ from, to }: { from?: number | undefined; to?: number | undefined }, maxDays: number): Span {
  const last = to ?? Math.floor(Date.now() / dayMs) * dayMs;
  const first = from ?? last - (defaultDays - 1) * dayMs;
  const isTooLong = last - first >= maxDays * dayMs;
  // Without `to`, only `from` can be wrong.
  if (to === undefined && (last < first || isTooLong)) {
    const [minimum, maximum] = [toDate(last - (maxDays - 1) * dayMs), toDate(last)];
    throw invalid("from", "not_between", { min: minimum, max: maximum }, { minimum, maximum });
  }
  if (last < first) throw invalid("to", "before_from");
  if (isTooLong) throw invalid("to", "too_many_days", { maximum: maxDays - 1 }, { maximum: maxDays - 1 });
  return { first, last };
}

/** Refuses an `after` without a row in the list, which would otherwise look like the end of the list. `find` returns something truthy if the row exists. Throws 400. */
export async function requireRow(after: string | undefined, find: (after: string) => Promise<unknown>): Promise<void> {
  if (after !== undefined && (after === "" || !(await find(after)))) throw invalid("after", "unknown_row");
}

export const toList = <T>(data: T[], hasMore: boolean) => ({ object: "list", data, has_more: hasMore });
