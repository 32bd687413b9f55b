/** Schemas of answers about batches. */

import * as z from "zod/mini";
import { batchStatuses, batchWaits } from "../../base/words.ts";
import { chatCompletion } from "./chat.ts";
import { amount, count, listAnswer, time } from "./shared.ts";
import { taskData } from "./tasks.ts";

const lineFault = z.strictObject({
  line: z.int().check(z.gte(1), z.describe("The number of the line, from 1.")),
  code: z.string(),
  message: z.string(),
  param: z.nullable(z.string()),
});

/** A line of a batch's results. */
export const batchResult = z.strictObject({
  custom_id: z.nullable(z.string()).check(z.describe("null if the line was not JSON, or had no id.")),
  status: z.enum(["completed", "failed"]),
  task: z.optional(z.string().check(z.describe("The id of its task; missing for chats and for lines that were refused."))),
  response: z.optional(
    z.union([taskData, chatCompletion]).check(z.describe("`data` of the task's status query, or the answer of the chat.")),
  ),
  error: z.optional(
    z
      .strictObject({ code: z.string(), message: z.string(), param: z.optional(z.nullable(z.string())) })
      .check(z.describe("Why the line failed; `param` of a line that was refused.")),
  ),
  cost: z.strictObject({ reserved: amount, charged: amount, returned: amount }).check(z.describe("In balance units.")),
  openai: z.optional(z.unknown().check(z.describe("Of a line that came on OpenAI's paths: what its answer shows of the request."))),
});

/** Where the files of a batch's tasks are delivered. */
export const batchDeliverTo = z.strictObject({ destination: z.string(), prefix: z.optional(z.string()) });

export const batch = z.strictObject({
  id: z.string().check(z.regex(/^batch_[A-Za-z0-9_-]{43}$/)),
  object: z.literal("batch"),
  status: z.enum(batchStatuses),
  created_at: time,
  cancelled_at: z.optional(time.check(z.describe("When it was cancelled; the lines that ran then end after it."))),
  ended_at: z.optional(time),
  counts: z
    .strictObject({ total: count, queued: count, running: count, completed: count, failed: count })
    .check(z.describe("Lines by state; all 0 until every line is checked.")),
  cost: z
    .strictObject({ reserved: amount, charged: amount, limit: z.nullable(amount), expected: z.optional(amount) })
    .check(
      z.describe(
        "Of its lines, in balance units; `limit` is `max_cost`, `expected` what all lines cost if none fails, once they are checked.",
      ),
    ),
  concurrency: z.int().check(z.gte(1), z.lte(100)),
  input_file: z.optional(z.string()),
  reference: z.optional(z.string()),
  openai: z.optional(
    z
      .strictObject({ endpoint: z.string(), input_file_id: z.string(), metadata: z.optional(z.record(z.string(), z.string())) })
      .check(z.describe("Of a batch that was begun on OpenAI's paths: what was sent there.")),
  ),
  deliver_to: z.optional(batchDeliverTo),
  deliveries: z.optional(
    z
      .strictObject({ pending: count, delivered: count, failed: count })
      .check(
        z.describe("Completed lines whose files are on their way to the caller's bucket, have arrived, and have not. Chats have no files."),
      ),
  ),
  waiting_for: z.optional(z.enum(batchWaits).check(z.describe("Why nothing begins at the moment."))),
  estimated_time: z.optional(count.check(z.describe("Seconds still expected."))),
  results_file: z.optional(z.string().check(z.describe("The id of the file with the results, once the batch has ended."))),
  errors: z.optional(z.array(lineFault).check(z.maxLength(100), z.describe("Of a failed batch: why no line could be read."))),
});
export const batchList = listAnswer(batch);
/** The body of the callback at a batch's end. */
export const batchCompletedEvent = z.strictObject({
  type: z.literal("batch.completed"),
  timestamp: z.iso.datetime().check(z.describe("ISO 8601: when the batch ended.")),
  data: batch,
});
