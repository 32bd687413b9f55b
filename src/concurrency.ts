/** Limits how much memory-intensive work runs at once. */

const stepMs = 50;
/** A request that the platform cancels stops waiting without any signal. */
const waiterMs = 1_000;

export interface SemaphoreOptions {
  /** The maximum sum of the permits' sizes; the size of a permit defaults to 1. */
  maxAtOnce: number;
  /** Maximum permits of one owner, so that others get some; `maxAtOnce` by default. */
  maxOfOne?: number;
  /** Maximum requests of one owner that wait; 1 by default, because a waiting HTTP request keeps its connection. */
  maxWaiting?: number;
  /** Work that the platform cancels does not return its permit: the permit expires after this time. */
  maxHoldMs: number;
  /** The maximum wait for a permit. */
  maxWaitMs: number;
}

interface Turn {
  owner: string | undefined;
  size: number;
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
   * if too many requests of the owner are already waiting.
   */
  async take<T>(work: () => Promise<T>, refusal: () => Error, owner?: string, size = 1): Promise<T> {
    const turn = { owner, size, until: 0 };
    if (!this.#isNext(turn)) await this.#wait(turn, refusal);
    turn.until = Date.now() + this.#options.maxHoldMs;
    this.#taken.add(turn);
    try {
      return await work();
    } finally {
      this.#taken.delete(turn);
    }
  }

  async #wait(turn: Turn, refusal: () => Error): Promise<void> {
    const { owner } = turn;
    const { maxWaiting = 1 } = this.#options;
    if (owner !== undefined && live(this.#waiting).filter((other) => other.owner === owner).length >= maxWaiting) throw refusal();
    turn.until = Date.now() + waiterMs;
    this.#waiting.add(turn);
    try {
      // Polled, because one request cannot wake another one.
      for (let step = 0; !this.#isNext(turn); step++) {
        if (step * stepMs >= this.#options.maxWaitMs) throw refusal();
        await scheduler.wait(stepMs);
        turn.until = Date.now() + waiterMs;
      }
    } finally {
      this.#waiting.delete(turn);
    }
  }

  /** True if there is a permit, and no earlier request can use it. */
  #isNext(turn: Turn): boolean {
    const first = live(this.#waiting).find((other) => other === turn || this.#hasRoom(other)) ?? turn;
    return first === turn && this.#hasRoom(turn);
  }

  #hasRoom({ owner, size }: Turn): boolean {
    const { maxAtOnce, maxOfOne = maxAtOnce } = this.#options;
    const taken = live(this.#taken);
    const sum = (turns: Turn[]) => turns.reduce((total, turn) => total + turn.size, size);
    return sum(taken) <= maxAtOnce && (owner === undefined || sum(taken.filter((turn) => turn.owner === owner)) <= maxOfOne);
  }
}

/** The permits still in use; expired ones are dropped. */
function live(turns: Set<Turn>): Turn[] {
  const now = Date.now();
  for (const turn of turns) if (turn.until <= now) turns.delete(turn);
  return [...turns];
}
