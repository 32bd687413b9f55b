/** JSON Schema as callers send it: its shape, and the error for schemas without a value. */

import * as z from "zod";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type TypeName = "object" | "array" | "string" | "number" | "integer" | "boolean" | "null";

/** The supported keywords of drafts 7 to 2020-12; others are ignored. A schema `true` is `{}`, `false` is `{not: {}}`. */
export interface Schema {
  $ref?: string | undefined;
  /** A single name becomes a list of one. */
  type?: TypeName[] | undefined;
  enum?: Json[] | undefined;
  const?: Json;
  default?: Json;
  examples?: Json;
  allOf?: Schema[] | undefined;
  anyOf?: Schema[] | undefined;
  oneOf?: Schema[] | undefined;
  not?: Schema | undefined;
  if?: Schema | undefined;
  then?: Schema | undefined;
  else?: Schema | undefined;
  minimum?: number | undefined;
  maximum?: number | undefined;
  exclusiveMinimum?: number | undefined;
  exclusiveMaximum?: number | undefined;
  multipleOf?: number | undefined;
  minLength?: number | undefined;
  maxLength?: number | undefined;
  pattern?: string | undefined;
  format?: string | undefined;
  prefixItems?: Schema[] | undefined;
  items?: Schema | Schema[] | undefined;
  additionalItems?: Schema | undefined;
  unevaluatedItems?: Schema | undefined;
  minItems?: number | undefined;
  maxItems?: number | undefined;
  uniqueItems?: boolean | undefined;
  contains?: Schema | undefined;
  minContains?: number | undefined;
  maxContains?: number | undefined;
  properties?: Record<string, Schema> | undefined;
  patternProperties?: Record<string, Schema> | undefined;
  additionalProperties?: Schema | undefined;
  unevaluatedProperties?: Schema | undefined;
  propertyNames?: Schema | undefined;
  required?: string[] | undefined;
  minProperties?: number | undefined;
  maxProperties?: number | undefined;
  dependentRequired?: Record<string, string[]> | undefined;
  dependentSchemas?: Record<string, Schema> | undefined;
}

const schema: z.ZodType<Schema> = z.lazy(() => shape);
const types = z.enum(["object", "array", "string", "number", "integer", "boolean", "null"]);
const count = z.int().min(0).optional();
const one = schema.optional();
const list = z.array(schema).min(1).optional();
const named = z.record(z.string(), schema).optional();
const names = z.array(z.string());

const shape = z.preprocess(
  (value) => (value === true ? {} : value === false ? { not: {} } : value),
  z.looseObject({
    $ref: z.string().optional(),
    type: z.preprocess((value) => (typeof value === "string" ? [value] : value), z.array(types).min(1).optional()),
    enum: z.array(z.any()).min(1).optional(),
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: one,
    if: one,
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: one,
    else: one,
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    exclusiveMinimum: z.number().optional(),
    exclusiveMaximum: z.number().optional(),
    multipleOf: z.number().positive().optional(),
    minLength: count,
    maxLength: count,
    pattern: z.string().optional(),
    format: z.string().optional(),
    prefixItems: list,
    items: z.union([schema, z.array(schema)]).optional(),
    additionalItems: one,
    unevaluatedItems: one,
    minItems: count,
    maxItems: count,
    uniqueItems: z.boolean().optional(),
    contains: one,
    minContains: count,
    maxContains: count,
    properties: named,
    patternProperties: named,
    additionalProperties: one,
    unevaluatedProperties: one,
    propertyNames: one,
    required: names.optional(),
    minProperties: count,
    maxProperties: count,
    dependentRequired: z.record(z.string(), names).optional(),
    dependentSchemas: named,
    $defs: named,
    definitions: named,
  }),
);

/** Checks a caller's schema; booleans become objects. */
export const jsonSchema = schema;

/** The reason why no value could be generated for a schema, as text for the caller. */
export class Unmakeable extends Error {
  override readonly name = "Unmakeable";
}
