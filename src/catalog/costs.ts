/** What an attempt at a route costs the operator, in whole millionths of a balance unit, by the forms of prices and by what the maker reports. Pure. */

import type { MakerUsage } from "../base/maker-usage.ts";
import type { Action, Cost, Route } from "./models.ts";
import type { Parameters } from "./parse.ts";
import { type OwnPrice, priceInput, readFields, toRule } from "./own-price.ts";
import { reportedCosts, splitCost } from "./cost-parts.ts";
import { toMillionths } from "./millionths.ts";
import { chatPrice, taskPrice } from "./prices.ts";

/** What the maker made and reports; without `outputs` the number that was asked for. */
export interface Billed {
  outputs?: number | undefined;
  /** True if the maker stopped the work: it bills nothing but what it reports. */
  isStopped?: boolean | undefined;
  usage?: MakerUsage | undefined;
}

/**
 * The cost of an attempt that the maker bills: the sum of its parts, or the maker's own account of it, where the route counts that and the
 * maker gives it. Null if the route's cost is not known, if it depends on a report or an input that is missing, or if a report makes it no
 * whole number: one that D1 refuses would hold back every settlement of the account.
 */
export function attemptCost(route: Pick<Route, "cost">, action: Action, parameters: Parameters, made: Billed = {}): number | null {
  const cost = addUp(route, action, parameters, made);
  return Number.isSafeInteger(cost) ? cost : null;
}

function addUp(
  { cost: units }: Pick<Route, "cost">,
  action: Action,
  parameters: Parameters,
  { outputs, isStopped, usage }: Billed,
): number | null {
  if (!units) return null;
  const { own, reported: measured } = splitCost(units);
  const isOwn = parameters.input !== undefined || (own !== undefined && isOwnRule(own));
  const { usd, ...cost }: Cost = toMillionths((isOwn ? measured : units) as Record<string, number>);
  if (usd !== undefined && usage?.usd !== undefined) return Math.round(usd * usage.usd);
  if (usd !== undefined && Object.keys(units).length === 1) return null;
  const fixed = isStopped ? 0 : isOwn ? ownCost(own, parameters.input, outputs) : bodyCost(cost, action, parameters, outputs);
  if (fixed === undefined) return null;
  if (!reportedCosts.some((name) => name !== "usd" && cost[name] !== undefined)) return fixed;
  const reported = usage && reportedCost(cost, usage);
  return reported === undefined ? null : fixed + reported;
}

/** True if the names are those of a rule that only own inputs have. */
const isOwnRule = (own: OwnPrice): boolean => own.task !== undefined || readFields(own).length > 0;

const bodyCost = (cost: Cost, action: Action, parameters: Parameters, outputs: number | undefined): number =>
  action === "chat" || action === "file" ? 0 : taskPrice(cost, action, outputs === undefined ? parameters : { ...parameters, n: outputs });

/** The cost of an own input; undefined if the rule has none for it, or reads an input that is not there any more. */
function ownCost(own: OwnPrice | undefined, input: Parameters["input"], outputs: number | undefined): number | undefined {
  if (!own) return 0;
  if (!input && readFields(own).length > 0) return undefined;
  const priced = priceInput(toRule({ ...own }), { ...input });
  if ("rule" in priced) return undefined;
  return priced.imagePrice === undefined || outputs === undefined ? priced.price : priced.imagePrice * outputs;
}

/** True for a measure that a maker can mean: their answers are not checked. */
const isMeasure = (value: unknown): value is number => typeof value === "number" && value >= 0;

/** The part of a cost that a report decides; undefined if the report lacks a measure that has a cost. */
function reportedCost(cost: Omit<Cost, "usd">, { seconds, inputTokens, cachedTokens, outputTokens }: MakerUsage): number | undefined {
  const measures: [amount: number | undefined, measure: number | undefined][] = [
    [cost.input, inputTokens],
    [cost.cached_input, inputTokens],
    [cost.output, outputTokens],
    [cost.run_second, seconds],
  ];
  if (measures.some(([amount, measure]) => amount !== undefined && !isMeasure(measure))) return undefined;
  return chatPrice(cost, inputTokens ?? 0, outputTokens ?? 0, cachedTokens) + Math.round((cost.run_second ?? 0) * (seconds ?? 0));
}
