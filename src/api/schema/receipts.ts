/** Schemas of receipts and of the keys that verify them. */

import * as z from "zod/mini";
import { amount, count, taskId, time } from "./shared.ts";
import { taskKinds } from "./words.ts";

const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));

/** The request of a final task, its cost and its outcome; fields that its record does not contain are null. */
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
    .nullable(z.strictObject({ unit: z.enum(["USD", "CNY", "TOKENS"]), version: z.string(), amounts: z.record(z.string(), amount) }))
    .check(z.describe("The prices that were used; equal tables have equal versions.")),
  reserved: amount,
  charged: amount,
  returned: amount,
  attempts: count.check(z.describe("How many upstreams were called.")),
  files: z.array(z.strictObject({ name: z.string(), type: z.string(), bytes: count, sha256 })),
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
