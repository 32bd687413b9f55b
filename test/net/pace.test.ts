/** A sender's minimum rate, with stepped time. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pace, paceTimeMs, within } from "../../src/net/pace.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const limits = { graceMs: 5_000, bytesPerSecond: 1_000, deadlineMs: 20_000 };
const arrives = async (bytes: number, ms: number) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return new Uint8Array(bytes);
};

/** The outcomes of consecutive reads, each of some bytes that take some milliseconds. */
async function read(...reads: [bytes: number, ms: number, pauseMs?: number][]): Promise<string[]> {
  const wait = pace(limits);
  const outcomes: string[] = [];
  for (const [bytes, ms, pauseMs = 0] of reads) {
    const outcome = wait(arrives(bytes, ms)).then(
      () => "read",
      (error: { reason: string }) => error.reason,
    );
    await vi.advanceTimersByTimeAsync(ms + 1);
    outcomes.push(await outcome);
    await vi.advanceTimersByTimeAsync(pauseMs);
  }
  return outcomes;
}

test("a sender has the grace time, and then must keep up with the rate", async () => {
  expect(await read([1, 4_900])).toEqual(["read"]);
  expect(await read([1, 5_100])).toEqual(["timeout"]);
  expect(await read([4_000, 4_000], [4_000, 4_000], [4_000, 4_000])).toEqual(["read", "read", "read"]);
  expect(await read([1_000, 3_000], [1_000, 2_900], [1, 1_700])).toEqual(["read", "read", "timeout"]);
});

test("only waiting for the sender counts, against its rate and against the deadline", async () => {
  expect(await read([1_000, 1_000, 10_000], [1_000, 1_000])).toEqual(["read", "read"]);
  expect(await read([9_000, 1_000, 18_000], [9_000, 1_500])).toEqual(["read", "read"]);
  expect(await read([99_000, 1_000], [9_000, 18_000], [9_000, 2_000])).toEqual(["read", "read", "timeout"]);
});

test("a busy machine is no slow sender: what arrives before the next tick is in time, whatever the clock says", async () => {
  const wait = pace(limits);
  for (let read = 1; read <= 3; read++) {
    const { promise, resolve } = Promise.withResolvers<Uint8Array>();
    const waiting = wait(promise);
    vi.setSystemTime(Date.now() + 3_600_000); // the event loop stands still for an hour, in which the bytes arrive
    resolve(new Uint8Array(10));
    expect((await waiting).length).toBe(10);
  }
});

test("a body read at once may take as long as its bytes need at the rate, and no timer is left", async () => {
  expect(paceTimeMs(0)).toBe(5_000);
  expect(paceTimeMs(640 * 1024)).toBe(15_000);
  expect(paceTimeMs(1e12)).toBe(120_000);
  expect(await within(10, Promise.resolve("now"))).toBe("now");
  expect(vi.getTimerCount()).toBe(0);
});
