/** Seeded randomness: the same seed makes the same choices in the same order. */

/** A source of random choices. Each client has its own, so that one client's timing does not change another's choices. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0, less than 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A number from `low` (included) to `high` (excluded). */
  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** True with this probability. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** One item of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    return list.at(Math.floor(this.next() * list.length)) as T;
  }

  /** One of the names, with probabilities in proportion to the weights. */
  weighted<T extends string>(weights: Record<T, number>): T {
    const entries = Object.entries<number>(weights);
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    return (entries.find(([, weight]) => (left -= weight) < 0) ?? entries[0])?.[0] as T;
  }
}
