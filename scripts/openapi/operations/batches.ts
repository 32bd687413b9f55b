/** Batches: many submissions as the lines of one request. */

import { batch, batchList, batchResult } from "../../../src/api/schema/batches.ts";
import { newBatch } from "../../../src/api/schema/bodies.ts";
import { pageQuery } from "../../../src/api/schema/queries.ts";
import { answer, tagged } from "../definition.ts";
import { fileLife, recordLife } from "../../support/time-words.ts";

const runningBatch = {
  id: "batch_3FKqS2mV0bWmXv7oLz5R1AqT8yHc4uJd9eKf0gLh2iM",
  object: "batch",
  status: "in_progress",
  created_at: 1_793_491_200,
  counts: { total: 1000, queued: 700, running: 20, completed: 278, failed: 2 },
  cost: { reserved: 0.6, charged: 8.34, limit: 30, expected: 30 },
  concurrency: 20,
  estimated_time: 324,
};
const { estimated_time: _, ...rest } = runningBatch;
export const endedBatch = {
  ...rest,
  status: "completed",
  ended_at: 1_793_491_560,
  counts: { total: 1000, queued: 0, running: 0, completed: 996, failed: 4 },
  cost: { reserved: 0, charged: 29.88, limit: 30, expected: 30 },
  results_file: "file_n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCggq3xT7mPz0kLw",
};

export const batches = tagged("batches", {
  "POST /v1/batches": {
    id: "createBatch",
    summary: "Begin a batch",
    description:
      "Runs up to 50,000 submissions. A line is `{custom_id, endpoint, body}`, where `endpoint` is `/v1/images/generations`, `/v1/videos/generations`, `/v1/videos/{id}/remix`, `/v1/chat/completions` or `/v1/tasks`. All lines are checked before one begins; one that is refused fails alone. `max_cost` is never exceeded: lines that would exceed it fail with `cost_limit_exceeded`. Without balance the batch waits, at most 24 hours.",
    headers: ["Idempotency-Key"],
    body: {
      schema: newBatch(),
      examples: {
        lines: {
          requests: [
            { custom_id: "cover-1", endpoint: "/v1/images/generations", body: { model: "imgA-4", prompt: "Tea fields in spring" } },
            { custom_id: "cover-2", endpoint: "/v1/images/generations", body: { model: "imgA-4", prompt: "Tea fields in autumn" } },
          ],
          max_cost: 1,
        },
        file: { input_file: endedBatch.results_file, concurrency: 50, reference: "autumn catalog" },
      },
    },
    answers: { 201: answer("The batch.", batch, { batch: runningBatch }, ["location", "idempotent-replayed"]) },
    errors: ["idempotency_conflict", "too_many_files", "too_many_open_tasks"],
    violation: { param: "input_file", rule: "unknown_file" },
  },
  "GET /v1/batches": {
    id: "listBatches",
    summary: "List batches",
    description: `The account's batches, newest first; for a member's key the member's own ones. A batch is kept for ${recordLife} after its end.`,
    query: pageQuery(),
    answers: { 200: answer("A page of batches.", batchList, { batches: { object: "list", data: [runningBatch], has_more: false } }) },
  },
  "GET /v1/batches/{batch_id}": {
    id: "getBatch",
    summary: "Show a batch",
    answers: { 200: answer("The batch.", batch, { running: runningBatch, ended: endedBatch }) },
    errors: ["batch_not_found"],
  },
  "POST /v1/batches/{batch_id}/cancel": {
    id: "cancelBatch",
    summary: "Cancel a batch",
    description: "Nothing new begins, and queued tasks are cancelled. Running tasks end; then the batch is `cancelled`.",
    body: "none",
    answers: { 200: answer("The batch.", batch, { batch: runningBatch }) },
    errors: ["batch_not_found", "task_already_final"],
  },
  "POST /v1/batches/{batch_id}/delivery": {
    id: "repeatBatchDelivery",
    tag: "delivery",
    summary: "Deliver a batch's files again",
    description:
      "Delivers again the files of completed lines whose delivery has failed, and at once those that wait for their next attempt; what has arrived is not sent again. Line after line: at most 300 a minute, all batches of the account together. A repeat meanwhile changes nothing. `deliveries` shows how it goes.",
    body: "none",
    answers: {
      200: answer("The batch.", batch, {
        batch: { ...endedBatch, deliver_to: { destination: "shop" }, deliveries: { pending: 40, delivered: 958, failed: 0 } },
      }),
    },
    errors: ["batch_not_found"],
  },
  "GET /v1/batches/{batch_id}/results": {
    id: "getBatchResults",
    summary: "Download the results of a batch",
    description:
      "JSON lines in the order of the input, for the lines that have ended, also while the batch runs: `{custom_id, status, task?, response?, error?, cost}`.",
    answers: {
      200: { description: "The results so far.", headers: ["cache-control"], content: { "application/jsonl": { lines: batchResult } } },
    },
    errors: ["batch_not_found"],
  },
  "GET /v1/batches/{batch_id}/files.zip": {
    id: "getBatchFiles",
    summary: "Download the files of a batch",
    description:
      "One ZIP archive of the files of the lines that have completed, also while the batch runs. A file is called like the line's `custom_id` (characters that file names cannot have become `_`); several files of a line are numbered. " +
      `Files that are deleted already, ${fileLife} after their task's end, are left out.`,
    answers: {
      200: { description: "The archive, uncompressed, as a stream.", headers: ["cache-control"], content: { "application/zip": {} } },
    },
    errors: ["batch_not_found"],
  },
});
