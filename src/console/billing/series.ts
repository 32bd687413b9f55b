/** The balance of an account at the ends of the last days, computed backwards from today's. Pure. */

import { type Spent, startOfDays } from "../../db/ledger-reports.ts";
import type { QuotaChange } from "../../db/quota-changes.ts";
import { dayMs } from "../../base/times.ts";

/** `left` now, and the balance at the beginning of the first day and at the end of each of `days` days from `since` (the first millisecond of a day). Amounts in millionths. */
export function dailyBalances({
  left,
  spent,
  moves,
  since,
  days,
}: {
  left: number;
  spent: readonly Pick<Spent, "day" | "charged">[];
  moves: readonly Pick<QuotaChange, "at" | "before" | "after">[];
  since: number;
  days: number;
}): number[] {
  const balances = [left];
  for (let day = since + (days - 1) * dayMs; day >= since; day -= dayMs) {
    const charged = spent.reduce((sum, one) => sum + (one.day === day ? one.charged : 0), 0);
    const moved = moves.reduce((sum, { at, before, after }) => {
      const isThen = at >= day && at < day + dayMs;
      return isThen && before !== null && after !== null ? sum + after - before : sum;
    }, 0);
    balances.unshift((balances[0] ?? 0) + charged - moved);
  }
  return balances;
}

/** The days whose charges tell how long the balance lasts. */
export const rateDays = 7;

/** How many days the balance lasts at the rate of the last seven; Infinity for longer than a year, undefined if it has no limit or nothing was spent. */
export function daysLeft(left: number | null, spent: readonly Pick<Spent, "day" | "charged">[], now: number): number | undefined {
  const since = startOfDays(rateDays, now);
  const charged = spent.reduce((sum, one) => (one.day >= since ? sum + one.charged : sum), 0);
  if (left === null || left <= 0 || charged <= 0) return undefined;
  const lasting = Math.floor((left * rateDays) / charged);
  return lasting <= 365 ? lasting : Infinity;
}
