/** A task's record in its object's storage, and the one alarm that wakes the object for it. */

import { isFinal, type Task } from "./record.ts";
import { wakeAt } from "./task.ts";

export class RecordStore {
  readonly #storage: DurableObjectStorage;
  #task: Task | undefined;
  /** When the platform will wake the object; undefined when that is not known. */
  #alarmAt: number | undefined;
  /** Called when a final record has been written. */
  onFinal: (() => void) | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#task = storage.kv.get<Task>("task");
  }

  get task(): Task | undefined {
    return this.#task;
  }

  /** Writes the record, and the alarm when the one that is set would come too late. What is written without an `await` in between is one transaction. */
  commit<T extends Task>(task: T): T {
    this.#storage.kv.put("task", task);
    const at = Math.max(wakeAt(task), Date.now() + 1);
    if (this.#alarmAt === undefined || this.#alarmAt > at || this.#alarmAt <= Date.now()) {
      void this.#storage.setAlarm(at);
      this.#alarmAt = at;
    }
    this.#task = task;
    if (isFinal(task)) this.onFinal?.();
    return task;
  }

  /** Makes sure that an alarm is set: after one has run, or when a reader finds the record overdue. */
  async rearm(task: Task): Promise<void> {
    if ((await this.#storage.getAlarm()) === null && this.#task === task) {
      const at = Math.max(wakeAt(task), Date.now() + 1);
      await this.#storage.setAlarm(at);
      this.#alarmAt = at;
    }
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
}
