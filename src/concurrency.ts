/** Limits how much memory-intensive work runs at once. */

const stepMs = 50;
/** A request that the platform cancels stops waiting without any signal. */
const waiterMs = 1_000;

export interface SemaphoreOptions {
  maxAtOnce: number;
  /** Maximum permits of one owner, so that others get some; `maxAtOnce` by default. */
  maxOfOne?: number;
  /** Work that the platform cancels does not return its permit: the permit expires after this time. */
  longestMs: number;
  /** The maximum wait for a permit. */
  longestWaitMs: number;
}

interface Turn {
  owner: string | undefined;
  until: number;
}

/** A semaphore for one kind of work in this isolate; permits are given in the order of requests. */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #taken = new Set<Turn>();
  readonly #waiting = new Set<Turn>();

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /**
   * Runs the work as soon as there is a permit for it and its owner. Throws the error that `refusal` creates if that takes too long, and at once
   * if another request of the owner is already waiting.
   */
  async take<T>(work: () => Promise<T>, refusal: () => Error, owner?: string): Promise<T> {
    const { longestMs } = this.#options;
    if (!this.#isNext(owner)) await this.#wait(owner, refusal);
    const turn = { owner, until: Date.now() + longestMs };
    this.#taken.add(turn);
    try {
      return await work();
    } finally {
      this.#taken.delete(turn);
    }
  }

  async #wait(owner: string | undefined, refusal: () => Error): Promise<void> {
    if (owner !== undefined && live(this.#waiting).some((turn) => turn.owner === owner)) throw refusal();
    const turn = { owner, until: Date.now() + waiterMs };
    this.#waiting.add(turn);
    try {
      // Polled, because one request cannot wake another one.
      for (let step = 0; !this.#isNext(owner, turn); step++) {
        if (step * stepMs >= this.#options.longestWaitMs) throw refusal();
        await scheduler.wait(stepMs);
        turn.until = Date.now() + waiterMs;
      }
    } finally {
      this.#waiting.delete(turn);
    }
  }

  /** True if there is a permit, and no earlier request can use it. */
  #isNext(owner: string | undefined, turn?: Turn): boolean {
    if (!this.#hasRoom(owner)) return false;
    const waiting = live(this.#waiting);
    const ahead = turn ? waiting.slice(0, waiting.indexOf(turn)) : waiting;
    return !ahead.some((other) => this.#hasRoom(other.owner));
  }

  #hasRoom(owner: string | undefined): boolean {
    const { maxAtOnce, maxOfOne = maxAtOnce } = this.#options;
    const taken = live(this.#taken);
    return taken.length < maxAtOnce && (owner === undefined || taken.filter((turn) => turn.owner === owner).length < maxOfOne);
  }
}

/** The permits still in use; expired ones are dropped. */
function live(turns: Set<Turn>): Turn[] {
  const now = Date.now();
  for (const turn of turns) if (turn.until <= now) turns.delete(turn);
  return [...turns];
}
