/** Options of every submission and chat: the caller's reference and maximum cost. */

import { toViolations } from "../catalog/parse.ts";
import { ApiError, type Violation } from "../errors.ts";
import { toUnits } from "../db/ledger.ts";
import { type AppContext, queryParameter } from "./frame.ts";
import { chatOptions, taskOptions } from "./schema/bodies.ts";

/** The violations in the options of a body. */
export function optionViolations(body: Record<string, unknown>, of: "task" | "chat"): Violation[] {
  const result = (of === "task" ? taskOptions : chatOptions)().safeParse(body);
  return result.success ? [] : toViolations(result.error, body);
}

/** Refuses a price above the body's checked `max_cost`. `price` is in millionths. */
export function requireMaxCost({ max_cost: maxCost }: Record<string, unknown>, price: number): void {
  if (typeof maxCost !== "number" || toUnits(price) <= maxCost) return;
  const units = toUnits(price);
  throw new ApiError("cost_limit_exceeded", {
    violations: [{ param: "max_cost", rule: "above_max_cost", values: { price: units }, allowed: units }],
  });
}

/** True if only the checks of a submission are requested: nothing is reserved, stored or sent. */
export const isDryRun = (c: AppContext) => queryParameter(c, "dry_run") === "true";
