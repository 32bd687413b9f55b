/** Random choices that are determined by one seed. */

export class Random {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds must not begin with similar numbers.
    this.#state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  }

  /** 0 or more, less than 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One item of a list that is not empty. */
  pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)]!;
  }

  /** One of the items, with probabilities in proportion to the weights. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T {
    let left = this.next() * items.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of items) if ((left -= weight) < 0) return item;
    return items.at(-1)![1];
  }
}
