/** Schemas of request bodies other than generation requests, which the catalog defines; also the options of every submission. */

import * as z from "zod/mini";
import type { Catalog } from "../../catalog/catalog.ts";
import { isAmount } from "../../catalog/millionths.ts";
import { once } from "../../base/once.ts";
import { printable } from "../../base/printable.ts";
import { forCatalog } from "./for-catalog.ts";
import { fileFamilies, schemaMakers, taskKinds, workKinds } from "../../base/words.ts";

const printableReference = once(() => printable(128));

/** A text of at most this many characters, as `isFine` decides, with a rule of its own for one that is not fine. */
const shortText = (maximum: number, rule: string, isFine: (text: string) => boolean) =>
  z.string().check(z.refine(isFine, { params: { rule, values: { maximum } } }), z.meta({ minLength: 1, maxLength: maximum }));

/** The caller's own name for a submission. */
export const referenceField = () => shortText(128, "bad_reference", (text) => printableReference().test(text));

/** Keys and prefixes have no characters that need escaping in a URL, no empty parts and no `.` or `..`, which some programs resolve. */
const isKeyPart = (text: string) => /^[A-Za-z0-9!_.=-][A-Za-z0-9!_.=/-]*$/.test(text) && !/\/\/|(?:^|\/)\.{1,2}(?:\/|$)/.test(text);
/** The beginning of object keys in a bucket. */
const keyPrefix = () => shortText(512, "bad_prefix", (text) => text.length <= 512 && isKeyPart(text));
/** A text that matches `pattern`, with a rule of its own for one that does not, or that `isRefused`. */
function matching(pattern: string, rule: string, isRefused = (_text: string) => false) {
  const form = new RegExp(pattern);
  return z.string().check(
    z.refine((text) => form.test(text) && !isRefused(text), { params: { rule } }),
    z.meta({ pattern }),
  );
}
export const destinationName = () => matching("^[a-z0-9][a-z0-9_-]{0,62}$", "bad_destination_name");

/** Where the files of a submission are delivered: to a presigned URL, or to a destination of the account. */
export const deliverTo = once(() =>
  z
    .object({
      url: z.optional(z.string()),
      destination: z.optional(destinationName()),
      prefix: z.optional(keyPrefix()),
    })
    .check(
      z.refine(({ url, destination }) => (url === undefined) !== (destination === undefined), {
        params: { rule: "one_of_required", values: { fields: "url, destination" } },
      }),
      z.refine(({ url, prefix }) => url === undefined || prefix === undefined, {
        path: ["prefix"],
        params: { rule: "not_together", values: { other: "url" } },
      }),
    ),
);

/** Part of a credential: visible ASCII. */
const credential = (maximum: number) =>
  shortText(maximum, "bad_credential", (text) => /^[\x21-\x7e]+$/.test(text) && text.length <= maximum);
/** A bucket for delivery. */
export const destinationChange = once(() =>
  z.object({
    kind: z.literal("s3"),
    endpoint: z.string(),
    bucket: matching("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", "bad_bucket", (text) => text.includes("..")),
    region: matching("^[a-z0-9-]{1,64}$", "bad_region"),
    access_key_id: credential(256),
    secret_access_key: credential(1024),
    prefix: z.optional(keyPrefix()),
  }),
);
/** A maximum price in balance units. */
const maxCostField = () => z.number().check(z.gte(0));
const maxCost = () => ({ max_cost: z.optional(maxCostField()) });
/** Options of every submission, beside the parameters of the generation. */
export const taskOptions = once(() =>
  z.object({
    reference: z.optional(referenceField()),
    store: z.optional(z.boolean()),
    deliver_to: z.optional(deliverTo()),
    ...maxCost(),
  }),
);
export const chatOptions = once(() => z.object(maxCost()));

export const webhookChange = once(() => z.object({ url: z.nullable(z.string()) }));

const millionths = () => z.transform((amount: number) => Math.round(amount * 1e6));
/** Balance units with at most six decimals, converted to whole millionths. */
const units = (minimum: number, rule = "number_range") => {
  const range = { minimum, maximum: 1e9 };
  const isAllowed = (amount: number) => isAmount(amount, minimum, range.maximum);
  return z.pipe(z.number().check(z.refine(isAllowed, { params: { rule, values: range, allowed: range } }), z.meta(range)), millionths());
};
/** null is unlimited. */
const quota = () => z.nullable(units(0, "bad_amount"));

