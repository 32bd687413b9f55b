/** Schemas of answers about destinations, and of the delivery of a task. */

import * as z from "zod/mini";
import { deliveryFaults } from "../../base/words.ts";
import { count, listAnswer, sha256, time } from "./shared.ts";

export const destination = z.strictObject({
  object: z.literal("destination"),
  name: z.string(),
  kind: z.literal("s3"),
  endpoint: z.url().check(z.describe("The origin of the bucket's API.")),
  bucket: z.string(),
  region: z.string(),
  access_key_id: z.string().check(z.describe("The secret access key is never shown.")),
  prefix: z.optional(z.string().check(z.describe("The beginning of every key."))),
  created_at: time,
  changed_at: time,
});
/** All of them: an account has at most twenty. */
export const destinationList = listAnswer(destination);

/** The outcome of a request to a bucket: its HTTP status and error code, or the fault. */
const outcomeFields = {
  ms: count.check(z.describe("Milliseconds.")),
  status: z.optional(z.int().check(z.describe("HTTP status of the bucket's answer."))),
  code: z.optional(z.string().check(z.describe("The error code in the bucket's answer: `AccessDenied`."))),
  fault: z.optional(
    z.enum(deliveryFaults).check(z.describe("`changed`: the bucket has other bytes. `no_destination`: the destination was deleted.")),
  ),
};
const triedRequest = z.strictObject(outcomeFields);
export const destinationTest = z.strictObject({
  object: z.literal("destination.test"),
  name: z.string(),
  ok: z.boolean(),
  write: triedRequest,
  read: z.optional(triedRequest.check(z.describe("Only after the object was written."))),
  delete: z.optional(triedRequest),
});

/** `delivery` of a task that was submitted with `deliver_to`. */
export const taskDelivery = z.strictObject({
  status: z.enum(["pending", "delivered", "failed"]),
  files: z
    .array(
      z.strictObject({
        name: z.string().check(z.describe("`1.png`, `2.png`, `video.mp4`, `thumbnail.jpg`, `picture.png`.")),
        url: z.url().check(z.describe("Where it is in the bucket, without a signature.")),
        sha256,
      }),
    )
    .check(z.describe("The files that have arrived.")),
  attempts: z.array(z.strictObject({ at: time, ...outcomeFields })).check(z.describe("Oldest first.")),
  next_attempt_at: z.optional(time),
});
