/** JSON Schema as callers send it: its shape, and the error for schemas without a value. */

import * as z from "zod";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const types = z.enum(["object", "array", "string", "number", "integer", "boolean", "null"]);
const count = z.int().min(0).optional();
const number = z.number().optional();
const text = z.string().optional();
const names = z.array(z.string());

// The supported keywords of drafts 7 to 2020-12; others are ignored.

/** Keywords without schemas. */
const plain = {
  $ref: text,
  /** A single name becomes a list of one. */
  type: z.preprocess((value) => (typeof value === "string" ? [value] : value), z.array(types).min(1).optional()),
  enum: z.array(z.custom<Json>()).min(1).optional(),
  const: z.custom<Json>().optional(),
  default: z.custom<Json>().optional(),
  examples: z.custom<Json>().optional(),
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: z.number().positive().optional(),
  minLength: count,
  maxLength: count,
  pattern: text,
  format: text,
  minItems: count,
  maxItems: count,
  uniqueItems: z.boolean().optional(),
  minContains: count,
  maxContains: count,
  required: names.optional(),
  minProperties: count,
  maxProperties: count,
  dependentRequired: z.record(z.string(), names).optional(),
};
/** Keywords with a schema, a list of schemas, and schemas by name. */
const ofOne = [
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "additionalItems",
  "additionalProperties",
  "unevaluatedItems",
  "unevaluatedProperties",
] as const;
const ofList = ["allOf", "anyOf", "oneOf", "prefixItems"] as const;
const ofNames = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"] as const;

/** A schema `true` is `{}`, `false` is `{not: {}}`. */
export type Schema = z.infer<z.ZodObject<typeof plain>> & { [Name in (typeof ofOne)[number]]?: Schema | undefined } & {
  [Name in (typeof ofList)[number]]?: Schema[] | undefined;
} & { [Name in (typeof ofNames)[number]]?: Record<string, Schema> | undefined } & { items?: Schema | Schema[] | undefined };

const schema: z.ZodType<Schema> = z.lazy(() => shape);
const all = (keywords: readonly string[], value: z.ZodType) => Object.fromEntries(keywords.map((name) => [name, value.optional()]));

const shape = z.preprocess(
  (value) => (value === true ? {} : value === false ? { not: {} } : value),
  z.looseObject({
    ...plain,
    ...all(ofOne, schema),
    ...all(ofList, z.array(schema).min(1)),
    ...all(ofNames, z.record(z.string(), schema)),
    items: z.union([schema, z.array(schema)]).optional(),
  }),
) as z.ZodType<Schema>;

/** Checks a caller's schema; booleans become objects. */
export const jsonSchema = schema;
export type TypeName = z.infer<typeof types>;

/** The reason why no value could be generated for a schema, as text for the caller. */
export class Unmakeable extends Error {
  override readonly name = "Unmakeable";
}
