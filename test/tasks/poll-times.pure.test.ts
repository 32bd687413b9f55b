/** The schedule of polls: by the typical duration, before the deadline, and for the operator's HEDGE setting. */

import type { Hedging } from "../../src/base/hedging.ts";
import { expect, test } from "vitest";
import { pollDelayMs } from "../../src/tasks/transitions/poll-times.ts";
import type { Submission, Task } from "../../src/tasks/record.ts";
import { newTask } from "../../src/tasks/transitions/task.ts";

const start = 1_000_000_000;

function task(typicalSeconds: number, routes = 1, kind: Submission["kind"] = "video"): Task {
  const route = { provider: "fal", model: "m" };
  const submission = { kind, typicalSeconds, deadlineSeconds: 600, routes: Array.from({ length: routes }, () => route) };
  return { ...newTask("task_1", submission as unknown as Submission, start), askedAt: start };
}

/** The seconds of all polls until the deadline of work that never ends. */
function polls(of: Task, callsBack: boolean, hedging: Hedging = "failed"): number[] {
  const seconds: number[] = [];
  for (let now = start; ;) {
    now += pollDelayMs(of, hedging, callsBack, undefined, now);
    if (now >= of.deadline) return seconds;
    seconds.push(Math.round((now - start) / 1000));
  }
}

test("without callbacks: after half of what remains of the typical duration, later after a quarter of the time beyond it", () => {
  expect(polls(task(60), false).slice(0, 12)).toEqual([30, 45, 53, 58, 63, 68, 73, 78, 83, 88, 95, 104]);
  expect(polls(task(240), false).slice(0, 9)).toEqual([30, 60, 90, 120, 150, 180, 210, 225, 233]);
  expect(polls(task(8, 1, "image"), false).slice(0, 4)).toEqual([4, 6, 8, 10]);
});

/** The task, if recent ones took these seconds. */
const known = (of: Task, first: number, mean: number, last: number): Task => ({
  ...of,
  submission: { ...of.submission, runSeconds: { first, mean, last } },
});

test("with known run times: close polls from before the first usual end to the last one, then a quarter of the time beyond it", () => {
  const close = polls(known(task(60), 57, 60, 63), false);
  expect(close.slice(0, 12)).toEqual([56, 57, 59, 60, 62, 63, 65, 66, 68, 69, 71, 72]);
  expect(polls(known(task(240), 230, 240, 255), false).slice(0, 6)).toEqual([76, 152, 229, 230, 232, 233]);
  expect(polls(known(task(240, 2), 230, 240, 255), false).slice(0, 6)).toEqual([57, 114, 171, 228, 230, 232]);
});

test("with run times that vary too much for close polls, and with callbacks, the schedule is the usual one", () => {
  expect(polls(known(task(60), 35, 61, 90), false)).toEqual(polls(task(60), false));
  expect(polls(known(task(4, 1, "image"), 3, 4, 5), false)).toEqual(polls(task(4, 1, "image"), false));
  expect(polls(known(task(60), 57, 60, 63), true)).toEqual(polls(task(60), true));
});

test("with callbacks: one poll after 125 % of the typical duration, then rarely", () => {
  expect(polls(task(60), true).slice(0, 6)).toEqual([75, 85, 98, 116, 144, 187]);
  expect(polls(task(240), true).slice(0, 2)).toEqual([300, 330]);
  expect(polls(task(8, 1, "image"), true)[0]).toBe(18);
});

test("work that ends shortly before its deadline is found in time to be stored, with and without callbacks", () => {
  for (const callsBack of [true, false, "close"] as const)
    for (const typicalSeconds of [5, 60, 240, 590, 2_000]) {
      const of = task(typicalSeconds);
      const seconds =
        callsBack === "close" ? polls(known(of, typicalSeconds, typicalSeconds, typicalSeconds), false) : polls(of, callsBack);
      // Ninety seconds is the maximum duration of a collection.
      const found = seconds.find((second) => second >= 400)!;
      expect(found, `${typicalSeconds}`).toBeLessThanOrEqual(510);
      expect(seconds.at(-1)).toBeGreaterThan(580);
    }
});

test.each<[Hedging, number, number]>([
  ["failed", 2, 60],
  ["slow", 2, 60],
  ["off", 2, 300],
  ["failed", 1, 300],
])("HEDGE %s with %d routes: with callbacks, the first poll is after %d seconds", (hedging, routes, first) => {
  expect(polls(task(240, routes), true, hedging)[0]).toBe(first);
});

test("HEDGE slow: a poll runs right after twice the typical duration", () => {
  for (const typicalSeconds of [20, 50, 100, 200]) {
    const of = task(typicalSeconds, 2);
    let now = start;
    while (now <= start + 2_000 * typicalSeconds) now += pollDelayMs(of, "slow", true, undefined, now);
    expect(now - start - 2_000 * typicalSeconds).toBeLessThanOrEqual(5_000);
  }
});

test("the interval that the upstream requested is used unless it calls back", () => {
  expect(pollDelayMs(task(60), "failed", false, 1_234, start)).toBe(1_234);
  expect(pollDelayMs(task(60), "failed", true, 1_234, start)).toBe(75_000);
});

test("the time is measured from the start of this route", () => {
  const later = { ...task(60), askedAt: start + 100_000 };
  expect(pollDelayMs(later, "failed", true, undefined, start + 100_000)).toBe(75_000);
});
