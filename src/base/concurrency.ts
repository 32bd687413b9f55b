/** Limits how much runs at once: calls of one request, and memory-intensive work of an isolate. */

/** The platform lets an invocation wait for the answers of six requests; a call of an object is one. */
export const lanes = 6;

/** Runs the work on each item, at most six at a time; the results are in the order of the items. An error is thrown once nothing runs any more. */
export async function inLanes<Item, Result>(items: Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  // Each lane takes the next item from the one iterator.
  const run = async () => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  const ends = Promise.allSettled(Array.from({ length: lanes }, run));
  for (const end of await ends) if (end.status === "rejected") throw end.reason;
  return results;
}

const stepMs = 50;
/** A request that the platform cancels stops waiting without any signal. */
const waiterMs = 1_000;

interface SemaphoreOptions {
  /** The maximum sum of the permits' sizes; the size of a permit defaults to 1. */
  maxAtOnce: number;
  /** Maximum permits of one owner, so that others get some; half of `maxAtOnce` by default. */
  maxOfOne?: number;
  /** True if an owner without a permit may take a larger one: for work of which one may need everything, and which is brief. */
  allowsLarger?: boolean;
  /** Maximum requests of one owner that wait; 1 by default, because a waiting HTTP request keeps its connection. Work that may wait for longer than `maxWaitMs` does not count. */
  maxWaiting?: number;
  /** Work that the platform cancels does not return its permit: the permit expires after this time. */
  maxHoldMs: number;
  /** The maximum wait for a permit. */
  maxWaitMs: number;
}

/** The share of a semaphore that running work holds. */
export interface Permit {
  /** Changes the size; false, without a change, if a larger size does not fit. */
  resize: (size: number) => boolean;
  release: () => void;
}

interface Turn {
  owner: string | undefined;
  size: number;
  until: number;
  isPatient: boolean;
}

/** A semaphore for one kind of work in this isolate. The owner that holds least is next; of its requests, and of equal owners, the earliest. */
export class Semaphore {
  readonly #options: Required<SemaphoreOptions>;
  readonly #taken = new Set<Turn>();
  readonly #waiting = new Set<Turn>();

  constructor(options: SemaphoreOptions) {
    this.#options = { maxOfOne: options.maxAtOnce / 2, allowsLarger: false, maxWaiting: 1, ...options };
  }

  /**
   * Runs the work as soon as there is a permit for it and its owner. Throws the error that `refusal` creates if that takes too long, and at once
   * if too many requests of the owner are already waiting.
   */
  async take<T>(work: (permit: Permit) => Promise<T>, refusal: () => Error, owner?: string, size = 1, maxWaitMs?: number): Promise<T> {
    const permit = await this.tryEnter(owner, size, maxWaitMs);
    if (!permit) throw refusal();
    try {
      return await work(permit);
    } finally {
      permit.release();
    }
  }

  /** Waits like `take` for a permit, which the caller releases; undefined where `take` throws. */
  async tryEnter(owner?: string, size = 1, maxWaitMs = this.#options.maxWaitMs): Promise<Permit | undefined> {
    const turn = { owner, size, until: 0, isPatient: maxWaitMs > this.#options.maxWaitMs };
    return this.#isNext(turn) || (await this.#wait(turn, maxWaitMs)) ? this.#admit(turn) : undefined;
  }

  /** A permit of size 0 for work that takes what is free and never waits. */
  open(owner: string): Permit {
    return this.#admit({ owner, size: 0, until: 0, isPatient: false });
  }

  #admit(turn: Turn): Permit {
    turn.until = Date.now() + this.#options.maxHoldMs;
    this.#taken.add(turn);
    return {
      resize: (size: number) => {
        const more = size - turn.size;
        if (more > 0 && !this.#usage().fits({ ...turn, size: more })) return false;
        turn.size = size;
        return true;
      },
      release: () => void this.#taken.delete(turn),
    };
  }

  /** False if the wait is too long, or too many requests of the owner wait already. */
  async #wait(turn: Turn, maxWaitMs: number): Promise<boolean> {
    const { owner, isPatient } = turn;
    const isOwn = (other: Turn) => owner !== undefined && other.owner === owner && !other.isPatient;
    if (!isPatient && live(this.#waiting).filter(isOwn).length >= this.#options.maxWaiting) return false;
    turn.until = Date.now() + waiterMs;
    this.#waiting.add(turn);
    try {
      // Polled, because one request cannot wake another one.
      for (let step = 0; !this.#isNext(turn); step++) {
        if (step * stepMs >= maxWaitMs) return false;
        await scheduler.wait(stepMs);
        turn.until = Date.now() + waiterMs;
      }
      return true;
    } finally {
      this.#waiting.delete(turn);
    }
  }

  /** True if there is a permit, and this request is the next that can use it. */
  #isNext(turn: Turn): boolean {
    const { fits, heldBy } = this.#usage();
    const fitting = [...new Set([...live(this.#waiting), turn])].filter(fits);
    const least = Math.min(...fitting.map(({ owner }) => heldBy(owner)));
    return fitting.find(({ owner }) => heldBy(owner) === least) === turn;
  }

  #usage() {
    const { maxAtOnce, maxOfOne, allowsLarger } = this.#options;
    let total = 0;
    const sums = new Map<string, number>();
    for (const { owner, size } of live(this.#taken)) {
      total += size;
      if (owner !== undefined) sums.set(owner, (sums.get(owner) ?? 0) + size);
    }
    const heldBy = (owner: string | undefined) => (owner === undefined ? 0 : (sums.get(owner) ?? 0));
    const hasShare = (held: number, size: number) => (allowsLarger && held === 0) || held + size <= maxOfOne;
    const fits = ({ owner, size }: Turn) => total + size <= maxAtOnce && (owner === undefined || hasShare(heldBy(owner), size));
    return { heldBy, fits };
  }
}

/** The permits still in use; expired ones are dropped. */
function live(turns: Set<Turn>): Turn[] {
  const now = Date.now();
  for (const turn of turns) if (turn.until <= now) turns.delete(turn);
  return [...turns];
}
