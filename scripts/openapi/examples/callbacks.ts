/** Events that are posted to receivers, and the record of their delivery. */

import { ended, ids } from "./common.ts";
import { completedVideo, delivered, failedTask, undelivered } from "./tasks.ts";

const timestamp = new Date(ended * 1000).toISOString();
export const taskCompletedEvent = { type: "task.completed", timestamp, data: completedVideo };
export const taskFailedEvent = { type: "task.failed", timestamp, data: failedTask };
export const taskDeliveredEvent = { type: "task.delivered", timestamp, data: { ...completedVideo, delivery: delivered } };
export const taskDeliveryFailedEvent = { type: "task.delivery_failed", timestamp, data: { ...completedVideo, delivery: undelivered } };
export const budgetReachedEvent = {
  type: "budget.reached",
  timestamp,
  data: {
    object: "budget",
    key: { id: ids.key, name: "batch" },
    percent: 80,
    amount: 5,
    window: "day",
    spent: 4.02,
    ends_at: 1795392000,
  },
};
export const testEvent = { type: "test", timestamp, data: {} };
const attempts = [
  { at: ended, ms: 10_000, fault: "timeout" },
  { at: ended + 15, ms: 84, status: 204 },
];
export const callback = {
  object: "task.callback",
  task: ids.image,
  event: ids.event,
  url: "https://shop.example/hooks/videos",
  state: "delivered",
  attempts,
};
export const event = { id: ids.event, type: "task.completed", at: ended, task: ids.image };
