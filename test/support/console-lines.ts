/**
 * What the tested code logs: kept in memory, and printed if its test fails. Each line that is printed is a message to the process that runs
 * the tests, which shows only those of failures anyway.
 */

import { afterEach } from "vitest";

type Print = () => void;

/** A property of the global object, because variables of modules do not outlive a renewal (`runtime.ts`). */
const kept = (Reflect.get(globalThis, "keptLines") as Print[] | undefined) ?? keepLines();

function keepLines(): Print[] {
  const lines: Print[] = [];
  for (const method of ["log", "warn", "error"] as const) {
    const print = console[method].bind(console);
    console[method] = (...values: unknown[]) => void lines.push(() => print(...values));
  }
  Reflect.set(globalThis, "keptLines", lines);
  return lines;
}

/** For the file whose setup calls it. */
export function printLinesOfFailures(): void {
  afterEach(({ task }) => {
    if (task.result?.state === "fail") for (const print of kept) print();
    kept.length = 0;
  });
}
