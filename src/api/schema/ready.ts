/** The shape of `/healthz` and `/readyz`. */

import * as z from "zod/mini";

export const okAnswer = z.strictObject({ status: z.literal("ok") });
/** With the names of the parts that did not answer. */
export const notReadyAnswer = z.strictObject({
  status: z.literal("unavailable"),
  failing: z.array(z.enum(["database", "bucket", "object"])).check(z.minLength(1)),
});
