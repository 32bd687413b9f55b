/** The fault injector of a run: at every call that leaves the gateway's code the seed decides whether and how it fails. */

import { AsyncLocalStorage } from "node:async_hooks";
import { Random } from "../../scripts/support/random.ts";

/** The object that makes the call; none for the Worker and the consumer. */
export interface Owner {
  label: string;
  ctx: DurableObjectState;
  /** The run's operations that are calling this object now. */
  callers: Scope[];
}

export const owners = new AsyncLocalStorage<Owner>();

type Fault =
  /** It fails without an effect. */
  | "error"
  /** It takes effect and its answer is lost. */
  | "lost"
  /** It fails now and takes effect later. */
  | "late"
  /** The object crashes before or after the call; its writes stay. */
  | "reset"
  | "reset after"
  /** The Worker or consumer crashes: nothing of it continues. */
  | "death"
  | "death after"
  /** Other operations run before or after this step. */
  | "pause"
  | "pause after"
  | "pause and reset";

/** The state of the running operation. */
export class Scope {
  /** The number of calls that left the gateway's code, and how many of them failed. */
  calls = 0;
  faults = 0;
  /** True if its Worker or consumer has crashed. */
  isDead = false;
  /** True if a service was out when it was called: then its inputs may not have been removed. */
  wasOut = false;
  /** Running requests, some of which continue after their answer. */
  requests = 0;
  /** Tasks for which it stored inputs. */
  readonly inputs: string[] = [];
}

/** A point at which a run may pause or crash. */
export interface Point<T> {
  name: string;
  effect: () => Promise<T>;
  /** The error of a call that fails, or whose answer is lost; undefined if that cannot happen. */
  failure: string | undefined;
  /** Repeats the effect from outside, for a late effect. */
  later?: () => Promise<unknown>;
  /** A call of our own object, which can be reset in it. */
  isObject?: boolean;
}

/** The operation whose Worker or consumer makes a call. It may go on beside others while an object of it is paused. */
export const scopes = new AsyncLocalStorage<Scope>();

const { wait } = Object.getPrototypeOf(scheduler) as { wait: (this: Scheduler, ms: number) => Promise<void> };
/** Waits the shortest real time, before checking again. */
export const turn = () => wait.call(scheduler, 0);

const after = { isAllOver: false };
/** Ends everything that crashed, so that the runtime does not wait for it. */
export const endAll = () => (after.isAllOver = true);

/** The rest of a crashed Worker or consumer. */
async function death(): Promise<never> {
  while (!after.isAllOver) await wait.call(scheduler, 500);
  throw new Error("died long ago");
}

export class FaultInjector {
  isOn = false;
  /** Set while an operation is paused, until the run continues it. */
  gate: { isOpen: boolean } | undefined;
  scope = new Scope();
  /** The next calls of a service fail: those whose names begin so. */
  outage = { of: "", calls: 0 };
  /** Effects that are still to come. */
  readonly late: (() => Promise<unknown>)[] = [];
  readonly random: Random;
  #isOver = false;
  readonly #rate: number;
  readonly #pauseRate: number;
  readonly #note: (line: string) => void;

  constructor(seed: number, note: (line: string) => void) {
    this.random = new Random(seed + 0x10_0000);
    // The share of faults: in some runs low, so that tasks progress far; in some high.
    this.#rate = this.random.pick([0, 0.01, 0.03, 0.03, 0.08, 0.15]);
    this.#pauseRate = this.random.pick([0, 0.02, 0.05]);
    this.#note = note;
  }

  /** Makes the call, or injects a fault. */
  async through<T>({ name, effect, failure, later, isObject = false }: Point<T>): Promise<T> {
    const owner = owners.getStore();
    const scope = (owner ? undefined : scopes.getStore()) ?? this.scope;
    // What runs beside the call during which a Worker died.
    if (!owner && scope.isDead) return death();
    const isOut = this.#isOut(name);
    if (isOut) scope.wasOut = true;
    const fault = isOut ? "error" : this.#draw(owner, scope, isObject, failure !== undefined, later !== undefined);
    if (!fault) return effect();
    scope.faults++;
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
        scope.isDead = true;
        return death();
      case "death after":
        await effect();
        scope.isDead = true;
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

  /** A paused operation stays paused: it must not continue in a later run. */
  end(): void {
    this.isOn = false;
    this.#isOver = true;
  }

  /** A fault of the provider with this probability. */
  chance(probability: number): boolean {
    return this.isOn && this.random.chance(probability);
  }

  note(line: string): void {
    this.scope.faults++;
    this.#note(`    ${line}`);
  }

  #isOut(name: string): boolean {
    return this.isOn && this.outage.calls > 0 && name.startsWith(this.outage.of) && this.outage.calls-- > 0;
  }

  #draw(owner: Owner | undefined, scope: Scope, isObject: boolean, canFail: boolean, canBeLate: boolean): Fault | undefined {
    scope.calls++;
    if (!this.isOn) return undefined;
    // A paused operation must not continue early: its objects stay alive until then.
    const canReset = owner?.callers.every((caller) => caller === this.scope) ?? false;
    if (this.random.chance(this.#rate)) {
      const possible: Fault[] = canFail ? ["error", "lost"] : [];
      if (canBeLate) possible.push("late");
      if (canReset) possible.push("reset", "reset after");
      if (!owner && !isObject) possible.push("death", "death after");
      return possible.length > 0 ? this.random.pick(possible) : undefined;
    }
    if (this.gate || !this.random.chance(this.#pauseRate)) return undefined;
    return this.random.pick(canReset ? ["pause", "pause after", "pause and reset"] : ["pause", "pause after"]);
  }

  /** Polls, because a promise cannot be resolved from another request's context. */
  async #pause(): Promise<void> {
    // What an object does in parallel pauses once.
    if (this.gate) return;
    const gate = (this.gate = { isOpen: false });
    while (!gate.isOpen) await (this.#isOver ? death() : turn());
  }
}

/** The object crashes here. Its writes count as written: a lost write is the same as a crash before it. */
async function reset({ ctx, callers }: Owner): Promise<never> {
  callers.length = 0;
  await ctx.storage.sync();
  ctx.abort("scripted reset");
  return new Promise<never>(() => undefined); // not reached
}
