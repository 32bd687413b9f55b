/** Seeded random numbers: the same words always give the same numbers, so that an image can be drawn again at any time. */

/** Numbers from 0 up to, not including, 1. */
export type Random = () => number;

/** Derives a stream of numbers from the SHA-256 of `words`; their order and their boundaries matter. */
export async function randomFrom(words: readonly string[]): Promise<Random> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(words)));
  const state = new Uint32Array(digest, 0, 4);
  // sfc32, a small generator that passes the usual test suites; Math.random cannot be seeded.
  return () => {
    const [a = 0, b = 0, c = 0, counter = 0] = state;
    const next = (a + b + counter) >>> 0;
    state.set([b ^ (b >>> 9), c + (c << 3), ((c << 21) | (c >>> 11)) + next, counter + 1]);
    return next / 2 ** 32;
  };
}

/** A number from `low` (included) to `high` (excluded). */
export function between(random: Random, low: number, high: number): number {
  return low + random() * (high - low);
}

/** A whole number from `low` to `high`, both included. */
export function integerBetween(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

/** One of the items; throws `RangeError` for an empty list. */
export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError("nothing to pick from");
  return item;
}
