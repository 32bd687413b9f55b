/** Holds that stay open for long, which the wallet's alarm looks at: tasks are asked whether they have ended, or whether their submission crashed before their record was written; chats are released after their deadline. */

import { toObjectId } from "../base/ids.ts";
import type { Outcome } from "../db/ledger.ts";
import type { WalletStore } from "./state.ts";

/** A task lasts at most ten minutes: an older hold is one that the task forgot, or never knew. */
const oldMs = 900_000;
const askAgainMs = 60_000;
/** An object that starts so soon after it made a hold has crashed, perhaps with the submission of that hold: one that the platform evicts was idle for ten seconds. */
const crashMs = 10_000;
/** Then its task is asked after this time: a submission that goes on writes its record before. */
const afterCrashMs = 10_000;
/** An object that starts this long after a chat's deadline could not run: its alarm should have started it then. */
const awayMs = 60_000;
/** Settlements that could not reach the object wait in the queue, and arrive within this time after its return (`late-settlements.ts`). */
const settlementsMs = 300_000;

export class WalletHolds {
  readonly #store: WalletStore;
  /** Tasks whose holds were new when the object started, and when they are asked. */
  readonly #crashed = new Set<string>();
  #askFrom = Infinity;
  /** The task that is being asked; undefined once its submission goes on. */
  #asked: string | undefined;

  constructor(store: WalletStore) {
    this.#store = store;
  }

  /**
   * Looks for new holds when the object starts; returns when an alarm has to look at them, or Infinity. Chats whose deadline passed while the
   * object could not run get a later one. That deadline is stored: an idle object leaves memory before the alarm, and its next start would move it again.
   */
  begin(now: number): number {
    let wakeAt = Infinity;
    for (const { taskId, at, deadline } of this.#store.book.open()) {
      if (deadline === undefined && at > now - crashMs) this.#crashed.add(taskId);
      if (deadline === undefined || deadline >= now - awayMs) continue;
      this.#store.put(this.#store.book.postpone(taskId, (wakeAt = now + settlementsMs)));
    }
    return this.#crashed.size > 0 ? (this.#askFrom = now + afterCrashMs) : wakeAt;
  }

  /** A submission that is repeated uses its hold. */
  used(taskId: string): void {
    if (this.#asked === taskId) this.#asked = undefined;
  }

  /** Releases the holds of chats past their deadline, whose Workers must have crashed. Returns their number. */
  release(now: number): number {
    const overdue = [...this.#store.book.open()].filter(({ deadline }) => deadline !== undefined && deadline <= now);
    for (const { taskId } of overdue) this.#end(taskId, "deadline_exceeded", now);
    return overdue.length;
  }

  /** When a task is asked next, in milliseconds; for a chat, which has no object, when its hold is released. */
  nextAt(now: number): number {
    const first = this.#crashed.size > 0 ? Math.max(this.#askFrom, now + 1) : Infinity;
    return [...this.#store.book.open()].reduce((next, hold) => Math.min(next, holdEndsAt(hold, now)), first);
  }

  /** Lets the tasks of old holds settle them, and releases those of tasks without a record. Throws at the end if a task's object does not answer. */
  async ask(tasks: Env["TASKS"], accountId: string, now: number): Promise<void> {
    const isDue = now >= this.#askFrom;
    let fault: unknown;
    for (const { taskId, at, deadline } of this.#store.book.open()) {
      if (deadline !== undefined || (at + oldMs > now && !(isDue && this.#crashed.has(taskId)))) continue;
      this.#asked = taskId;
      try {
        const id = toObjectId(tasks, taskId);
        const isGone = !id || (await tasks.get(id).tellWallet(accountId)) === "gone";
        this.#crashed.delete(taskId);
        if (isGone && this.#asked === taskId) this.#end(taskId, "refused", now);
      } catch (error) {
        fault = error;
      }
    }
    if (fault) throw fault;
    if (isDue) this.#crashed.clear();
  }

  #end(taskId: string, outcome: Outcome, at: number): void {
    this.#store.put(this.#store.book.settle(taskId, { charged: 0, outcome, at }));
  }
}

/** When a hold is looked at, in milliseconds. */
export const holdEndsAt = ({ at, deadline }: { at: number; deadline?: number | undefined }, now = 0): number =>
  deadline ?? Math.max(at + oldMs, now + askAgainMs);
