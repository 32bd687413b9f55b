/** The parts of a route's cost: the rule that reads an own input, and what the maker reports. Pure. */

import type { Route } from "./models.ts";
import { type OwnPrice, readFields, readPart } from "./own-price.ts";

/** The names of costs that are computed from what the maker reports, beside those of prices. */
export const reportedCosts = ["input", "cached_input", "output", "run_second", "usd"] as const;

/** The parts of an own input's cost: the rule that reads its fields, undefined without one, and what the maker reports. */
export function splitCost(cost: object): { own: OwnPrice | undefined; reported: Record<string, unknown> } {
  const isReported = ([name]: [string, unknown]) => (reportedCosts as readonly string[]).includes(name);
  const all = Object.entries(cost);
  const own = all.filter((one) => !isReported(one));
  return { own: own.length > 0 ? Object.fromEntries(own) : undefined, reported: Object.fromEntries(all.filter(isReported)) };
}

/** The fields of an own input that the costs of these routes read. */
export const costFields = (routes: readonly Pick<Route, "cost">[]): string[] => ownCosts(routes).flatMap((own) => readFields(own));

/** The values of an own input that the costs of these routes read. */
export const costedPart = (routes: readonly Pick<Route, "cost">[], input: Record<string, unknown>): Record<string, unknown> =>
  Object.assign({}, ...ownCosts(routes).map((own) => readPart(own, input))) as Record<string, unknown>;

const ownCosts = (routes: readonly Pick<Route, "cost">[]): OwnPrice[] => routes.flatMap(({ cost = {} }) => splitCost(cost).own ?? []);
