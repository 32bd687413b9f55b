/** What the log of a run says: its gateway's lines over all restarts, in one file. */

import { readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";

const readLines = (path: string): string[] => stripVTControlCharacters(readFileSync(path, "utf8")).split("\n");

/** The log lines of the Worker that name this task, except those of status queries. */
export const linesAbout = (path: string, taskId: string): string[] =>
  readLines(path).filter((line) => line.includes(taskId) && line.includes('{"unit"') && !line.includes('"path":"GET '));

/** How often each kind of log line for the operator occurs, by unit and outcome, without successes. */
export function countTroubles(path: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of readLines(path)) {
    const [, unit, outcome] = /\{"unit":"(\w+)".*?"outcome":"(\w+)"/.exec(line) ?? [];
    if (!outcome || !troubling.has(outcome)) continue;
    const name = `${unit} ${outcome}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

const troubling = new Set([
  "fault",
  "retry",
  "unavailable",
  "internal_error",
  "lease_lapsed",
  "deadline_exceeded",
  "dead_letter",
  "not_sent",
  "too_late",
]);