/** The maximum that may be spent in a day or month of UTC; null is unlimited. */
const budgetField = () => ({ budget: z.optional(z.nullable(z.object({ amount: units(0), window: z.enum(["day", "month"]) }))) });

/** A time in Unix seconds. */
const inFuture = () => z.int().check(z.refine((at) => at * 1000 > Date.now() && at < 1e11, { params: { rule: "in_the_past" } }));

export const newAccount = once(() =>
  z.object({
    email: z.string().check(z.refine((text) => text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text), { params: { rule: "bad_email" } })),
    name: z.optional(z.string().check(z.maxLength(200))),
    quota: quota(),
  }),
);
/** Prepaid codes of one amount. */
export const newCodes = once(() =>
  z.object({
    count: z.int().check(z.gte(1), z.lte(500)),
    amount: units(0.000001),
    expires_at: z.optional(inFuture()),
    note: z.optional(z.string().check(z.maxLength(200))),
  }),
);
/** A payment that a person makes on a page of Stripe, which the payments Worker checks: its range depends on the currency. */
export const newPayment = once(() => z.object({ amount: z.pipe(z.number(), millionths()) }));
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
const scopeFields = ({ names }: Catalog) => ({
  models: z.optional(z.nullable(subset(names))),
  kinds: z.optional(z.nullable(subset(workKinds))),
  max_open_tasks: z.optional(z.nullable(z.int().check(z.gte(1), z.lte(1_000_000)))),
  ...budgetField(),
});
const keyName = () => z.string().check(z.minLength(1), z.maxLength(200));

export const newKey = forCatalog((catalog) =>
  z.object({
    ...scopeFields(catalog),
    name: keyName(),
    quota: quota(),
    expires_at: z.optional(inFuture()),
  }),
);
export const keyChange = forCatalog((catalog) =>
  z.object({
    name: z.optional(keyName()),
    quota: z.optional(quota()),
    paused: z.optional(z.boolean()),
    ...scopeFields(catalog),
  }),
);

/** A model of a maker, to begin an entry with the maker's schema. */
export const newModelDraft = once(() =>
  z.object({
    maker: z.enum(schemaMakers),
    model: z.string().check(z.minLength(1), z.maxLength(200)),
    id: z.optional(z.string().check(z.maxLength(64))),
    kind: z.optional(z.enum(fileFamilies)),
  }),
);

/** Makes an earlier revision of a model the newest one again. */
export const modelRollback = once(() => z.object({ revision: z.int().check(z.gte(1)) }));

const isOrigin = (text: string) => /^https?:/.test(text) && URL.parse(text)?.origin === text;

/** A batch; exactly one of `input_file` and `requests`. */
export const newBatch = once(() =>
  z.object({
    input_file: z.optional(z.string()),
    requests: z.optional(z.array(z.unknown()).check(z.minLength(1), z.maxLength(100))),
    concurrency: z._default(z.int().check(z.gte(1), z.lte(100)), 20),
    callback_url: z.optional(z.string()),
    reference: z.optional(referenceField()),
    deliver_to: z.optional(deliverTo()),
    ...maxCost(),
  }),
);

/** The limits of a client token. */
export const newToken = forCatalog(({ names, named }) =>
  z.object({
    tasks: z.int().check(z.gte(1), z.lte(20)),
    max_cost: maxCostField(),
    kinds: z.optional(subset(taskKinds)),
    models: z.optional(subset(names.filter((name) => named(name)?.family !== "chat"))),
    origin: z.optional(z.string().check(z.refine(isOrigin, { params: { rule: "bad_origin" } }))),
    characters: z.optional(z.array(z.string()).check(z.maxLength(20))),
    files: z.optional(z.array(z.string()).check(z.maxLength(20))),
    callback_url: z.optional(z.string()),
    reference: z.optional(referenceField()),
    expires_in: z.int().check(z.gte(60), z.lte(3600)),
  }),
);
