/** The timeout of a start: only the upstream's time counts. */

import { maxPauseMs } from "../../src/tasks/work.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { StartClock } from "../../src/tasks/consumer/start-clock.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A start with a timeout of ten seconds that ends when the function is called. */
function running() {
  const clock = new StartClock();
  const work = Promise.withResolvers<void>();
  let signal: AbortSignal | undefined;
  const over = clock.run(10_000, (given) => {
    signal = given;
    return work.promise;
  });
  return { clock, signal: signal!, end: async () => (work.resolve(), over) };
}

/** Milliseconds until the signal is aborted from now on. */
function readLeft(signal: AbortSignal): number {
  let ms = 0;
  while (!signal.aborted && ms < 100_000) {
    vi.advanceTimersByTime(500);
    ms += 500;
  }
  return ms;
}

test("a start without pauses ends after its time, like a timeout", () => {
  const { signal } = running();
  expect(readLeft(signal)).toBe(10_000);
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});

test("the time that images wait for permits does not count, however they overlap", () => {
  const { clock, signal } = running();
  vi.advanceTimersByTime(4_000);
  const first = clock.hold();
  vi.advanceTimersByTime(5_000);
  const second = clock.hold();
  first();
  first();
  vi.advanceTimersByTime(5_000);
  second();
  expect(readLeft(signal)).toBe(6_000);
});

test("it is paused for at most half a minute in all, because the lease is no longer than that", () => {
  const { clock, signal } = running();
  clock.hold()();
  const release = clock.hold();
  vi.advanceTimersByTime(20_000);
  release();
  clock.hold();
  expect(readLeft(signal)).toBe(maxPauseMs - 20_000 + 10_000);
});

test("after the end of a start nothing is aborted", async () => {
  const { clock, signal, end } = running();
  const release = clock.hold();
  await end();
  release();
  clock.hold()();
  vi.advanceTimersByTime(100_000);
  expect(signal.aborted).toBe(false);
});
