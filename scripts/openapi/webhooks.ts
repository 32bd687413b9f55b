/** The requests that the gateway sends: webhooks when a task has ended, budget alerts. Their tag is their own: generators write one file for each. */

import {
  budgetReachedEvent,
  taskCompletedEvent,
  taskDeliveredEvent,
  taskDeliveryFailedEvent,
  taskFailedEvent,
  testEvent,
} from "../../src/api/schema/callbacks.ts";
import type { taskEvents } from "../../src/base/words.ts";
import { batchCompletedEvent } from "../../src/api/schema/batches.ts";
import { endedBatch } from "./operations/batches.ts";
import type { ZodMiniType } from "zod/mini";
import * as example from "./examples/index.ts";
import { reference } from "./schemas.ts";

const signed = [
  { name: "webhook-id", description: "The same for each attempt: ignore an id that you have processed.", example: example.ids.event },
  { name: "webhook-timestamp", description: "Unix seconds of the attempt.", example: "1795305614" },
  {
    name: "webhook-signature",
    description: "One or more signatures by the account's secret (Standard Webhooks, `v1`), separated by spaces.",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  },
].map((header) => ({ ...header, in: "header", required: true, schema: { type: "string" } }));

const toTask = "Sent to the task's `callback_url`, else to the account's endpoint.";
const toAccount = "Sent to the account's endpoint.";

const event = (operationId: string, summary: string, schema: ZodMiniType, value: object, where = toTask) => ({
  post: {
    operationId,
    tags: ["events"],
    summary,
    description: `${where} Without a 2xx within 10 seconds it is sent again after 5 seconds, 30 seconds, 2 minutes, 10 minutes, 1 hour and 6 hours.`,
    security: [],
    parameters: signed,
    requestBody: { required: true, content: { "application/json": { schema: reference(schema), examples: { event: { value } } } } },
    responses: {
      "2XX": { description: "Received." },
      "410": { description: "Not sent again for this event." },
      default: { description: "Sent again later." },
    },
  },
});

/** `webhooks` of the description. */
export const webhooks = (): Record<(typeof taskEvents)[number] | "batch.completed" | "budget.reached" | "test", object> => ({
  "task.completed": event("onTaskCompleted", "A task has completed", taskCompletedEvent, example.taskCompletedEvent),
  "task.failed": event("onTaskFailed", "A task has failed", taskFailedEvent, example.taskFailedEvent),
  "task.delivered": event("onTaskDelivered", "The files of a task have been delivered", taskDeliveredEvent, example.taskDeliveredEvent),
  "task.delivery_failed": event(
    "onTaskDeliveryFailed",
    "The files of a task could not be delivered",
    taskDeliveryFailedEvent,
    example.taskDeliveryFailedEvent,
  ),
  "batch.completed": event(
    "onBatchCompleted",
    "A batch has ended, whatever its status",
    batchCompletedEvent,
    { type: "batch.completed", timestamp: "2026-11-01T00:06:00.000Z", data: endedBatch },
    "Sent to the batch's `callback_url`, else to the account's endpoint.",
  ),
  "budget.reached": event(
    "onBudgetReached",
    "80 or 100 % of a budget is reached, once in each window",
    budgetReachedEvent,
    example.budgetReachedEvent,
    toAccount,
  ),
  test: event("onTestEvent", "A test event that the account asked for", testEvent, example.testEvent),
});
