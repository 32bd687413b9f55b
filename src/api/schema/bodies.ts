/** The bodies of requests that are no generation: the catalog has those. Also what a caller may say about any submission. */

import * as z from "zod/mini";

/** Printable: no control, format or unassigned characters, no lone surrogates, no line ends. */
const printable = /^[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;

/** The caller's own name for a submission. */
export const referenceField = z.string().check(
  z.refine((text) => printable.test(text), { params: { rule: "bad_reference" } }),
  z.meta({ minLength: 1, maxLength: 128 }),
);

const maxCost = { max_cost: z.optional(z.number().check(z.gte(0))) };
/** What a submission may say beside what is to be made. */
export const taskOptions = z.object({ reference: z.optional(referenceField), ...maxCost });
/** The same for a chat. */
export const chatOptions = z.object(maxCost);

export const webhookChange = z.object({ url: z.nullable(z.string()) });

/** Balance units with at most six decimals, converted to whole millionths. */
const units = (minimum: number) =>
  z.pipe(
    z.number().check(
      z.refine((amount) => amount >= minimum && amount <= 1e9 && Math.abs(amount * 1e6 - Math.round(amount * 1e6)) < 1e-3, {
        params: { rule: "bad_amount" },
      }),
      z.meta({ minimum, maximum: 1e9 }),
    ),
    z.transform((amount: number) => Math.round(amount * 1e6)),
  );
/** null is unlimited. */
const quota = () => z.nullable(units(0));

export const newAccount = z.object({
  email: z.string().check(z.refine((text) => text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text), { params: { rule: "bad_email" } })),
  name: z.optional(z.string().check(z.maxLength(200))),
  quota: quota(),
});
export const accountChange = z.object({
  quota: z.optional(quota()),
  add: z.optional(units(-1e9)),
  disabled: z.optional(z.boolean()),
  admin: z.optional(z.boolean()),
});
export const newKey = z.object({
  name: z.string().check(z.minLength(1), z.maxLength(200)),
  quota: quota(),
  expires_at: z.optional(z.int().check(z.refine((at) => at * 1000 > Date.now() && at < 1e11, { params: { rule: "in_the_past" } }))),
});
