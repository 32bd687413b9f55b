/** A task's record as it is read from storage, which was not written at each of its states. Pure. */

import { erased, settled } from "./after-end.ts";
import { type FinalTask, isFinal, type Task } from "./record.ts";

/** Of assets, and of final records, in milliseconds. */
export interface LifeTimes {
  assetMs: number;
  recordMs: number;
}

/** Progress is written when it has risen by a quarter: what callers were shown was less than that above what is stored. */
const unwrittenProgress = 24;

/** A settlement that does not come through is written with its faults. Another one is not written when it has come through, but the alarm is moved. */
const mayBeSettled = (task: Task): task is FinalTask => isFinal(task) && task.step.do === "settle" && task.faults === 0;

const expiry = (task: FinalTask, assetMs: number) => task.expiresAt ?? task.finalAt + assetMs;

/** The state to go on from: nothing that callers saw goes back. Before the files expire, only the alarm tells whether a task is settled. */
export function reloaded(task: Task, { assetMs, recordMs }: LifeTimes, now: number): Task {
  // Polls after the one that the record waits for were not written.
  if (task.step.do === "poll" && !isFinal(task) && task.reportsProgress && now > task.step.at + 1_000)
    return { ...task, progress: Math.min(99, task.progress + unwrittenProgress) };
  if (!mayBeSettled(task) || now < expiry(task, assetMs)) return task;
  return now < task.finalAt + recordMs ? settled(task, assetMs, recordMs) : erased(task, recordMs);
}

/** The same when it is known where the alarm stands: it is moved past the expiry when the settlement has come through. */
export const reloadedAt = (task: Task, alarmAt: number, { assetMs, recordMs }: LifeTimes): Task =>
  mayBeSettled(task) && alarmAt >= expiry(task, assetMs) ? settled(task, assetMs, recordMs) : task;
