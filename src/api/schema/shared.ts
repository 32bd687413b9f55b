/** Schemas of values that many answers contain. Amounts in balance units, times in Unix seconds. */

import * as z from "zod/mini";

export const count = z.int().check(z.gte(0));
export const amount = z.number().check(z.gte(0));
export const time = z.int().check(z.gte(0));
export const percent = z.int().check(z.gte(0), z.lte(100));
export const taskId = z.string().check(z.regex(/^task_[A-Za-z0-9_-]{1,59}$/));
/** An amount, or null without a limit. */
const limited = z.nullable(amount);
/** The spending limit of an account or key, and the amount spent. */
export const quotaFields = {
  quota: limited.check(z.describe("null is unlimited.")),
  used: amount,
  reserved: amount,
  remaining: limited,
  budget: z
    .nullable(
      z.strictObject({
        amount,
        window: z.enum(["day", "month"]),
        spent: amount.check(z.describe("Charged and reserved in this window.")),
        remaining: amount.check(z.describe("Left of the amount in this window.")),
        ends_at: time.check(z.describe("When the window ends and the next begins, UTC.")),
      }),
    )
    .check(z.describe("What may be spent in a day or month; null is unlimited.")),
};
export const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
export const credentials = z
  .enum(["maker", "gateway", "none"])
  .check(z.describe("Who signed the file's C2PA manifest: its maker or this gateway; `none` if it has no manifest."));
export const characterId = z.string().check(z.startsWith("ch_"));

/** A page of a list, newest first unless its path defines another order; `after` of the next page is the last row's `id`. */
export const listAnswer = <T extends z.ZodMiniType>(row: T) =>
  z.strictObject({ object: z.literal("list"), data: z.array(row), has_more: z.boolean() });
