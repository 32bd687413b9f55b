/** A run whose runtime does not answer ends, with the status of its tests. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TestModule } from "vitest/node";
import { EndOfRun } from "../../scripts/support/end-of-run.ts";

const project = { name: "gateway" };
const file = (moduleId: string, ok = true) =>
  ({
    moduleId,
    project,
    relativeModuleId: moduleId,
    ok: () => ok,
    errors: () => [],
    children: { allTests: () => [] },
  }) as unknown as TestModule;

const started = (...files: string[]) => {
  const exit = vi.fn<(status: number) => void>();
  const reporter = new EndOfRun(exit);
  reporter.onTestRunStart(files.map((moduleId) => ({ moduleId, project }) as never));
  return { exit, reporter };
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, "error").mockReturnValue();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test.for([
  [true, 0],
  [false, 1],
] as const)("a run without an end, its last file ok: %s", ([ok, status]) => {
  const { exit, reporter } = started("a", "b");
  reporter.onTestModuleEnd(file("a"));
  vi.advanceTimersByTime(600_000);
  expect(exit).not.toHaveBeenCalled();
  reporter.onTestModuleEnd(file("b", ok));
  vi.advanceTimersByTime(29_000);
  expect(exit).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2000);
  expect(exit.mock.calls).toEqual([[status]]);
});

test("a run that ends by itself is not ended by the reporter", () => {
  const { exit, reporter } = started("a");
  reporter.onTestModuleEnd(file("a"));
  reporter.onTestRunEnd();
  vi.advanceTimersByTime(600_000);
  expect(exit).not.toHaveBeenCalled();
});
