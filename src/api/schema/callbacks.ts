/** Schemas of callbacks, of the answers about them, and of the list of events. */

import * as z from "zod/mini";
import { callbackFaults, taskEvents } from "../../base/words.ts";
import { amount, count, listAnswer, taskId, time } from "./shared.ts";
import { taskData } from "./tasks.ts";

const eventId = z.string().check(z.regex(/^evt_[A-Za-z0-9_-]{1,68}$/));
const happenedAt = z.iso.datetime().check(z.describe("ISO 8601: when the task became final, or its delivery ended."));

/** The body of a callback. */
export const taskEvent = z.strictObject({ type: z.enum(taskEvents), timestamp: happenedAt, data: taskData });
export const taskCompletedEvent = z.extend(taskEvent, { type: z.literal("task.completed") });
export const taskFailedEvent = z.extend(taskEvent, { type: z.literal("task.failed") });
export const taskDeliveredEvent = z.extend(taskEvent, { type: z.literal("task.delivered") });
export const taskDeliveryFailedEvent = z.extend(taskEvent, { type: z.literal("task.delivery_failed") });
/** The body of a budget alert: of the account's budget, or of a key's. */
export const budgetReachedEvent = z.strictObject({
  type: z.literal("budget.reached"),
  timestamp: z.iso.datetime().check(z.describe("ISO 8601: when it was reached.")),
  data: z.strictObject({
    object: z.literal("budget"),
    key: z.nullable(z.strictObject({ id: z.string(), name: z.string() })).check(z.describe("null: the budget of the whole account.")),
    percent: z
      .literal([80, 100])
      .check(z.describe("100 also when a request is refused for the first time in the window because too little is left.")),
    amount,
    window: z.enum(["day", "month"]).check(z.describe("In UTC.")),
    spent: amount.check(z.describe("Charged and reserved in the window.")),
    ends_at: time.check(z.describe("When the window ends.")),
  }),
});
export const testEvent = z.strictObject({ type: z.literal("test"), timestamp: z.iso.datetime(), data: z.strictObject({}) });

/** One call of a receiver: its HTTP status, or the fault if there was no response. */
const attemptFields = {
  at: time,
  ms: count.check(z.describe("Milliseconds from the call to the status or fault.")),
  status: z.optional(z.int().check(z.describe("HTTP status of the receiver."))),
  fault: z.optional(z.enum(callbackFaults).check(z.describe("Why there is no HTTP status."))),
};
const callbackFields = {
  event: eventId.check(z.describe("The `webhook-id` of every attempt.")),
  state: z
    .enum(["none", "pending", "delivered", "gone", "failed"])
    .check(z.describe("`gone` after the receiver answered 410, `failed` after the last attempt, `none` if no callback was sent.")),
  next_attempt_at: z.optional(time),
  attempts: z.array(z.strictObject(attemptFields)).check(z.describe("Oldest first.")),
};
/** The callback of a task: its URL, its state and its latest attempts. */
export const taskCallback = z.strictObject({
  object: z.literal("task.callback"),
  task: taskId,
  url: z.nullable(z.string()).check(z.describe("Where the next attempt would go; null if there is no URL.")),
  ...callbackFields,
  delivery: z.optional(z.strictObject(callbackFields).check(z.describe("The webhook about the end of the task's delivery."))),
});
export const webhook = z.strictObject({
  url: z.nullable(z.string()).check(z.describe("Gets the webhook of each task without a `callback_url`; null if not set.")),
});
export const webhookSecret = z.strictObject({
  secret: z.string().check(z.startsWith("whsec_"), z.describe("Signs every webhook of the account.")),
});
export const webhookTest = z.strictObject({ object: z.literal("webhook.test"), url: z.string(), delivered: z.boolean(), ...attemptFields });
/** A final task, or the end of a delivery. */
export const event = z.strictObject({ id: eventId, type: z.enum(taskEvents), at: time, task: taskId });
/** The account's final tasks and ended deliveries, oldest first. */
export const eventList = listAnswer(event);
