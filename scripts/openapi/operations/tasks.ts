/** Following, listing and cancelling tasks. */

import { characterStatus, taskAnswer, taskData, taskList, videoStatus } from "../../../src/api/schema/tasks.ts";
import { statusQuery, tasksQuery } from "../../../src/api/schema/queries.ts";
import { answer, type Examples, notModified, tagged, type Untagged } from "../definition.ts";
import type { ZodMiniType } from "zod/mini";
import * as example from "../examples/index.ts";
import { recordLife } from "../../support/time-words.ts";

/** The three status queries differ only in their view. */
const status = (id: string, summary: string, description: string, schema: ZodMiniType, examples: Examples): Untagged => ({
  id,
  summary,
  description,
  security: "token",
  query: statusQuery(),
  headers: ["If-None-Match"],
  answers: {
    200: answer("The state of the task, with `Retry-After` until it is final.", schema, examples, ["etag", "cache-control", "retry-after"]),
    304: notModified("retry-after"),
  },
  errors: ["task_not_found", "too_many_waits"],
  violation: { param: "wait", rule: "out_of_range", values: { minimum: 1, maximum: 60 }, allowed: { minimum: 1, maximum: 60 } },
});

export const tasks = tagged("tasks", {
  "GET /v1/tasks": {
    id: "listTasks",
    summary: "List tasks",
    description:
      `The account's tasks, newest first. A record is kept for ${recordLife} after the task's end. ` +
      "While `has_more` is true, the next page has " +
      "`next_after` as its `after` if there is one, else the last row's `id`.",
    query: tasksQuery(),
    answers: { 200: answer("A page of tasks.", taskList, { tasks: example.page(example.completedImage) }) },
  },
  "GET /v1/tasks/{task_id}": status("getTask", "Query a task of any kind", "A failed task is a 200 with `status: failed`.", taskAnswer, {
    in_progress: example.answered(example.runningTask),
    completed_image: example.answered(example.completedImage),
    completed_video: example.answered(example.completedVideo),
    failed: example.answered(example.failedTask),
  }),
  "GET /v1/videos/generations/{task_id}": status(
    "getVideo",
    "Query a video",
    "For videos and remixes; other kinds are 404. `queued` is called `submitted` here.",
    videoStatus,
    example.videoStatuses,
  ),
  "GET /v1/characters_tasks/{task_id}": status(
    "getCharacterTask",
    "Query the creation of a character",
    "For characters; other kinds are 404.",
    characterStatus,
    example.characterStatuses,
  ),
  "POST /v1/tasks/{task_id}/cancel": {
    id: "cancelTask",
    summary: "Cancel a task",
    description: "The task ends as failed with `cancelled`. `cost` in the answer says what was charged.",
    security: "token",
    body: "none",
    answers: {
      200: answer("The cancelled task.", taskAnswer, { cancelled: example.answered(example.cancelledTask) }),
    },
    errors: ["task_not_found", "task_already_final"],
  },
  "POST /v1/tasks/{task_id}/delivery": {
    id: "repeatTaskDelivery",
    tag: "delivery",
    summary: "Deliver a task's files again",
    description:
      "Begins a delivery that failed again, at once; one that waits for its next attempt makes it now. Files that have arrived are sent again only if all have. No further event or webhook follows: `delivery` of the answer and of the status query shows how it goes.",
    body: "none",
    answers: {
      200: answer("The task.", taskAnswer, { task: example.answered(example.redelivered) }),
    },
    errors: ["task_not_found", "task_not_final", "delivery_not_found", "asset_expired"],
  },
  "DELETE /v1/tasks/{task_id}": {
    id: "deleteTask",
    summary: "Delete a task",
    description: "Removes the files and the record of a final task. What it cost stays in the ledger.",
    security: "token",
    body: "none",
    answers: { 204: { description: "The task is deleted." } },
    errors: ["task_not_found", "task_not_final", "unavailable"],
  },
  "GET /v1/tasks/{task_id}/events": {
    id: "streamTask",
    summary: "Stream a task as server-sent events",
    description:
      "Events of the type `task` whose data is the task, from its current state to the final one. A comment is sent every 15 seconds. A stream lasts at most 15 minutes; then connect again with `Last-Event-ID`. It ends within 10 seconds after its key or token.",
    security: "token",
    headers: ["Last-Event-ID"],
    answers: {
      200: {
        description: "The stream. The schema is that of each event.",
        headers: ["cache-control", "content-language"],
        content: { "text/event-stream": { schema: taskData, events: { type: "task", id: "For `Last-Event-ID`." } } },
      },
      204: { description: "The client already has the final state: do not connect again." },
    },
    errors: ["task_not_found", "too_many_waits"],
  },
});
