/**
 * The transitions of a final task: its settlement, the deletion of its files and the deletion of its record. Pure, like those in `task.ts`.
 */

import type { FinalTask } from "../record.ts";
import { backoff, claimMs } from "./task.ts";

export const settleFailed = (task: FinalTask, now: number): FinalTask => ({
  ...task,
  faults: task.faults + 1,
  step: { do: "settle", at: now + backoff(task.faults, 1_000, 60_000) },
});

/** The task is settled. The next steps are the expiry of its assets and the deletion of its record. */
export function settled(task: FinalTask, assetMs: number, recordMs: number): FinalTask {
  const forget: FinalTask["step"] = { do: "forget", at: task.finalAt + recordMs };
  if (!task.mayHaveAssets) return { ...task, step: forget };
  return { ...task, step: { do: "erase", at: task.expiresAt ?? task.finalAt + assetMs } };
}

/**
 * Deletes the task for its owner after the settlement: removes the files, the parameters, the inputs and the result. The rest of the record
 * stays until no start can report an acceptance any more and its idempotency key has expired.
 */
export function deleted(given: FinalTask, now: number): FinalTask {
  const { callback: _callback, delivery: _delivery, deliveryCallback: _deliveryCallback, endedBy: _endedBy, ...task } = given;
  const { source: _source, reference: _reference, callbackUrl: _callbackUrl, deliverTo: _deliverTo, ...submission } = task.submission;
  const rest = {
    submission: { ...submission, parameters: {}, inputs: [], characters: [] },
    isDeleted: true,
    step: { do: "erase" as const, at: now },
  };
  return task.status === "completed" ? { ...task, ...rest, result: { kind: "images" as const, images: [] } } : { ...task, ...rest };
}

export const erased = (task: FinalTask, recordMs: number): FinalTask => ({
  ...task,
  // At least a minute after its deletion, so that a repeated call finds it deleted.
  step: { do: "forget", at: task.isDeleted ? Math.max(task.createdAt + claimMs, task.step.at) + 60_000 : task.finalAt + recordMs },
});
