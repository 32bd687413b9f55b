/** The event of a task's end: its id, its type, and the body of its callback. */

import type { FinalTask } from "./record.ts";
import { signLinks, taskData } from "./views.ts";

/** A task has one event. Its id is used in `/v1/events` and as the `webhook-id` of every attempt of its callback. */
export const toEventId = (taskId: string) => taskId.replace(/^task_/, "evt_");

/** The task id in an event id; undefined if the text is not an event id. */
export const eventTaskId = (eventId: string) => (eventId.startsWith("evt_") ? eventId.replace(/^evt_/, "task_") : undefined);

export const eventType = (outcome: string) => (outcome === "completed" ? "task.completed" : "task.failed");

/** The body of a final task's callback as text, because exactly these bytes are signed. `base` is the base URL of assets. */
export async function writeEvent(task: FinalTask, base: string, secret: () => string): Promise<string> {
  const links = await signLinks(task, base, secret);
  return JSON.stringify({
    type: eventType(task.status),
    timestamp: new Date(task.finalAt).toISOString(),
    data: taskData(task, links, task.submission.language ?? "en", task.finalAt),
  });
}
