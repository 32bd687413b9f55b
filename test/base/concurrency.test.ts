/** The semaphore of an isolate: which requests wait, which are refused, and that owners do not block each other. */

import { expect, test } from "vitest";
import { Semaphore } from "../../src/base/concurrency.ts";

const busy = () => new Error("busy");

/** Work that ends when the test ends it. */
function work() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { run: () => promise, end: () => resolve("done") };
}

const options = { maxAtOnce: 3, maxOfOne: 2, maxHoldMs: 60_000, maxWaitMs: 500 };

test("an owner gets two of three permits and one waiting place; its next request is refused at once, and another owner gets a permit", async () => {
  const turns = new Semaphore(options);
  const [first, second, third] = [work(), work(), work()];
  const running = [turns.take(first.run, busy, "a"), turns.take(second.run, busy, "a")];
  const waiting = turns.take(third.run, busy, "a");
  await expect(turns.take(third.run, busy, "a")).rejects.toThrow("busy");
  expect(await turns.take(() => Promise.resolve("in"), busy, "b")).toBe("in");
  first.end();
  third.end();
  expect(await waiting).toBe("done");
  second.end();
  expect(await Promise.all(running)).toEqual(["done", "done"]);
});

test("permits are given in the order of requests, subject to the limit of each owner", async () => {
  const turns = new Semaphore({ ...options, maxAtOnce: 2, maxOfOne: 1, maxWaitMs: 5_000 });
  const order: string[] = [];
  const [a, b] = [work(), work()];
  const held = [turns.take(a.run, busy, "a"), turns.take(b.run, busy, "b")];
  const enter = (owner: string) => turns.take(async () => void order.push(owner), busy, owner);
  const waiting = [enter("b"), enter("c"), enter("d")];
  a.end();
  await Promise.all(waiting.slice(1));
  expect(order).toEqual(["c", "d"]);
  b.end();
  await Promise.all([...held, ...waiting]);
  expect(order).toEqual(["c", "d", "b"]);
});

test("a request that times out is refused, and its waiting place is free again", async () => {
  const turns = new Semaphore({ ...options, maxAtOnce: 1, maxWaitMs: 50 });
  const one = work();
  const held = turns.take(one.run, busy, "a");
  await expect(turns.take(one.run, busy, "b")).rejects.toThrow("busy");
  const next = turns.take(() => Promise.resolve("in"), busy, "b");
  one.end();
  expect([await held, await next]).toEqual(["done", "in"]);
});

test("an owner holds at most half, the owner that holds least is next, and a permit shrinks to the size in use", async () => {
  const turns = new Semaphore({ maxAtOnce: 20, maxWaiting: 8, maxHoldMs: 60_000, maxWaitMs: 5_000 });
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const enter = (owner: string, size: number) =>
    turns.take(
      async ({ resize }) => {
        order.push(owner);
        await new Promise<void>((resolve) => ends.push(resolve));
        expect(resize(size + 15)).toBe(false);
        expect(resize(1)).toBe(true);
        await new Promise<void>((resolve) => ends.push(resolve));
      },
      busy,
      owner,
      size,
    );
  const all = [enter("a", 8), enter("b", 10), enter("a", 4), enter("a", 2), enter("c", 4)];
  await scheduler.wait(120);
  expect(order).toEqual(["a", "b", "a"]); // 8, 10 and 2 of 20; "a" and "c" wait for 4 each
  ends[0]!();
  ends[2]!();
  await expect.poll(() => order).toEqual(["a", "b", "a", "c", "a"]);
  const timer = setInterval(() => ends.splice(0).forEach((end) => end()), 10);
  await Promise.all(all);
  clearInterval(timer);
});

test("an open permit takes what is free and never waits", () => {
  const turns = new Semaphore({ maxAtOnce: 10, maxHoldMs: 60_000, maxWaitMs: 0 });
  const [a, b, c] = ["a", "b", "c"].map((owner) => turns.open(owner));
  expect([a!.resize(6), a!.resize(5), b!.resize(5), c!.resize(1)]).toEqual([false, true, true, false]);
  a!.release();
  expect(c!.resize(5)).toBe(true);
});
