/** The event of a task's end: its id, its type, and the message that a callback carries. */

import type { FinalTask } from "./record.ts";
import { signLinks, taskData } from "./views.ts";

/** A task has one event. Its id names the event in `/v1/events` and is the `webhook-id` of every attempt of its callback. */
export const toEventId = (taskId: string) => taskId.replace(/^task_/, "evt_");

/** The id of the task whose event this is; undefined when the text is no event's id. */
export const eventTaskId = (eventId: string) => (eventId.startsWith("evt_") ? eventId.replace(/^evt_/, "task_") : undefined);

export const eventType = (outcome: string) => (outcome === "completed" ? "task.completed" : "task.failed");

/** The body of a final task's callback, as text: it is signed as it is sent. `base` is where the URLs of assets begin. */
export async function writeEvent(task: FinalTask, base: string, secret: () => string): Promise<string> {
  const links = await signLinks(task, base, secret);
  return JSON.stringify({
    type: eventType(task.status),
    timestamp: new Date(task.finalAt).toISOString(),
    data: taskData(task, links, task.submission.language ?? "en", task.finalAt),
  });
}
