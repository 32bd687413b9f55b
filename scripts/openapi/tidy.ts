/** Changes of the JSON Schema that zod makes: without its own formats, integers as such, and objects that are open for new fields. */

import { builtInCatalog } from "../../src/catalog/catalog.ts";

export type JsonSchema = Record<string, unknown>;

/** The built-in models' names: a deployment may sell others, so a list of them is an example. */
const modelNames = new Set<unknown>(builtInCatalog().live.flatMap(({ id, aliases }) => [id, ...aliases]));

const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;

/**
 * Removes what readers do not need: the limits of whole numbers, patterns beside a format, formats of zod's own. Numbers with whole values
 * are integers, numbers say their size, the names of models are strings, and objects of answers are open: a later version may add fields.
 */
export function tidy(schema: JsonSchema): void {
  const { const: only, enum: words } = schema;
  const values = Array.isArray(words) ? words : only === undefined ? [] : [only];
  if (schema["type"] === "number" && values.length > 0 && values.every(Number.isInteger)) schema["type"] = "integer";
  // Amounts and times need more than the 32 bits that many languages have by default.
  if (schema["type"] === "number") schema["format"] ??= "double";
  // Generators write `x != 1and` for a constant number.
  if (Number.isInteger(only)) {
    delete schema["const"];
    schema["enum"] = [only];
  }
  if (Array.isArray(words) && words.every((word) => modelNames.has(word))) {
    delete schema["enum"];
    Object.assign(schema, { type: "string", examples: words });
  }
  // The defaults of its fields say the same, and generators of Java write an object with fields as `{}`.
  if (schema["properties"] !== undefined && isEmpty(schema["default"])) delete schema["default"];
  if (schema["additionalProperties"] === false) delete schema["additionalProperties"];
  else if (isEmpty(schema["additionalProperties"])) schema["additionalProperties"] = true;
  for (const limit of ["minimum", "maximum"]) if (Math.abs(Number(schema[limit])) === Number.MAX_SAFE_INTEGER) delete schema[limit];
  if (schema["type"] === "integer" && values.length === 0 && schema["maximum"] === undefined) schema["format"] = "int64";
  if (schema["format"] === "date-time") delete schema["pattern"];
  if (schema["format"] === "starts_with") {
    delete schema["format"];
    schema["pattern"] = String(schema["pattern"]).replace(/\.\*$/, "");
  }
}

const single = ["items", "additionalProperties", "not", "contentSchema"];
const lists = ["anyOf", "oneOf", "allOf"];

/** Changes a schema and all schemas in it. */
export function everySchema(schema: unknown, change: (one: JsonSchema) => void): void {
  if (typeof schema !== "object" || schema === null) return;
  const one = schema as JsonSchema;
  change(one);
  const inner = [
    ...single.map((name) => one[name]),
    ...lists.flatMap((name) => one[name] ?? []),
    ...Object.values(one["properties"] ?? {}),
  ];
  for (const part of inner) everySchema(part, change);
}

/** Says that the objects of a request may have other fields, which are ignored. */
export const openRequest = (schema: unknown): void =>
  everySchema(schema, (one) => {
    if ("properties" in one && !("additionalProperties" in one)) one["additionalProperties"] = true;
  });
