/** Times of the code as texts name them. */

import { assetSeconds, recordSeconds } from "../../src/base/life-times.ts";

const sizes = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1_000, "second"],
] as const;

/** `7 days`, `24 hours`, `30 seconds`. */
export function inWords(ms: number): string {
  const [size, unit] = sizes.find(([least, name]) => ms >= least * (name === "day" ? 3 : 1) && ms % least === 0) ?? sizes[3];
  return `${ms / size} ${unit}${ms === size ? "" : "s"}`;
}

/** `5 seconds, 30 seconds and 2 minutes`. */
export const listInWords = (times: readonly number[]): string => {
  const words = times.map(inWords);
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
};

/** How long the files of a task, and its record, are kept. */
export const fileLife = inWords(1_000 * assetSeconds);
export const recordLife = inWords(1_000 * recordSeconds);
