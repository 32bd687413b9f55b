/** The state of an open task for the operator: by the ledger only, or with its record. Pure. */

import { deadlineSeconds, type Kind } from "../../catalog/models.ts";
import type { OpenTask } from "../../db/ledger-reports.ts";
import { isFinal, type Task } from "../../tasks/record.ts";
import { wakeAt } from "../../tasks/transitions/task.ts";

/** A task object may be late by this much without a fault. */
const graceMs = 5_000;
/** A submission with an unconfirmed reservation has a record that callers do not see yet. */
const newMs = 60_000;

/** `gone`: no record. `late`: past its deadline and not final. `overdue`: its next step should have happened. `closing`: final, being settled. */
export type State = "gone" | "late" | "overdue" | "closing" | "running";

/** True if the ledger's row is older than the task's deadline. */
export const isLate = ({ kind, at }: Pick<OpenTask, "kind" | "at">, now: number) =>
  now > at + 1000 * deadlineSeconds[kind as Kind] + graceMs;

/** The state of a task that has been open since `at`. */
export function toState(task: Task | null, at: number, now: number): State {
  if (!task) return now - at < newMs ? "running" : "gone";
  if (!isFinal(task) && now > task.deadline + graceMs) return "late";
  if (now > wakeAt(task) + graceMs) return "overdue";
  return isFinal(task) ? "closing" : "running";
}

export const isStuck = (state: State) => state === "gone" || state === "late" || state === "overdue";
