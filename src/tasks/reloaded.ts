/** A task's record as it is read from storage, which was not written at each of its states. Pure. */

import { erased, settled } from "./outcomes.ts";
import { isFinal, type Task } from "./record.ts";

/** Progress is written when it has risen by a quarter: what callers were shown was less than that above what is stored. */
const unwrittenProgress = 24;
/** A settlement that does not come through is written with its faults; another one has been made by then, or its alarm is very late. */
const settlementMs = 600_000;

/** The state to go on from: nothing that callers saw goes back. */
export function reloaded(task: Task, { assetMs, recordMs }: { assetMs: number; recordMs: number }, now: number): Task {
  // Polls after the one that the record waits for were not written.
  if (task.step.do === "poll" && !isFinal(task) && task.reportsProgress && now > task.step.at + 1_000)
    return { ...task, progress: Math.min(99, task.progress + unwrittenProgress) };
  if (!isFinal(task) || task.step.do !== "settle" || task.faults > 0 || now < task.step.at + settlementMs) return task;
  return now < task.finalAt + recordMs ? settled(task, assetMs, recordMs) : erased(task, recordMs);
}
