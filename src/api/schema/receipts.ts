/** Schemas of receipts, of the keys that verify them, and of the answer whether a file was made here. */

import * as z from "zod/mini";
import { amount, count, credentials, sha256, taskId, time } from "./shared.ts";
import { taskKinds } from "../../base/words.ts";

/** The request of a final task, its cost and its outcome. */
export const receipt = z.strictObject({
  object: z.literal("generation.receipt"),
  id: taskId,
  account: z.string(),
  kind: z.enum(taskKinds),
  model: z.string(),
  reference: z.nullable(z.string()),
  status: z.enum(["completed", "failed"]),
  created_at: time,
  started_at: z.nullable(time),
  ended_at: time,
  request_sha256: z
    .nullable(sha256)
    .check(z.describe("SHA-256 of the request's body in canonical JSON (RFC 8785), with inline images as sent.")),
  price: z
    .strictObject({ unit: z.enum(["USD", "CNY", "TOKENS"]), version: z.string(), amounts: z.record(z.string(), amount) })
    .check(z.describe("The prices that were used; equal tables have equal versions.")),
  reserved: amount,
  charged: amount,
  returned: amount,
  attempts: count.check(z.describe("How many upstreams were called.")),
  files: z.array(z.strictObject({ name: z.string(), type: z.string(), bytes: count, sha256, credentials: z.optional(credentials) })),
});
export const receiptAnswer = z.strictObject({
  receipt,
  jws: z.string().check(z.regex(/^[\w-]+\.[\w-]+\.[\w-]{86}$/), z.describe("The receipt as a compact JWS, signed with EdDSA.")),
});
export const receiptKeys = z.strictObject({
  keys: z
    .array(
      z.strictObject({
        kty: z.literal("OKP"),
        crv: z.literal("Ed25519"),
        x: z.string(),
        kid: z.string(),
        alg: z.literal("EdDSA"),
        use: z.literal("sig"),
      }),
    )
    .check(z.describe("The current key first.")),
});
/** A file that was made here. */
export const verification = z.strictObject({
  object: z.literal("verification"),
  sha256,
  kind: z.enum(taskKinds).check(z.describe("The kind of the task that made the file.")),
  type: z.string().check(z.describe("The file's media type.")),
  made_at: time.check(z.describe("When the task completed, Unix seconds.")),
  credentials,
  ai_generated: z.literal(true),
});
