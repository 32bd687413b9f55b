/** What goes wrong in a run: at every call that leaves the gateway's code the run's number decides whether and how it fails. */

import { AsyncLocalStorage } from "node:async_hooks";
import { Random } from "../../scripts/support/random.ts";

/** The object in whose name a call is made; none for the Worker and the consumer. */
export interface Owner {
  label: string;
  ctx: DurableObjectState;
  /** The operations that are calling it now. */
  callers: Scope[];
}

export const owners = new AsyncLocalStorage<Owner>();

type Fault =
  /** It fails and does nothing. */
  | "error"
  /** It does its work and its answer is lost. */
  | "lost"
  /** It fails now and does its work later. */
  | "late"
  /** The object dies where it stands, before or after the call; what it wrote stays. */
  | "reset"
  | "reset after"
  /** The Worker or consumer dies: nothing of it goes on. */
  | "death"
  | "death after"
  /** Other operations run between this step and the one before, or the next. */
  | "pause"
  | "pause after"
  | "pause and reset";

/** What happens to the operation that is under way. */
export class Scope {
  /** Calls that left the gateway's code, and how many of them went wrong. */
  calls = 0;
  faults = 0;
  /** Its Worker or consumer has died. */
  isDead = false;
  /** Requests that work, some of them after their answer. */
  requests = 0;
  /** Tasks that it stored inputs for. */
  readonly inputs: string[] = [];
}

/** Where a run may be stopped and who may die there. */
export interface Point<T> {
  name: string;
  effect: () => Promise<T>;
  failure: string;
  /** Repeats the effect from outside, for one that comes late. */
  later?: () => Promise<unknown>;
  /** Our own object is called: it can be reset, and nothing else fails there. */
  isObject?: boolean;
}

const { wait } = Object.getPrototypeOf(scheduler) as { wait: (this: Scheduler, ms: number) => Promise<void> };
/** Real time, as little as there is: for looking again whether something has happened. */
export const turn = () => wait.call(scheduler, 0);

const after = { isAllOver: false };
/** Lets everything that died end, so that the runtime does not wait for it. */
export const bury = () => (after.isAllOver = true);

/** The rest of a Worker or consumer that died. */
async function death(): Promise<never> {
  while (!after.isAllOver) await wait.call(scheduler, 500);
  throw new Error("died long ago");
}

export class Storm {
  isOn = false;
  /** Set where an operation is stopped, until the run opens it. */
  gate: { isOpen: boolean } | undefined;
  scope = new Scope();
  /** Effects that are still to come. */
  readonly late: (() => Promise<unknown>)[] = [];
  readonly random: Random;
  #isOver = false;
  readonly #rate: number;
  readonly #pauseRate: number;
  readonly #note: (line: string) => void;

  constructor(seed: number, note: (line: string) => void) {
    this.random = new Random(seed + 0x10_0000);
    // Some runs are calm, so that tasks come far; some are wild.
    this.#rate = this.random.pick([0, 0.01, 0.03, 0.03, 0.08, 0.15]);
    this.#pauseRate = this.random.pick([0, 0.02, 0.05]);
    this.#note = note;
  }

  /** Makes the call, or what has become of it. */
  async through<T>({ name, effect, failure, later, isObject = false }: Point<T>): Promise<T> {
    const owner = owners.getStore();
    const fault = this.#draw(owner, isObject, later !== undefined);
    if (!fault) return effect();
    this.scope.faults++;
    this.#note(`    ${fault}: ${name}${owner ? ` of ${owner.label}` : ""}`);
    switch (fault) {
      case "error":
        throw new Error(failure);
      case "lost":
        await effect();
        throw new Error(failure);
      case "late":
        this.late.push(later!);
        throw new Error(failure);
      case "reset":
        return reset(owner!);
      case "reset after":
        await effect();
        return reset(owner!);
      case "death":
        this.scope.isDead = true;
        return death();
      case "death after":
        await effect();
        this.scope.isDead = true;
        return death();
      case "pause":
        await this.#pause();
        return effect();
      case "pause and reset":
        await this.#pause();
        return reset(owner!);
      case "pause after": {
        const answer = await effect();
        await this.#pause();
        return answer;
      }
    }
  }

  /** What is stopped stays so: it must not come to life in a later run. */
  end(): void {
    this.isOn = false;
    this.#isOver = true;
  }

  /** A misbehaviour of the provider, as often as `probability` says. */
  chance(probability: number): boolean {
    return this.isOn && this.random.chance(probability);
  }

  note(line: string): void {
    this.scope.faults++;
    this.#note(`    ${line}`);
  }

  #draw(owner: Owner | undefined, isObject: boolean, canBeLate: boolean): Fault | undefined {
    this.scope.calls++;
    if (!this.isOn) return undefined;
    // An operation that is stopped must not go on before its time: its objects live until then.
    const canReset = owner?.callers.every((caller) => caller === this.scope) ?? false;
    if (this.random.chance(this.#rate)) {
      const possible: Fault[] = isObject ? [] : canBeLate ? ["error", "lost", "late"] : ["error", "lost"];
      if (canReset) possible.push("reset", "reset after");
      if (!owner) possible.push("death", "death after");
      return possible.length > 0 ? this.random.pick(possible) : undefined;
    }
    if (this.gate || !this.random.chance(this.#pauseRate)) return undefined;
    return this.random.pick(canReset ? ["pause", "pause after", "pause and reset"] : ["pause", "pause after"]);
  }

  /** Looked at, not resolved: a promise cannot be settled from another request's context. */
  async #pause(): Promise<void> {
    const gate = (this.gate = { isOpen: false });
    while (!gate.isOpen) await (this.#isOver ? death() : turn());
  }
}

/** The object ends here. What it wrote counts as written: a write that is lost is the same as a death before it. */
async function reset({ ctx, callers }: Owner): Promise<never> {
  callers.length = 0;
  await ctx.storage.sync();
  ctx.abort("scripted reset");
  return new Promise<never>(() => undefined); // not reached
}
