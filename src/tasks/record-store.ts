/** A task's record in its object's storage, and the one alarm that wakes the object for it. */

import { isFinal, type Task } from "./record.ts";
import { type LifeTimes, reloaded, reloadedAt } from "./reloaded.ts";
import { wakeAt } from "./task.ts";

/** A settlement that begins is left to an alarm that is set already and at most this much later than its own: most come through, and then it is moved anyway. */
const settleSlackMs = 90_000;

export class RecordStore {
  readonly #storage: DurableObjectStorage;
  readonly #lifeTimes: LifeTimes;
  #task: Task | undefined;
  /** Of the stored record. */
  #progress = 0;
  /** When the platform will wake the object; undefined when that is not known. */
  #alarmAt: number | undefined;
  /** Called when a final record has been written. */
  onFinal: (() => void) | undefined;

  constructor(storage: DurableObjectStorage, lifeTimes: LifeTimes) {
    this.#storage = storage;
    this.#lifeTimes = lifeTimes;
    const stored = storage.kv.get<Task>("task");
    if (!stored) return;
    this.#task = reloaded(stored, lifeTimes, Date.now());
    this.#progress = stored.progress;
  }

  get task(): Task | undefined {
    return this.#task;
  }

  /** Writes the record, and the alarm when the one that is set would come too late. What is written without an `await` in between is one transaction. */
  commit<T extends Task>(task: T): T {
    const written = { ...task, writes: (this.#task?.writes ?? 0) + 1 };
    this.#storage.kv.put("task", written);
    this.#progress = written.progress;
    this.keep(written);
    if (isFinal(written)) this.onFinal?.();
    return written;
  }

  /** Takes a state that may be lost with the object's memory, because the stored one leads to it again: only an alarm is written. */
  keep<T extends Task>(task: T): T {
    const at = Math.max(wakeAt(task), Date.now() + 1);
    const isSettling = task.step.do === "settle" && task.faults === 0 && at >= task.step.at;
    const latest = isSettling ? at + settleSlackMs : at;
    // An alarm that comes before a poll would only be set again.
    const earliest = task.step.do === "poll" ? at : Date.now() + 1;
    if (this.#alarmAt === undefined || this.#alarmAt > latest || this.#alarmAt < earliest) this.#setAlarm(at);
    this.#task = task;
    return task;
  }

  /** The same for a state after which nothing is due for long: the alarm is moved there, so that the object does not wake before. */
  sleep<T extends Task>(task: T): T {
    this.#alarmAt = undefined;
    return this.keep(task);
  }

  /** Keeps a poll's answer, and writes it when progress has risen by a quarter. */
  keepPolled<T extends Task>(task: T): T {
    return task.progress >= this.#progress + 25 ? this.commit(task) : this.keep(task);
  }

  /** Makes sure that an alarm is set: after one has run, or when a reader finds the record overdue, because later states were not written. */
  async rearm(task: Task): Promise<void> {
    if (this.#alarmAt !== undefined && this.#alarmAt > Date.now()) return;
    const at = await this.#storage.getAlarm();
    if (this.#task !== task) return;
    if (at === null) return this.#setAlarm(Math.max(wakeAt(task), Date.now() + 1));
    this.#alarmAt = at;
    this.#task = reloadedAt(task, at, this.#lifeTimes);
  }

  /** The alarm has fired: none is set. */
  alarmFired(): void {
    this.#alarmAt = undefined;
  }

  /** Sets the alarm although the record is as it was: its last step threw. */
  async retryIn(ms: number): Promise<void> {
    await this.#storage.setAlarm(Date.now() + ms);
  }

  /** Removes the record and everything else in the storage. */
  async remove(): Promise<void> {
    this.#task = undefined;
    this.#alarmAt = undefined;
    await this.#storage.deleteAll();
  }

  #setAlarm(at: number): void {
    this.#alarmAt = at;
    void this.#storage.setAlarm(at);
  }
}
