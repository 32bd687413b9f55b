/** Accepts a submission: writes the record, then reserves the price. A refused submission leaves nothing stored. */

import { alert } from "../log.ts";
import { sendDispatch } from "./messages.ts";
import { isFinal, type OpenTask, type Submission, type Task } from "./record.ts";
import type { RecordStore } from "./record-store.ts";
import { logFields, removeInputs, reservePrice, returnPrice } from "./settle.ts";
import * as transitions from "./task.ts";

/** The new task, or the reason for refusing it. `conflict`: the owner has deleted the task with this id. */
export type CreateAnswer =
  | { task: Task; created: boolean }
  /** `until` is the end of the budget's window in milliseconds. */
  | { refused: "insufficient" | "too_many" | "budget" | "token" | "unavailable" | "conflict"; until?: number };

/**
 * True if the submission has stored something that only the task's record can find again: its inputs, or what it took from a browser token.
 * Others leave only the hold behind if everything crashes before the record is written, and the wallet object returns that.
 */
const mustBeWritten = ({ token, inputs, source }: Submission) =>
  token !== undefined || source?.asset !== undefined || inputs.some(({ key }) => key !== undefined);

/** Reserves the price, writes the record, and sends the dispatch message. */
export async function createTask(id: string, submission: Submission, record: RecordStore, env: Env): Promise<CreateAnswer> {
  const known = record.task;
  const begun = known && !isFinal(known) ? known : transitions.newTask(id, submission, Date.now());
  const task = record[mustBeWritten(submission) ? "commit" : "begin"](begun);
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

/** Removes the task and its inputs. */
export async function forget(task: Task, record: RecordStore, env: Env): Promise<void> {
  await removeInputs(task, env);
  await record.remove();
}
