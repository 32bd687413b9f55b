/** Sends a task's messages to the queues. If a queue refuses one, the task's alarm continues soon. */

import { alert } from "../log.ts";
import { answersWhenDone } from "../providers/index.ts";
import { currentRoute, type FinalTask, type OpenTask } from "./record.ts";
import type { RecordStore } from "./record-store.ts";
import { logFields } from "./settle.ts";
import * as transitions from "./task.ts";
import { messageVersion, type Versioned } from "../versions.ts";

/** A message that a task has waiting work or a waiting callback. */
export interface TaskMessage extends Versioned {
  taskId: string;
}

const toMessage = ({ id }: OpenTask | FinalTask): TaskMessage => ({ v: messageVersion, taskId: id });

/** Sends the message that a start or collection is waiting. */
export async function sendDispatch(task: OpenTask, record: RecordStore, env: Env): Promise<void> {
  const { kind, inputs, source } = task.submission;
  // A start also waits for the hosts of the caller's URLs, for up to half a minute.
  const readsUrls = [source, ...inputs].some((input) => input?.url !== undefined);
  const isSlow = task.step.do === "start" && (readsUrls || answersWhenDone(env, currentRoute(task), kind));
  try {
    await (isSlow ? env.STARTS : env.DISPATCH).send(toMessage(task));
  } catch (error) {
    alert("dispatch", { ...logFields(task), outcome: "not_sent" }, error);
    if (record.task === task) record.commit(transitions.notSent(task, Date.now()));
  }
}

/** Sends the message that a callback is waiting. If the queue refuses it, the object's alarm makes the call. */
export async function sendCallback(task: FinalTask, env: Env): Promise<void> {
  try {
    await env.NOTIFY.send(toMessage(task));
  } catch (error) {
    alert("callback", { ...logFields(task), outcome: "not_sent" }, error);
  }
}
