/**
 * The time from an upstream's end to the poll that finds it, and the number of polls: simulated with the code's own schedule and seeded run times. Each
 * hundred tasks learn from the hundred before them what their polls found, as in `src/tasks/typical-times.ts`, beginning without any knowledge.
 */

import { expect, test } from "vitest";
import type { Submission } from "../../src/tasks/record.ts";
import { pollDelayMs } from "../../src/tasks/transitions/poll-times.ts";
import { newTask } from "../../src/tasks/transitions/task.ts";
import { learnDurations } from "../../src/tasks/typical-times.ts";
import { randomNumbers } from "../support/random.ts";

/** One request to a maker in milliseconds: the minimum, and the additional time at most. */
const [requestMs, moreRequestMs] = [30, 50];
const perGeneration = 100;
/** Generations that learn, and generations that are measured: the p99 of forty differs between seeds by half a second, that of 400 by a tenth. */
const [learning, measured] = [20, 400];

/** Seconds that a maker works on a task of this generation. */
type Run = (random: () => number, generation: number) => number;

const normal = (random: () => number) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
/** Most runs take the median, divided or multiplied by up to 1 + 2 * spread. */
const lognormal =
  (median: number, spread: number): Run =>
  (random) =>
    median * Math.exp(spread * normal(random));
/** A fixed time, and after it a wait that is usually short. */
const waiting =
  (fixed: number, mean: number): Run =>
  (random) =>
    fixed - mean * Math.log(1 - random());

interface Seen {
  p50: number;
  p99: number;
  polls: number;
}

/** Seconds from the end to the poll's answer, and polls for each task. Without `learns` the polls know the typical duration alone. */
function simulate(kind: Submission["kind"], usual: number, run: Run, learns: boolean): Seen {
  // Two sequences: the run times do not depend on the number of requests, so that both simulations see the same ones.
  const [random, requests] = [randomNumbers(11), randomNumbers(12)];
  const lags: number[] = [];
  let polls = 0;
  let found: number[] = [];
  for (let generation = -learning; generation < measured; generation++) {
    const { typicalSeconds, runSeconds } = learnDurations(found) ?? { typicalSeconds: usual, runSeconds: undefined };
    const submission = {
      kind,
      typicalSeconds,
      ...(learns && runSeconds && { runSeconds }),
      deadlineSeconds: 900,
      routes: [{ provider: "p", model: "m" }],
    };
    const task = { ...newTask("task", submission as unknown as Submission, 0), askedAt: 0 };
    found = Array.from({ length: perGeneration }, () => {
      const endMs = 1000 * run(random, generation);
      for (let now = 0, count = 1; ; count++) {
        now += pollDelayMs(task, "failed", false, undefined, now);
        const isFound = now >= endMs;
        now += requestMs + requests() * moreRequestMs;
        if (!isFound) continue;
        if (generation >= 0) {
          polls += count;
          lags.push((now - endMs) / 1000);
        }
        return Math.round(now / 100) / 10;
      }
    });
  }
  lags.sort((a, b) => a - b);
  const quantile = (part: number) => Math.round(100 * lags[Math.floor(part * (lags.length - 1))]!) / 100;
  return { p50: quantile(0.5), p99: quantile(0.99), polls: Math.round((100 * polls) / lags.length) / 100 };
}

const compare = (kind: Submission["kind"], usual: number, run: Run) => {
  const seen = { before: simulate(kind, usual, run, false), after: simulate(kind, usual, run, true) };
  console.log(seen);
  return seen;
};

test.each<[string, Submission["kind"], number, Run]>([
  ["a video of 60 seconds, a spread of 1 %", "video", 60, lognormal(60, 0.01)],
  ["a video of 60 seconds, a spread of 2 %", "video", 60, lognormal(60, 0.02)],
  ["a video of 60 seconds, a spread of 3 %", "video", 60, lognormal(60, 0.03)],
  ["a video of 55 seconds after a short wait", "video", 58, waiting(55, 3)],
  ["a video of 120 seconds, a spread of 2 %", "video", 120, lognormal(120, 0.02)],
  ["a video of 240 seconds, a spread of 2 %", "video", 240, lognormal(240, 0.02)],
  ["an image of 15 seconds, a spread of 10 %", "image", 15, lognormal(15, 0.1)],
])("%s: 99 of 100 ends are found within two seconds, with as many polls", (_, kind, usual, run) => {
  const { before, after } = compare(kind, usual, run);
  expect(before.p99).toBeGreaterThan(2);
  expect(after.p99).toBeLessThanOrEqual(2);
  expect(after.p50).toBeLessThan(before.p50);
  expect(after.polls).toBeLessThanOrEqual(before.polls);
});

test.each<[string, Submission["kind"], number, Run]>([
  ["a video of 60 seconds, a spread of 5 %", "video", 60, lognormal(60, 0.05)],
  ["a video of 60 seconds, a spread of 10 %", "video", 60, lognormal(60, 0.1)],
  ["a video of 120 seconds, a spread of 3 %", "video", 120, lognormal(120, 0.03)],
  ["a video of 120 seconds, a spread of 10 %", "video", 120, lognormal(120, 0.1)],
  ["a video of 240 seconds, a spread of 5 %", "video", 240, lognormal(240, 0.05)],
  ["a video of 240 seconds, a spread of 20 %", "video", 240, lognormal(240, 0.2)],
  ["an image of 4 seconds, a spread of 10 %", "image", 4, lognormal(4, 0.1)],
  ["an image of 25 seconds, a spread of 10 %", "image", 25, lognormal(25, 0.1)],
])("%s: no end is found later, with as many polls", (_, kind, usual, run) => {
  const { before, after } = compare(kind, usual, run);
  expect(after.p50).toBeLessThanOrEqual(before.p50);
  expect(after.p99).toBeLessThanOrEqual(before.p99);
  expect(after.polls).toBeLessThanOrEqual(before.polls);
});

test("a video of 60 seconds, a spread of 20 %: ends are found about as late as without what was learned, with as many polls", () => {
  // In few generations close polls are possible, which do not make a difference that is larger than chance.
  const { before, after } = compare("video", 60, lognormal(60, 0.2));
  for (const name of ["p50", "p99", "polls"] as const) expect(after[name] / before[name], name).toBeLessThan(1.02);
});

test.each([0.6, 0.75, 1.5])("a maker that takes %f times as long as before is learned", (factor) => {
  const usual = lognormal(60, 0.02);
  const { before, after } = compare(
    "video",
    60 * factor,
    (random, generation) => (generation < -12 ? 1 : factor) * usual(random, generation),
  );
  expect(after.p99).toBeLessThanOrEqual(2);
  expect(after.polls).toBeLessThanOrEqual(before.polls);
});
