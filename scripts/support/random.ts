/** Random choices determined by one number: the same seed makes the same choices in the same order. */

import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { mersenne } from "pure-rand/generator/mersenne";

export class Random {
  // The first numbers are well mixed: neighbouring seeds start differently.
  readonly #generator;

  constructor(seed: number) {
    this.#generator = mersenne(seed);
  }

  /** At least `low`, less than `high`. */
  between(low: number, high: number): number {
    return low + uniformFloat64(this.#generator) * (high - low);
  }

  /** A whole number from `low` to `high`, both included. */
  int(min: number, max: number): number {
    return uniformInt(this.#generator, min, max);
  }

  /** True with this probability. */
  chance(share: number): boolean {
    return uniformFloat64(this.#generator) < share;
  }

  /** One item of a non-empty list. */
  pick<T>(list: readonly T[]): T {
    return list.at(this.int(0, list.length - 1)) as T;
  }

  /** One item of the list, with a probability proportional to its weight; at least one weight must be above 0. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T {
    let left = this.between(
      0,
      items.reduce((sum, [weight]) => sum + weight, 0),
    );
    const chosen = items.find(([weight]) => (left -= weight) < 0) ?? items.findLast(([weight]) => weight > 0);
    return (chosen as readonly [number, T])[1];
  }
}
