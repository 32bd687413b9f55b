/** Sends a task's messages to the queues. If a queue refuses one, the task's alarm continues soon. */

import type { TaskMessage } from "../work.ts";
import { logFields } from "../log-fields.ts";
import { alert } from "../../base/log.ts";
import { answersWhenDone } from "../../providers/index.ts";
import { currentRoute, type FinalTask, type OpenTask } from "../record.ts";
import type { RecordStore } from "./record-store.ts";
import * as transitions from "../transitions/task.ts";
import { messageVersion } from "../../base/versions.ts";

const toMessage = ({ id }: OpenTask | FinalTask, readsUrlsOf?: string): TaskMessage => ({
  v: messageVersion,
  taskId: id,
  ...(readsUrlsOf !== undefined && { readsUrlsOf }),
});

/** Sends the message that a start or collection is waiting. */
export async function sendDispatch(task: OpenTask, record: RecordStore, env: Env): Promise<void> {
  const { kind, inputs, source, accountId } = task.submission;
  // A start also waits for the hosts of the caller's URLs, for up to half a minute.
  const isStart = task.step.do === "start";
  const readsUrls = isStart && [source, ...inputs].some((input) => input?.url !== undefined);
  const isSlow = readsUrls || (isStart && answersWhenDone(env, currentRoute(task), kind));
  try {
    await (isSlow ? env.STARTS : env.DISPATCH).send(toMessage(task, readsUrls ? accountId : undefined));
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
