/** The time a start may take: only what the upstream took of it counts. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { longestHoldMs, StartClock } from "../../src/tasks/start-clock.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A start of ten seconds that ends when the function is called. */
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
function leftOf(signal: AbortSignal): number {
  let ms = 0;
  while (!signal.aborted && ms < 100_000) {
    vi.advanceTimersByTime(500);
    ms += 500;
  }
  return ms;
}

test("a start that is never held ends after its time, as a timeout", () => {
  const { signal } = running();
  expect(leftOf(signal)).toBe(10_000);
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});

test("the time that pictures wait for their turns does not count, however they overlap", () => {
  const { clock, signal } = running();
  vi.advanceTimersByTime(4_000);
  const first = clock.hold();
  vi.advanceTimersByTime(5_000);
  const second = clock.hold();
  first();
  first();
  vi.advanceTimersByTime(5_000);
  second();
  expect(leftOf(signal)).toBe(6_000);
});

test("it stands still for half a minute in all, for the lease is no longer than that", () => {
  const { clock, signal } = running();
  clock.hold()();
  const release = clock.hold();
  vi.advanceTimersByTime(20_000);
  release();
  clock.hold();
  expect(leftOf(signal)).toBe(longestHoldMs - 20_000 + 10_000);
});

test("once a start is over nothing is aborted", async () => {
  const { clock, signal, end } = running();
  const release = clock.hold();
  await end();
  release();
  clock.hold()();
  vi.advanceTimersByTime(100_000);
  expect(signal.aborted).toBe(false);
});
