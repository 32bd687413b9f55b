/** `?dry_run=true`: the price of a submission or chat and the remaining balance, or its error. Reserves, stores and sends nothing. */

import { maxOpenTasks } from "../config.ts";
import { remaining, toUnits } from "../db/ledger.ts";
import { ApiError, budgetExceeded } from "../errors.ts";
import { readBalances } from "../tasks/wallets.ts";
import { type AppContext, answer } from "./frame.ts";

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
  const { accountId, keyId, scope } = c.get("caller");
  const balances = await readBalances(c.env.WALLETS, accountId, [keyId]);
  const [account, key] = [balances[accountId], balances[keyId]];
  const left = (wallet: typeof key) => (wallet ? (remaining(wallet) ?? Infinity) : 0);
  const requireLeft = (wallet: typeof key) => {
    if (left(wallet) < price) throw new ApiError("insufficient_quota");
  };
  if (!isReplay) {
    // In the order of a reservation, which asks D1 for the account's money last.
    const hasTooMany = (account?.openTasks ?? 0) >= maxOpenTasks(c.env) || (key?.openTasks ?? 0) >= (scope?.maxOpenTasks ?? Infinity);
    if (kind !== "chat" && hasTooMany) throw new ApiError("too_many_open_tasks");
    requireLeft(key);
    for (const budget of [account?.budget, key?.budget])
      if (budget && budget.spent + price > budget.amount) throw budgetExceeded(budget.until);
    requireLeft(account);
  }
  const least = Math.min(left(account), left(key));
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
