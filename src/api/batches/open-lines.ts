/** The lines of a running batch in memory: which are open and hold money, which begin next, and how many have ended. */

import { type BatchStore, isOfChats, toKind } from "./state.ts";

interface Open {
  /** See `toKind`. */
  kind: string;
  /** Millionths */
  price: number;
  /** Milliseconds */
  since: number;
}

/** A line that has not begun. */
export interface NextLine {
  n: number;
  /** See `toKind`. */
  kind: string;
}

/** The storage and the task objects lead to all of this again. */
export class OpenLines {
  /** Lines whose tasks may be open. */
  readonly open = new Map<number, Open>();
  /** Lines that are being started. */
  readonly starting = new Set<number>();
  /** How often the wallet refused a line as unavailable. */
  readonly refusals = new Map<number, number>();
  completed: number;
  failed: number;
  charged: number;
  readonly #store: BatchStore;
  /** The next page whose lines are not in `#next` yet. */
  #page: number;
  #isRead = false;
  /** The lines that begin next, of each kind in the order of the input: those of one kind do not wait for those of another. */
  readonly #next = new Map<string, number[]>();

  /** `page`: lines of earlier pages are put back if they have not begun. */
  constructor(store: BatchStore, page: number) {
    this.#store = store;
    this.#page = page;
    ({ completed: this.completed, failed: this.failed, charged: this.charged } = store.sums());
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

  /** Takes the first line that has not begun and whose kind may begin; undefined if there is none. */
  take(mayBegin: (kind: string) => boolean): NextLine | undefined {
    for (;;) {
      let first: NextLine | undefined;
      for (const [kind, [n]] of this.#next) if (n !== undefined && n < (first?.n ?? Infinity) && mayBegin(kind)) first = { n, kind };
      if (first) this.#next.get(first.kind)?.shift();
      if (first || this.#isRead) return first;
      const lines = this.#store.unended(this.#page++);
      this.#isRead = lines === undefined;
      for (const { n, assigned } of lines ?? []) this.#queue(toKind(assigned)).push(n);
    }
  }

  /** False once no task is left to begin. */
  get mayHaveTasks(): boolean {
    return !this.#isRead || [...this.#next].some(([kind, { length }]) => length > 0 && !isOfChats(kind));
  }

  hasOpen(kind: string): boolean {
    return [...this.open.values()].some((line) => line.kind === kind);
  }

  #queue(kind: string): number[] {
    const queue = this.#next.get(kind) ?? [];
    this.#next.set(kind, queue);
    return queue;
  }

  /** The line begins again, before later ones of its kind. */
  putBack({ n, kind }: NextLine): void {
    const queue = this.#queue(kind);
    const last = queue.at(-1) ?? -1;
    queue.push(n);
    // After a crash tens of thousands of lines are put back in their order.
    if (n < last) queue.sort((a, b) => a - b);
  }

  /** The line begins again after the others of its kind: its makers may refuse it alone. */
  putLast({ n, kind }: NextLine): void {
    this.#queue(kind).push(n);
  }

  /** The line has ended and is stored. */
  end(n: number, status: "completed" | "failed", charged: number): void {
    this.open.delete(n);
    this.charged += charged;
    this[status]++;
  }
}
