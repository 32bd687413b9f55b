/** The table of results, and the gates that they must meet. */

import { type Comparison, median, quantile } from "./comparison.ts";

/** The maximum of CPU per request, as a multiple of the floor's. */
const gate = 1.25;

const header = ["", "ratio", "quartiles", "turns", "CPU us", "floor", "p50 ms", "floor", "requests/s", "floor"];

function toRow(name: string, { own, floor, ratios }: Comparison): string[] {
  const both = (field: "cpu" | "p50" | "rate", digits: number) =>
    [own, floor].map((turns) => median(turns.map((turn) => turn[field])).toFixed(digits));
  const quartiles = [0.25, 0.75].map((part) => quantile(ratios, part).toFixed(3)).join("-");
  return [name, median(ratios).toFixed(3), quartiles, String(own.length), ...both("cpu", 0), ...both("p50", 2), ...both("rate", 0)];
}

/** Formats the measurements as a table. */
export function table(results: Record<string, Comparison>): string {
  const rows = [header, ...Object.entries(results).map(([name, result]) => toRow(name, result))];
  const widths = header.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const line = ([name = "", ...cells]: string[]) =>
    [name.padEnd(widths[0] ?? 0), ...cells.map((cell, at) => cell.padStart(widths[at + 1] ?? 0))].join("  ");
  return rows.map(line).join("\n");
}

/** A message for every measurement above its gate. */
export const failures = (results: Record<string, Comparison>): string[] =>
  Object.entries(results)
    .filter(([, { ratios }]) => median(ratios) > gate)
    .map(([name, { ratios }]) => `${name}: ${median(ratios).toFixed(3)} times the floor's CPU, allowed are ${gate}`);
