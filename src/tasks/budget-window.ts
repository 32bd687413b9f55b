/** The windows of budgets: days and months, UTC. Pure. */

import type { Budget } from "../db/grants.ts";

/** The first millisecond of the window that `now` is in. */
export function windowStart(window: Budget["window"], now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), window === "day" ? date.getUTCDate() : 1);
}

/** The first millisecond after the window that `now` is in. */
export function windowEnd(window: Budget["window"], now: number): number {
  const date = new Date(windowStart(window, now));
  if (window === "day") date.setUTCDate(date.getUTCDate() + 1);
  else date.setUTCMonth(date.getUTCMonth() + 1);
  return date.getTime();
}
