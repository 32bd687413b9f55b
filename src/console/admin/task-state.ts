/** How an open task stands, in a word: by the ledger alone, or with its record. Pure. */

import { deadlineSeconds, type Kind } from "../../catalog/models.ts";
import type { OpenTask } from "../../db/ledger-reports.ts";
import { isFinal, type Task } from "../../tasks/record.ts";
import { wakeAt } from "../../tasks/task.ts";

/** What a task object may be late without anything being wrong. */
const graceMs = 5_000;
/** A submission whose reservation is not confirmed has a record that nobody is shown yet. */
const newMs = 60_000;

/** `gone`: no record. `late`: past its deadline and not ended. `overdue`: its next step should have happened. `closing`: ended, its books are open. */
export type State = "gone" | "late" | "overdue" | "closing" | "running";

/** Whether a task should have ended by what the ledger knows of it. */
export const isLate = ({ kind, at }: Pick<OpenTask, "kind" | "at">, now: number) =>
  now > at + 1000 * deadlineSeconds[kind as Kind] + graceMs;

/** The state of a task whose books are open since `at`. */
export function stateOf(task: Task | null, at: number, now: number): State {
  if (!task) return now - at < newMs ? "running" : "gone";
  if (!isFinal(task) && now > task.deadline + graceMs) return "late";
  if (now > wakeAt(task) + graceMs) return "overdue";
  return isFinal(task) ? "closing" : "running";
}

export const isStuck = (state: State) => state === "gone" || state === "late" || state === "overdue";
