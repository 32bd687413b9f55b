/** Waits for a task and reports its progress meanwhile. */

import { isFinal, type TaskData } from "../client.ts";
import type { Context } from "./context.ts";

/** The maximum wait of one tool call: clients of the official SDKs give up after 60 seconds. */
export const maxWaitSeconds = 50;
/** The interval of progress notifications, if the client requested them. */
const reportSeconds = 3;

/** The task when it is final, or its state after `seconds`. Throws `ApiRefusal` if the task does not exist. */
export async function waitFor(taskId: string, seconds: number, { client, report, isCancelled }: Context): Promise<TaskData> {
  const until = Date.now() + seconds * 1000;
  let last = -1;
  for (;;) {
    const left = Math.ceil((until - Date.now()) / 1000);
    const wait = Math.min(left, report ? reportSeconds : maxWaitSeconds);
    const data = await client.readTask(taskId, report && last === -1 ? 0 : wait);
    if (isFinal(data) || left <= 0 || isCancelled()) return data;
    // The protocol requires each reported progress to be higher than the one before.
    if (report && data.progress > last) await report(data.progress, `${data.metadata.kind}: ${data.status}, ${data.progress} %`);
    last = Math.max(last, data.progress);
  }
}
