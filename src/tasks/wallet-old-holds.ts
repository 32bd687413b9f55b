/** Holds whose tasks a wallet object asks whether they have ended, or whether their submission crashed before their record was written. */

import { toObjectId } from "../ids.ts";
import type { WalletBook } from "./wallet-book.ts";

/** A task lasts at most ten minutes: an older hold is one that the task forgot, or never knew. */
const oldMs = 900_000;
const askAgainMs = 60_000;
/** An object that starts so soon after it made a hold has probably crashed, perhaps with the submission of that hold. */
const crashMs = 60_000;
/** Then its task is asked after this time: a submission that goes on writes its record before. */
const afterCrashMs = 10_000;

export class OldHolds {
  readonly #book: WalletBook;
  /** Tasks whose holds were new when the object started, and when they are asked. */
  readonly #crashed = new Set<string>();
  #askFrom = Infinity;
  /** The task that is being asked; undefined once its submission goes on. */
  #asked: string | undefined;

  constructor(book: WalletBook) {
    this.#book = book;
  }

  /** Looks for new holds when the object starts; returns when an alarm has to ask their tasks, or Infinity. */
  begin(now: number): number {
    for (const { taskId, at, deadline } of this.#book.open()) if (deadline === undefined && at > now - crashMs) this.#crashed.add(taskId);
    return this.#crashed.size > 0 ? (this.#askFrom = now + afterCrashMs) : Infinity;
  }

  /** A submission that is repeated uses its hold. */
  used(taskId: string): void {
    if (this.#asked === taskId) this.#asked = undefined;
  }

  /** When a task is asked next, in milliseconds; for a chat, which has no object, when its hold is released. */
  nextAt(now: number): number {
    const first = this.#crashed.size > 0 ? Math.max(this.#askFrom, now + 1) : Infinity;
    return [...this.#book.open()].reduce((next, hold) => Math.min(next, holdEndsAt(hold, now)), first);
  }

  /** Lets the tasks of old holds settle them, and releases those of tasks without a record. Throws at the end if a task's object does not answer. */
  async ask(tasks: Env["TASKS"], accountId: string, now: number, release: (taskId: string) => void): Promise<void> {
    const isDue = now >= this.#askFrom;
    let fault: unknown;
    for (const { taskId, at, deadline } of this.#book.open()) {
      if (deadline !== undefined || (at + oldMs > now && !(isDue && this.#crashed.has(taskId)))) continue;
      this.#asked = taskId;
      try {
        const id = toObjectId(tasks, taskId);
        const isGone = !id || (await tasks.get(id).tellWallet(accountId)) === "gone";
        this.#crashed.delete(taskId);
        if (isGone && this.#asked === taskId) release(taskId);
      } catch (error) {
        fault = error;
      }
    }
    if (fault) throw fault;
    if (isDue) this.#crashed.clear();
  }
}

/** When a hold is looked at, in milliseconds. */
export const holdEndsAt = ({ at, deadline }: { at: number; deadline?: number | undefined }, now = 0): number =>
  deadline ?? Math.max(at + oldMs, now + askAgainMs);
