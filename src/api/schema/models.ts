/** The schema of `/v1/models`. */

import * as z from "zod/mini";
import { fileFamilies } from "../../base/words.ts";
import { amount, time } from "./shared.ts";

const jsonSchema = z.looseObject({ type: z.string(), properties: z.record(z.string(), z.unknown()), required: z.array(z.string()) });
export const modelEntry = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  created: time,
  owned_by: z.string(),
  kind: z.enum(["chat", ...fileFamilies]),
  title: z.optional(z.string().check(z.describe("Its name for people, if the operator gave it one."))),
  aliases: z.array(z.string()),
  parameters: jsonSchema.check(z.describe("JSON Schema of the model's own request body.")),
  actions: z.optional(
    z
      .strictObject({ character: z.optional(jsonSchema), remix: z.optional(jsonSchema) })
      .check(z.describe("JSON Schemas of the bodies of its other actions.")),
  ),
  deprecated_at: z.optional(
    time.check(z.describe("When the model ends, because the last of its upstream models ends. Absent as long as no such day is known.")),
  ),
  price_rule: z.optional(
    z
      .looseObject({})
      .check(
        z.describe(
          "Of a model with its own input: which fields of `input` the price reads, and the factors for their values. Amounts in balance units.",
        ),
      ),
  ),
  price: z
    .record(z.string(), amount)
    .check(
      z.describe(
        "Balance units by what is counted: `image`, `second`, `character`, `input_million_tokens`, `cached_input_million_tokens`, ...",
      ),
    ),
});
export const modelList = z.strictObject({ object: z.literal("list"), data: z.array(modelEntry) });
