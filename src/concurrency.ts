/** A few at a time: work that needs much of an isolate's memory. */

const stepMs = 50;

export interface SemaphoreOptions {
  mostAtOnce: number;
  /** Work that the platform cancelled tells nobody: its place is free after this. */
  longestMs: number;
  /** After this a caller is sent away. */
  longestWaitMs: number;
}

/** Turns of one kind of work in this isolate. */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #taken = new Set<{ until: number }>();

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** Does the work when fewer than `mostAtOnce` others do theirs. Throws what `refusal` makes when that does not come. */
  async take<T>(work: () => Promise<T>, refusal: () => Error): Promise<T> {
    const { mostAtOnce, longestMs, longestWaitMs } = this.#options;
    // Asked again and again: a request cannot be woken by another one.
    for (let step = 0; this.#count() >= mostAtOnce; step++) {
      if (step * stepMs >= longestWaitMs) throw refusal();
      await scheduler.wait(stepMs);
    }
    const turn = { until: Date.now() + longestMs };
    this.#taken.add(turn);
    try {
      return await work();
    } finally {
      this.#taken.delete(turn);
    }
  }

  #count(): number {
    const now = Date.now();
    for (const turn of this.#taken) if (turn.until <= now) this.#taken.delete(turn);
    return this.#taken.size;
  }
}
