/** Callbacks: the account's endpoint and secret, a task's attempts, and the list of ended tasks. */

import { eventList, taskCallback, webhook, webhookSecret, webhookTest } from "../../../src/api/schema/callbacks.ts";
import { webhookChange } from "../../../src/api/schema/bodies.ts";
import { eventsQuery } from "../../../src/api/schema/queries.ts";
import { answer, tagged } from "../definition.ts";
import { recordLife } from "../../support/time-words.ts";
import * as example from "../examples/index.ts";

const endpoint = { url: "https://shop.example/hooks/videos" };
const secret = answer("The secret; never cached.", webhookSecret, { secret: { secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" } }, [
  "cache-control" as const,
]);
const endpointAnswer = answer("The endpoint.", webhook, { set: endpoint, none: { url: null } });

export const callbacks = tagged("webhooks", {
  "GET /v1/webhook": { id: "getWebhook", summary: "Show the account's endpoint", answers: { 200: endpointAnswer } },
  "PUT /v1/webhook": {
    id: "setWebhook",
    summary: "Set or remove the account's endpoint",
    description: "Gets the webhook of each task without a `callback_url`. `null` removes it.",
    body: { schema: webhookChange(), examples: { set: endpoint, remove: { url: null } } },
    answers: { 200: endpointAnswer },
    violation: { param: "url", rule: "bad_callback_url" },
  },
  "POST /v1/webhook/test": {
    id: "testWebhook",
    summary: "Send a test event",
    description: "Sends one signed event of the type `test` to the account's endpoint and returns the outcome.",
    body: "none",
    answers: {
      200: answer("The receiver's HTTP status, or why there is none.", webhookTest, {
        delivered: { object: "webhook.test", ...endpoint, delivered: true, at: 1_795_305_614, status: 204, ms: 84 },
        unreachable: { object: "webhook.test", ...endpoint, delivered: false, at: 1_795_305_614, ms: 10_000, fault: "timeout" },
      }),
    },
    errors: ["webhook_not_found"],
  },
  "GET /v1/webhook_secret": {
    id: "getWebhookSecret",
    summary: "Show the secret that signs webhooks",
    answers: { 200: secret },
  },
  "POST /v1/webhook_secret": {
    id: "rotateWebhookSecret",
    summary: "Rotate the secret that signs webhooks",
    description: "For 24 hours the previous secret signs too.",
    headers: ["Idempotency-Key"],
    body: "none",
    answers: { 200: secret },
    errors: ["invalid_request"],
    violation: { param: "Idempotency-Key", rule: "bad_idempotency_key" },
  },
  "GET /v1/tasks/{task_id}/callback": {
    id: "getTaskCallback",
    summary: "Show a task's webhook",
    answers: { 200: answer("Its state and attempts.", taskCallback, { delivered: example.callback }) },
    errors: ["task_not_found"],
  },
  "POST /v1/tasks/{task_id}/callback": {
    id: "repeatTaskCallback",
    summary: "Send a task's webhook again",
    description: "Sends it at once; does not wait for the receiver's answer.",
    body: "none",
    answers: {
      200: answer("Its state and attempts so far.", taskCallback, { pending: { ...example.callback, state: "pending" } }),
    },
    errors: ["task_not_found", "task_not_final", "webhook_not_found"],
  },
  "GET /v1/events": {
    id: "listEvents",
    summary: "List ended tasks",
    description:
      `Tasks of the last ${recordLife} in the order in which they ended, oldest first. ` +
      "Continue after the last `id` to miss none. `wait` holds an empty answer.",
    query: eventsQuery(),
    answers: { 200: answer("A page of events.", eventList, { events: example.page(example.event) }) },
    errors: ["too_many_waits"],
  },
});
