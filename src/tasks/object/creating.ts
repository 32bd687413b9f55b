/** The beginning of a task: its submission is accepted, refused, or given up. */

import { logFields } from "../log-fields.ts";
import { alert } from "../../base/log.ts";
import { isNewer, submissionVersion } from "../../base/versions.ts";
import { forget } from "./ending.ts";
import { sendDispatch } from "./messages.ts";
import { isFinal, type OpenTask, type Submission, type Task } from "../record.ts";
import type { RecordStore } from "./record-store.ts";
import { reservePrice, returnPrice } from "./wallet-calls.ts";
import * as transitions from "../transitions/task.ts";

/** The new task, or the reason for refusing it. `conflict`: the owner has deleted the task with this id. */
export type CreateAnswer =
  | { task: Task; created: boolean }
  /** `until` is the end of the budget's window in milliseconds. */
  | { refused: "insufficient" | "too_many" | "budget" | "token" | "unavailable" | "conflict"; until?: number };

/**
 * Accepts a submission: holds the price, writes the record, sends the message. A repeat returns the existing task; `created` is true if this
 * request, possibly in an earlier attempt, created it, and false if another request did.
 *
 * The hold comes before the record. This saves the writes of a record and an alarm for each task, and a refused submission stores nothing.
 * If everything crashes between the two, the wallet has a hold whose task has no record: it asks the tasks of old holds (`tellWallet`) and
 * releases those of tasks that are gone. What only the record leads to must not be lost in this way, so a submission with stored inputs or a
 * client token writes its record first; the alarm gives it up after ten seconds (`abandon`).
 */
export async function createTask(id: string, submission: Submission, record: RecordStore, env: Env): Promise<CreateAnswer> {
  const known = record.task;
  if (isNewer(submission, submissionVersion)) return { refused: "unavailable" };
  if (known?.isDeleted) return { refused: "conflict" };
  if (known && (isFinal(known) || known.step.do !== "reserve"))
    return { task: known, created: known.submission.requestId === submission.requestId };
  // It was given up and its caller got an error: a repeat must not create the task while its hold is being released.
  if (known && known.faults > 0) return { refused: "unavailable" };
  const begun = known ?? transitions.newTask(id, submission, Date.now());
  const task = record[mustBeFound(submission) ? "commit" : "begin"](begun);
  try {
    const given = await reservePrice(task, env);
    if (record.task !== task) return { refused: "unavailable" }; // the alarm has cancelled the submission in the meantime
    if (given.answer !== "reserved") {
      await forget(task, record, env);
      if (given.answer === "budget") return { refused: given.answer, until: given.until };
      return { refused: given.answer === "closed" ? "unavailable" : given.answer };
    }
  } catch (error) {
    alert("reserve", { ...logFields(task), outcome: "unavailable" }, error);
    // The outcome of the reservation is unknown. The caller gets an error, so no task may remain.
    if (record.task === task) await abandon(task, record, env);
    return { refused: "unavailable" };
  }
  const accepted = record.commit(transitions.reserved(task));
  await sendDispatch(accepted, record, env);
  return { task: accepted, created: true };
}

/** True if the submission has stored something that only the task's record can find again. */
const mustBeFound = ({ token, inputs, source }: Submission) =>
  token !== undefined || source?.asset !== undefined || inputs.some(({ key }) => key !== undefined);

/** Removes a task whose caller got an error: releases any reservation, then deletes the record. */
export async function abandon(given: OpenTask, record: RecordStore, env: Env): Promise<void> {
  // A new object, so that a reservation that answers later sees that the submission was given up.
  const task = record.commit(transitions.abandoned(given, Date.now()));
  try {
    await returnPrice(task, env);
  } catch (error) {
    alert("settle", { ...logFields(task), outcome: "retry" }, error);
    return;
  }
  if (record.task === task) await forget(task, record, env);
}
