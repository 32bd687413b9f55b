/** The bill: the cost of a chat by the price list, and whether the balances changed by exactly the costs. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Balances, PriceList, Usage } from "./api-answers.ts";
import type { ApiClient } from "./api-client.ts";

const settleDeadlineMs = 10_000;

/** Balance units are floats: they are added and compared in whole millionths. */
export const micro = (amount: number): number => Math.round(amount * 1e6);

/** A chat's cost in balance units: its tokens at the listed price, rounded up once to a millionth. */
export function chatCost(prices: PriceList, model: string, usage: Usage): number {
  const price = prices.data.find((entry) => entry.id === model)?.price;
  if (!price) throw new Error(`${model} is not in the price list`);
  const cost =
    usage.prompt_tokens * micro(price["input_million_tokens"] ?? 0) + usage.completion_tokens * micro(price["output_million_tokens"] ?? 0);
  return Math.ceil(cost / 1e6) / 1e6;
}

/** Waits until the bill is right and returns the balances; gives up after some seconds. A charge may follow its task by a moment. */
export async function settledBalances(api: ApiClient, before: Balances, cost: number): Promise<Balances> {
  const deadline = Date.now() + settleDeadlineMs;
  for (;;) {
    const now = await api.balances();
    if (billFaults(before, now, cost).length === 0 || Date.now() > deadline) return now;
    await sleep(250);
  }
}

/** The faults of the bill: the key must have used exactly the cost, and nothing may stay reserved. */
export function billFaults(before: Balances, after: Balances, cost: number): string[] {
  const faults: string[] = [];
  const used = micro(after.key.used_balance) - micro(before.key.used_balance);
  if (used !== micro(cost)) faults.push(`bill: the key was charged ${used / 1e6}, expected was ${cost}`);
  const scope = after.key.unlimited_quota ? "account" : "key";
  if (after[scope].unlimited_quota) return faults;
  const gone = micro(before[scope].remain_balance) - micro(after[scope].remain_balance);
  if (gone !== micro(cost)) faults.push(`bill: the balance of the ${scope} fell by ${gone / 1e6}, expected was ${cost}`);
  return faults;
}
