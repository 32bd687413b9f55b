/** Limits how many pieces of work that need much of an isolate's memory run at once. */

const stepMs = 50;
/** A request that the platform cancelled stops looking for its turn without saying so. */
const waiterMs = 1_000;

export interface SemaphoreOptions {
  mostAtOnce: number;
  /** Of one owner, so that others find room; as many as `mostAtOnce` by default. */
  mostOfOne?: number;
  /** Work that the platform cancelled does not report it: its place is free after this. */
  longestMs: number;
  /** A caller that has waited this long is refused. */
  longestWaitMs: number;
}

interface Turn {
  owner: string | undefined;
  until: number;
}

/** Turns of one kind of work in this isolate, in the order in which they were asked for. */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #taken = new Set<Turn>();
  readonly #waiting = new Set<Turn>();

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /**
   * Does the work as soon as there is room for it and for this owner. Throws what `refusal` makes when that takes too long, and at once
   * when another turn of the owner is waiting already.
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
      // Asked again and again: a request cannot be woken by another one.
      for (let step = 0; !this.#isNext(owner, turn); step++) {
        if (step * stepMs >= this.#options.longestWaitMs) throw refusal();
        await scheduler.wait(stepMs);
        turn.until = Date.now() + waiterMs;
      }
    } finally {
      this.#waiting.delete(turn);
    }
  }

  /** Whether there is room, and no turn that has waited longer can use it. */
  #isNext(owner: string | undefined, turn?: Turn): boolean {
    if (!this.#hasRoom(owner)) return false;
    const waiting = live(this.#waiting);
    const ahead = turn ? waiting.slice(0, waiting.indexOf(turn)) : waiting;
    return !ahead.some((other) => this.#hasRoom(other.owner));
  }

  #hasRoom(owner: string | undefined): boolean {
    const { mostAtOnce, mostOfOne = mostAtOnce } = this.#options;
    const taken = live(this.#taken);
    return taken.length < mostAtOnce && (owner === undefined || taken.filter((turn) => turn.owner === owner).length < mostOfOne);
  }
}

/** The turns that are not over; the others are dropped. */
function live(turns: Set<Turn>): Turn[] {
  const now = Date.now();
  for (const turn of turns) if (turn.until <= now) turns.delete(turn);
  return [...turns];
}
