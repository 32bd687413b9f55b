/** A task's record in its object's storage, and the single alarm that wakes the object for it. */

import { isFinal, type Task } from "../record.ts";
import { type LifeTimes, reloaded, reloadedAt } from "../transitions/reloaded.ts";
import { wakeAt } from "../transitions/task.ts";

/** A settlement's retry keeps an alarm that is already set, if it is at most this much later than the retry. Usually the settlement succeeds and moves the alarm anyway, so this saves a write. */
const settleSlackMs = 90_000;
/** The times between two attempts of a step that throws. */
const [minRetryMs, maxRetryMs] = [5_000, 600_000];

/** One poll runs at a time, and polls that callbacks cause keep a distance, however many callbacks arrive. Only in memory: without it the schedule in the record applies. */
interface Polls {
  running: Promise<void> | undefined;
  /** The provider has called back since the last poll began. */
  isCalled: boolean;
  /** The earliest time of the next poll that a callback causes. */
  notBefore: number;
  /** How many polls callbacks have caused: the distance between them doubles. */
  called: number;
}

/** The task as its object knows it: the stored record, and what is running for it. */
export class RecordStore {
  readonly #storage: DurableObjectStorage;
  readonly #lifeTimes: LifeTimes;
  #task: Task | undefined;
  /** The progress in the stored record. */
  #progress = 0;
  /** The time of the set alarm; undefined if it is not known. */
  #alarmAt: number | undefined;
  /** Called when a final record has been written. */
  onFinal: (() => void) | undefined;
  /** The settlement that is running. */
  settling: Promise<void> | undefined;
  /** True if nothing was written since the record was read from the storage: what was not written may have been done before. */
  isReloaded = false;
  readonly polls: Polls = { running: undefined, isCalled: false, notBefore: 0, called: 0 };

  constructor(storage: DurableObjectStorage, lifeTimes: LifeTimes) {
    this.#storage = storage;
    this.#lifeTimes = lifeTimes;
    const stored = storage.kv.get<Task>("task");
    if (!stored) return;
    this.#task = reloaded(stored, lifeTimes, Date.now());
    this.#progress = stored.progress;
    this.isReloaded = true;
  }

  get task(): Task | undefined {
    return this.#task;
  }

  /** Writes the record, and sets the alarm if the current one would be too late. Writes without an `await` between them are one transaction. */
  commit<T extends Task>(task: T): T {
    const before = this.#task;
    // The consumer of a collection that was leased before a restart may have left files.
    const mayHaveFiles = this.isReloaded && before !== undefined && !isFinal(before) && before.operation !== undefined;
    const written = { ...task, isTidy: task.isTidy && !mayHaveFiles, writes: (before?.writes ?? 0) + 1 };
    this.#storage.kv.put("task", written);
    this.#progress = written.progress;
    this.isReloaded = false;
    this.keep(written);
    if (isFinal(written)) this.onFinal?.();
    return written;
  }

  /**
   * Keeps a state in memory only: if the object's memory is lost, the stored record leads to the same state again. Writes nothing but the
   * alarm.
   */
  keep<T extends Task>(task: T): T {
    const at = Math.max(wakeAt(task), Date.now() + 1);
    const isSettling = task.step.do === "settle" && task.faults === 0 && at >= task.step.at;
    const latest = isSettling ? at + settleSlackMs : at;
    // An alarm before the next poll would do nothing but set the alarm again.
    const earliest = task.step.do === "poll" ? at : Date.now() + 1;
    if (this.#alarmAt === undefined || this.#alarmAt > latest || this.#alarmAt < earliest) this.#setAlarm(at);
    this.#task = task;
    return task;
  }

  /** Keeps the state of a submission that is not accepted yet: nothing is stored, and no alarm is set. */
  begin<T extends Task>(task: T): T {
    this.#task = task;
    return task;
  }

  /** Like `keep`, for a state with nothing due for a long time: moves the alarm there, so that the object does not wake earlier. */
  sleep<T extends Task>(task: T): T {
    this.#alarmAt = undefined;
    return this.keep(task);
  }

  /** Keeps a poll's answer in memory, and writes it once progress has risen by 25 percentage points since the last write. */
  keepPolled<T extends Task>(task: T): T {
    return task.progress >= this.#progress + 25 ? this.commit(task) : this.keep(task);
  }

  /** Ensures that an alarm is set: after an alarm has run, or if a reader finds the record overdue because later states were not written. */
  async rearm(task: Task): Promise<void> {
    if (this.#alarmAt !== undefined && this.#alarmAt > Date.now()) return;
    const at = await this.#storage.getAlarm();
    if (this.#task !== task) return;
    if (at === null) return this.#setAlarm(Math.max(wakeAt(task), Date.now() + 1));
    this.#alarmAt = at;
    this.#task = reloadedAt(task, at, this.#lifeTimes);
  }

  /** The alarm has fired, so none is set. */
  alarmFired(): void {
    this.#alarmAt = undefined;
  }

  /** Sets the alarm without changing the record, because this task's step threw: after five seconds, later after a tenth of the time for which it has failed. */
  async retryLater({ writes, step }: Task): Promise<void> {
    const now = Date.now();
    const of = `${step.do} ${writes}`;
    const known = this.#storage.kv.get<{ of: string; since: number }>("failing");
    const since = known?.of === of ? known.since : now;
    if (since === now) this.#storage.kv.put("failing", { of, since });
    await this.#storage.setAlarm(now + Math.max(minRetryMs, Math.min((now - since) / 10, maxRetryMs)));
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
