/** What a caller may say about any submission or chat, beside what is to be made: its name for it, and what it may cost. */

import { toViolations } from "../catalog/parse.ts";
import { ApiError, type Violation } from "../errors.ts";
import { toUnits } from "../db/ledger.ts";
import { type AppContext, queryParameter } from "./frame.ts";
import { chatOptions, taskOptions } from "./schema/bodies.ts";

/** What is wrong with the options of a body. */
export function optionViolations(body: Record<string, unknown>, of: "task" | "chat"): Violation[] {
  const result = (of === "task" ? taskOptions : chatOptions).safeParse(body);
  return result.success ? [] : toViolations(result.error, body);
}

/** Refuses what would reserve more than the body's checked `max_cost`. `price` is in millionths. */
export function requireMaxCost({ max_cost: maxCost }: Record<string, unknown>, price: number): void {
  if (typeof maxCost !== "number" || toUnits(price) <= maxCost) return;
  const units = toUnits(price);
  throw new ApiError("cost_limit_exceeded", {
    violations: [{ param: "max_cost", rule: "above_max_cost", values: { price: units }, allowed: units }],
  });
}

/** Whether only the checks of a submission are wanted: nothing is reserved, stored or sent. */
export const isDryRun = (c: AppContext) => queryParameter(c, "dry_run") === "true";
