/** Schemas of every error answer: one envelope for each family of paths. */

import * as z from "zod/mini";

export const violation = z.strictObject({
  param: z.string().check(z.describe("The field, dotted and indexed: `metadata.style`, `images[0]`.")),
  message: z.string(),
  allowed: z.optional(z.unknown().check(z.describe("What is allowed, if it can be listed."))),
});

export const errorObject = z.strictObject({
  message: z.string().check(z.describe("For people, in the language of the request.")),
  type: z.enum([
    "invalid_request",
    "unauthorized",
    "insufficient_quota",
    "task_not_found",
    "content_policy_violation",
    "rate_limit_exceeded",
    "internal_error",
  ]),
  code: z.string().check(z.describe("The same word as `type`, or a more specific one. The same in every language.")),
  param: z.nullable(z.string()).check(z.describe("The first violated field; null if the error is not about a field.")),
  details: z.optional(z.array(violation).check(z.describe("Every violated rule, at most 50."))),
});
export const errorAnswer = z.strictObject({ error: errorObject });
/** Errors of `/v1/tasks`: the same error object, beside the HTTP status and the message. */
export const taskError = z.strictObject({ code: z.int(), message: z.string(), error: errorObject });
export const balanceError = z.strictObject({ success: z.literal(false), message: z.string() });
