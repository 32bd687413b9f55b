/** The semaphore of an isolate: which requests wait, which are refused, and that owners do not block each other. */

import { expect, test } from "vitest";
import { Semaphore } from "../../src/concurrency.ts";

const busy = () => new Error("busy");

/** Work that ends when the test ends it. */
function work() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { run: () => promise, end: () => resolve("done") };
}

const options = { maxAtOnce: 3, maxOfOne: 2, longestMs: 60_000, longestWaitMs: 500 };

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
  const turns = new Semaphore({ ...options, maxAtOnce: 2, maxOfOne: 1, longestWaitMs: 5_000 });
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
  const turns = new Semaphore({ ...options, maxAtOnce: 1, longestWaitMs: 50 });
  const one = work();
  const held = turns.take(one.run, busy, "a");
  await expect(turns.take(one.run, busy, "b")).rejects.toThrow("busy");
  const next = turns.take(() => Promise.resolve("in"), busy, "b");
  one.end();
  expect([await held, await next]).toEqual(["done", "in"]);
});
