/** The cache of final answers is bounded by size in bytes, not by the number of entries. */

import { expect, test } from "vitest";
import { BoundedCache } from "../../src/base/bounded-cache.ts";

test("many large entries stay within the bound, and the newest are kept", () => {
  const cache = new BoundedCache<string>(100_000);
  const text = "x".repeat(400);
  for (let at = 0; at < 1_000; at++) cache.set(`key-${at}`, text, text.length);
  expect(cache.bytes).toBeLessThanOrEqual(100_000);
  expect(cache.bytes).toBeGreaterThan(98_000);
  expect(cache.get("key-999")).toBe(text);
  expect(cache.get("key-0")).toBeUndefined();
});

test("setting an entry again counts its size once; an entry above the bound is not stored and removes the old one", () => {
  const cache = new BoundedCache<string>(100_000);
  for (let time = 0; time < 5; time++) cache.set("a", "b", 10);
  expect(cache.bytes).toBe(22);
  cache.set("a", "large", 10_000);
  expect([cache.get("a"), cache.bytes]).toEqual([undefined, 0]);
});
