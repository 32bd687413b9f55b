/** Accepts a submission: the record first, then the money. A submission that is refused leaves nothing behind. */

import { alert } from "../log.ts";
import { sendDispatch } from "./messages.ts";
import { isFinal, type OpenTask, type Submission, type Task } from "./record.ts";
import type { RecordStore } from "./record-store.ts";
import { logFields, removeInputs, reservePrice, returnPrice } from "./settle.ts";
import * as transitions from "./task.ts";

/** The new task, or why there is none. `conflict`: its owner has deleted it. */
export type CreateAnswer =
  | { task: Task; created: boolean }
  /** `until` is the end of the budget's window, milliseconds. */
  | { refused: "insufficient" | "too_many" | "budget" | "token" | "unavailable" | "conflict"; until?: number };

/** Writes the record, holds the price, and sends the message. */
export async function createTask(id: string, submission: Submission, record: RecordStore, env: Env): Promise<CreateAnswer> {
  const known = record.task;
  const task = record.commit(known && !isFinal(known) ? known : transitions.newTask(id, submission, Date.now()));
  try {
    const given = await reservePrice(task, env);
    if (record.task !== task) return { refused: "unavailable" }; // its alarm gave it up in the meantime
    if (given.answer !== "reserved") {
      await forget(task, record, env);
      if (given.answer === "budget") return { refused: given.answer, until: given.until };
      return { refused: given.answer === "closed" ? "unavailable" : given.answer };
    }
  } catch (error) {
    alert("reserve", { ...logFields(task), outcome: "unavailable" }, error);
    // The ledger may hold the price or not. The caller's answer is that there is no task, so none may stay.
    if (record.task === task) await abandon(task, record, env);
    return { refused: "unavailable" };
  }
  const accepted = record.commit(transitions.reserved(task));
  await sendDispatch(accepted, record, env);
  return { task: accepted, created: true };
}

/** Ends a task that no caller knows of: returns what the ledger may hold, then leaves nothing. */
export async function abandon(given: OpenTask, record: RecordStore, env: Env): Promise<void> {
  // A new value, so that a reservation that answers later finds its task given up.
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
