/** Corrects a task's record after it was read from storage, because not every state is written. Pure. */

import { erased, settled } from "./after-end.ts";
import { awaitsDelivery } from "./delivery.ts";
import { type FinalTask, isFinal, type Task } from "../record.ts";

/** How long assets and final records are kept, in milliseconds. */
export interface LifeTimes {
  assetMs: number;
  recordMs: number;
}

/** Progress is written when it has risen by 25 percentage points, so callers may have seen up to 24 more than the stored value. */
const unwrittenProgress = 24;

/**
 * True for a final task that may have been settled although its record does not say so. A failed settlement is written with its fault count;
 * one that succeeds at once is not written, only its alarm is moved. With a delivery it is written, because the delivery begins with it.
 */
const mayBeSettled = (task: Task): task is FinalTask =>
  isFinal(task) && task.step.do === "settle" && task.faults === 0 && !awaitsDelivery(task);

const expiry = (task: FinalTask, assetMs: number) => task.expiresAt ?? task.finalAt + assetMs;

/**
 * The state to continue from: nothing that callers have seen is undone. Before the files expire, only the time of the alarm shows whether
 * the task is settled.
 */
export function reloaded(task: Task, { assetMs, recordMs }: LifeTimes, now: number): Task {
  // Polls after the one in the record were not written.
  if (task.step.do === "poll" && !isFinal(task) && task.reportsProgress && now > task.step.at + 1_000)
    return { ...task, progress: Math.min(99, task.progress + unwrittenProgress) };
  if (!mayBeSettled(task) || now < expiry(task, assetMs)) return task;
  return now < task.finalAt + recordMs ? settled(task, assetMs, recordMs) : erased(task, recordMs);
}

/** The same with the time of the set alarm: an alarm after the expiry means that the settlement has succeeded. */
export const reloadedAt = (task: Task, alarmAt: number, { assetMs, recordMs }: LifeTimes): Task =>
  mayBeSettled(task) && alarmAt >= expiry(task, assetMs) ? settled(task, assetMs, recordMs) : task;
