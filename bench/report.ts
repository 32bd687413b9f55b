/** The table of comparisons, and the gates that they must meet. */

import { table } from "../scripts/support/table.ts";
import { type Comparison, median, spread } from "./comparison.ts";

/** The maximum of CPU per request, as a multiple of the floor's. */
const gate = 1.25;

/** Formats the measurements as a table; `other` is the name of what the gateway is compared with. */
export function comparisonTable(results: Record<string, Comparison>, other: string): string {
  const header = ["", "ratio", "turns", "CPU us", other, "p50 ms", other, "requests/s", other];
  const rows = Object.entries(results).map(([name, { own, floor, ratios }]) => {
    const both = (field: "cpu" | "p50" | "rate", digits: number) =>
      [own, floor].map((turns) => median(turns.map((turn) => turn[field])).toFixed(digits));
    return [name, spread(ratios, 3), String(own.length), ...both("cpu", 0), ...both("p50", 2), ...both("rate", 0)];
  });
  return table(header, rows);
}

/** A message for every measurement above its gate. */
export const failures = (results: Record<string, Comparison>): string[] =>
  Object.entries(results)
    .filter(([, { ratios }]) => median(ratios) > gate)
    .map(([name, { ratios }]) => `${name}: ${median(ratios).toFixed(3)} times the floor's CPU, allowed are ${gate}`);
