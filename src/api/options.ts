/** What a caller may say about any submission or chat, beside what is to be made: its name for it, and what it may cost. */

import { ApiError, type Violation } from "../errors.ts";
import { toUnits } from "../db/ledger.ts";
import { type AppContext, queryParameter } from "./frame.ts";

/** Printable: no control, format or unassigned characters, no lone surrogates, no line ends. */
const printable = /^[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;

export const isReference = (text: string) => printable.test(text);

/** The caller's own name for a submission, 1 to 128 printable characters. */
export function readReference(body: Record<string, unknown>): { reference?: string; violations: Violation[] } {
  const { reference } = body;
  if (reference === undefined) return { violations: [] };
  if (typeof reference !== "string")
    return { violations: [{ param: "reference", rule: "wrong_type", values: { expected: "string" } }] };
  return isReference(reference) ? { reference, violations: [] } : { violations: [{ param: "reference", rule: "bad_reference" }] };
}

/** What is wrong with `max_cost`, a number of balance units. */
export function maxCostViolations({ max_cost: maxCost }: Record<string, unknown>): Violation[] {
  if (maxCost === undefined) return [];
  if (typeof maxCost !== "number") return [{ param: "max_cost", rule: "wrong_type", values: { expected: "number" } }];
  return maxCost >= 0 ? [] : [{ param: "max_cost", rule: "too_small", values: { minimum: 0 }, allowed: { minimum: 0 } }];
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
