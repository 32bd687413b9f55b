/** Schemas of request bodies other than generation requests, which the catalog defines; also the options of every submission. */

import * as z from "zod/mini";
import { modelNamed, modelNames } from "../../catalog/models.ts";
import { once } from "../../catalog/once.ts";
import { taskKinds } from "./words.ts";

/** Printable text: no control, format or unassigned characters, no lone surrogates, no line ends. Not a literal, which the parser would check at each start. */
const printable = once(() => new RegExp(String.raw`^[^\p{C}\p{Zl}\p{Zp}]{1,128}$`, "u"));

/** The caller's own name for a submission. */
export const referenceField = () =>
  z.string().check(
    z.refine((text) => printable().test(text), { params: { rule: "bad_reference" } }),
    z.meta({ minLength: 1, maxLength: 128 }),
  );

/** A maximum price in balance units. */
const maxCostField = () => z.number().check(z.gte(0));
const maxCost = () => ({ max_cost: z.optional(maxCostField()) });
/** Options of every submission, beside the parameters of the generation. */
export const taskOptions = once(() =>
  z.object({
    reference: z.optional(referenceField()),
    store: z.optional(z.boolean().check(z.describe("`false`: the prompt and the URLs of inputs are not kept after the task's end."))),
    ...maxCost(),
  }),
);
/** Options of a chat. */
export const chatOptions = once(() => z.object(maxCost()));

export const webhookChange = once(() => z.object({ url: z.nullable(z.string()) }));

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

/** The maximum that may be spent in a day or month of UTC; null is unlimited. */
const budgetField = () => ({ budget: z.optional(z.nullable(z.object({ amount: units(0), window: z.enum(["day", "month"]) }))) });

export const newAccount = once(() =>
  z.object({
    email: z.string().check(z.refine((text) => text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text), { params: { rule: "bad_email" } })),
    name: z.optional(z.string().check(z.maxLength(200))),
    quota: quota(),
  }),
);
export const accountChange = once(() =>
  z.object({
    quota: z.optional(quota()),
    add: z.optional(units(-1e9)),
    disabled: z.optional(z.boolean()),
    admin: z.optional(z.boolean()),
    ...budgetField(),
  }),
);

/** A non-empty list of these words: an empty list would allow nothing. */
const subset = <const T extends string>(words: readonly T[]) => z.array(z.enum(words)).check(z.minLength(1), z.maxLength(words.length));

/** The models and kinds that a key may be used for; null removes a limit. */
const scopeFields = () => ({
  models: z.optional(z.nullable(subset(modelNames))),
  kinds: z.optional(z.nullable(subset(["chat", ...taskKinds]))),
  max_open_tasks: z.optional(z.nullable(z.int().check(z.gte(1), z.lte(1_000_000)))),
  ...budgetField(),
});
const keyName = () => z.string().check(z.minLength(1), z.maxLength(200));

export const newKey = once(() =>
  z.object({
    ...scopeFields(),
    name: keyName(),
    quota: quota(),
    expires_at: z.optional(z.int().check(z.refine((at) => at * 1000 > Date.now() && at < 1e11, { params: { rule: "in_the_past" } }))),
  }),
);
export const keyChange = once(() => z.object({ name: z.optional(keyName()), quota: z.optional(quota()), ...scopeFields() }));

const isOrigin = (text: string) => /^https?:/.test(text) && URL.parse(text)?.origin === text;

/** The limits of a browser token. */
export const newToken = once(() =>
  z.object({
    tasks: z.int().check(z.gte(1), z.lte(20)),
    max_cost: maxCostField(),
    kinds: z.optional(subset(taskKinds)),
    models: z.optional(subset(modelNames.filter((name) => modelNamed(name)?.family !== "chat"))),
    origin: z.optional(z.string().check(z.refine(isOrigin, { params: { rule: "bad_origin" } }))),
    expires_in: z.int().check(z.gte(60), z.lte(3600)),
  }),
);
