/** The options of every submission and chat: `reference`, `max_cost`, `?dry_run=true`, which reserves, stores and sends nothing, and `Idempotency-Key`. */

import { readBalances } from "../../wallet/settlements.ts";
import { type AppContext, queryParameter } from "./context.ts";
import { toViolations } from "../../catalog/parse.ts";
import { maxOpenTasks } from "../../config.ts";
import { remaining, toUnits } from "../../db/ledger.ts";
import { ApiError, budgetExceeded, invalid, type Violation } from "../../base/errors.ts";
import { chatOptions, taskOptions } from "../schema/bodies.ts";
import { answer } from "./answer.ts";

/** The violations in the options of a body. */
export function optionViolations(body: Record<string, unknown>, of: "task" | "chat"): Violation[] {
  const result = (of === "task" ? taskOptions : chatOptions)().safeParse(body);
  return result.success ? [] : toViolations(result.error, body);
}

/** Throws 400 if an idempotency key is empty, too long or not printable ASCII. */
export function checkKey(key: string): void {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw invalid("Idempotency-Key", "bad_idempotency_key");
}

/** A `max_cost` as millionths: rounded down, except for the error of the multiplication, so that 1.005 is 1,005,000. */
export const toMaxCost = (units: number): number => Math.floor(units * 1e6 + 1e-3);

/** Refuses a price above the body's checked `max_cost`. `price` is in millionths. */
export function requireMaxCost({ max_cost: maxCost }: Record<string, unknown>, price: number): void {
  if (typeof maxCost !== "number" || toUnits(price) <= maxCost) return;
  const units = toUnits(price);
  throw new ApiError("cost_limit_exceeded", {
    violations: [{ param: "max_cost", rule: "above_max_cost", values: { price: units }, allowed: units }],
  });
}

/** True if only the checks, the price and the remaining balance are requested. */
export const isDryRun = (c: AppContext) => c.get("isEstimate") === true || queryParameter(c, "dry_run") === "true";

/** The submission: `price` in millionths, `metadata` as in the submission's answer. A replay reserves nothing, so no limit applies to it. */
interface Preview {
  kind: string;
  model: string;
  price: number;
  typicalSeconds: number;
  metadata: object;
  isReplay?: boolean;
}

/** Answers a dry run of a checked submission. Throws the reservation's error. */
export async function answerDryRun(c: AppContext, { kind, model, price, typicalSeconds, metadata, isReplay }: Preview): Promise<Response> {
  const { accountId, keyId, scope, token } = c.get("caller");
  const balances = await readBalances(c.env, c.executionCtx, accountId, [keyId]);
  const [account, key] = [balances[accountId], balances[keyId]];
  const left = (wallet: typeof key) => (wallet ? (remaining(wallet) ?? Infinity) : 0);
  const requireLeft = (wallet: typeof key) => {
    if (left(wallet) < price || wallet?.shortfall) throw new ApiError("insufficient_quota");
  };
  if (!isReplay) {
    if (token && (token.left.tasks < 1 || token.left.price < price)) throw new ApiError("token_exhausted");
    // In the order of a reservation, which asks D1 for the account's money last.
    const hasTooMany = (account?.openTasks ?? 0) >= maxOpenTasks(c.env) || (key?.openTasks ?? 0) >= (scope?.maxOpenTasks ?? Infinity);
    if (kind !== "chat" && hasTooMany) throw new ApiError("too_many_open_tasks");
    requireLeft(key);
    for (const budget of [account?.budget, key?.budget, key?.memberBudget])
      if (budget && budget.spent + price > budget.amount) throw budgetExceeded(budget.until);
    requireLeft(account);
  }
  // A token's holder must not learn the account's balance.
  const least = token ? token.left.price : Math.min(left(account), left(key));
  return answer(c, {
    object: "generation.dry_run",
    model,
    kind,
    price: toUnits(price),
    // As on the balance paths, -1 means no limit.
    remaining_after: least === Infinity ? -1 : toUnits(least - price),
    estimated_time: typicalSeconds,
    metadata,
  });
}
