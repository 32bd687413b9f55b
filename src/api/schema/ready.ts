/** Schemas of `/healthz`, `/readyz` and `/status`. */

import * as z from "zod/mini";
import { time } from "./shared.ts";
import { workKinds } from "../../base/words.ts";

export const health = z.strictObject({ status: z.literal("ok") });
/** `cron` is the state of the trigger that runs the operator's checks; absent in a deployment that runs no checks. */
export const readiness = z.strictObject({
  status: z.literal("ok"),
  version: z.optional(z.string().check(z.describe("The id of the deployed version. Absent locally."))),
  cron: z.optional(z.enum(["ok", "stale"])),
  checked_at: z.optional(z.nullable(time)).check(z.describe("The end of the last checks; null before the first ones.")),
});
/** `failing` has the names of the dependencies that did not answer, and `configuration` while a variable is wrong. */
export const notReady = z.strictObject({
  status: z.literal("unavailable"),
  failing: z.array(z.enum(["database", "bucket", "object", "configuration"])).check(z.minLength(1)),
});
/** Sums of all accounts over the last hour. */
export const statusAnswer = z.strictObject({
  object: z.literal("status"),
  api: z.literal("operational"),
  submissions: z.enum(["operational", "degraded", "unavailable"]),
  kinds: z.array(
    z.strictObject({
      kind: z.enum(workKinds),
      completion_rate: z.number().check(z.gte(0), z.lte(1), z.describe("Excludes tasks that were cancelled or refused.")),
      median_seconds: z.nullable(z.number().check(z.gte(0))),
    }),
  ),
  updated_at: time,
});
