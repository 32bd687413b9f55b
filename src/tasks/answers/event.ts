/** The events of a task: its end, and the end of its delivery. Their ids, their types, and the bodies of their callbacks. */

import type { taskEvents } from "../../base/words.ts";
import { type DeliveryOutcome, isOfDelivery } from "../../db/delivery-events.ts";
import type { Delivery, FinalTask } from "../record.ts";
import { signLinks, taskData } from "./views.ts";

const ofDeliveries = "-delivery";

/** The id of a task's event, in `/v1/events` and as the `webhook-id` of every attempt of its callback. */
export const toEventId = (taskId: string, ofDelivery = false) => taskId.replace(/^task_/, "evt_") + (ofDelivery ? ofDeliveries : "");

/** The task in an event id, and whether the event is the end of its delivery; undefined if the text is not an event id. */
export function eventTaskId(eventId: string): { taskId: string; ofDelivery: boolean } | undefined {
  if (!eventId.startsWith("evt_")) return undefined;
  const ofDelivery = eventId.endsWith(ofDeliveries);
  const id = ofDelivery ? eventId.slice(0, -ofDeliveries.length) : eventId;
  return { taskId: id.replace(/^evt_/, "task_"), ofDelivery };
}

/** The type of an event by the outcome of the task or of its delivery. */
export const eventType = (outcome: string): (typeof taskEvents)[number] =>
  isOfDelivery(outcome) ? `task.${outcome}` : outcome === "completed" ? "task.completed" : "task.failed";

export const deliveryOutcome = ({ state }: Pick<Delivery, "state">): DeliveryOutcome => (state === "delivered" ? state : "delivery_failed");

/** The body of a callback of a final task as text, because exactly these bytes are signed. `base` is the base URL of assets. */
export async function writeEvent(task: FinalTask, ofDelivery: boolean, base: string, secret: () => string): Promise<string> {
  const links = await signLinks(task, base, secret);
  const delivery = ofDelivery ? task.delivery : undefined;
  return JSON.stringify({
    type: eventType(delivery ? deliveryOutcome(delivery) : task.status),
    timestamp: new Date(delivery?.endedAt ?? task.finalAt).toISOString(),
    data: taskData(task, links, task.submission.language, task.finalAt),
  });
}
