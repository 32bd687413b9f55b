/** The lines of a running batch in memory: which are open and hold money, which begin next, and how many have ended. */

interface Open {
  /** Millionths */
  price: number;
  /** Milliseconds */
  since: number;
}

/** The storage and the task objects lead to all of this again. */
export class OpenLines {
  /** Lines whose tasks may be open. */
  readonly open = new Map<number, Open>();
  /** Lines that are being started. */
  readonly starting = new Set<number>();
  /** How often a line was refused as unavailable. */
  readonly refusals = new Map<number, number>();
  /** Nothing begins before this time. */
  notBefore = 0;
  completed: number;
  failed: number;
  charged: number;
  /** The next line that never began. */
  #next: number;
  /** Lines that must be made before it. */
  #again: number[] = [];

  constructor(next: number, { completed, failed, charged }: { completed: number; failed: number; charged: number }) {
    this.#next = next;
    this.completed = completed;
    this.failed = failed;
    this.charged = charged;
  }

  /** What the open lines may cost, in millionths. */
  get reserved(): number {
    return [...this.open.values()].reduce((sum, { price }) => sum + price, 0);
  }

  /** True if another line of this price stays within the batch's limit, whatever the open lines are charged. */
  fits(price: number, maxCost: number | undefined): boolean {
    return maxCost === undefined || this.charged + this.reserved + price <= maxCost;
  }

  /** How many lines count towards the batch's concurrency. */
  get taken(): number {
    return this.open.size + [...this.starting].filter((n) => !this.open.has(n)).length;
  }

  /** The line that begins next, of `total`; undefined if all have begun. */
  take(total: number): number | undefined {
    return this.#again.shift() ?? (this.#next < total ? this.#next++ : undefined);
  }

  /** The line begins again, before those that never began. */
  putBack(n: number): void {
    this.#again.push(n);
    this.#again.sort((a, b) => a - b);
  }

  /** The line has ended and is stored. */
  end(n: number, status: "completed" | "failed", charged: number): void {
    this.open.delete(n);
    this.charged += charged;
    this[status]++;
  }
}
