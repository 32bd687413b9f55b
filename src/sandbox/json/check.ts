/** Validates a value against a schema: every generated value is validated before it is answered. */

import type { Attempt } from "./attempt.ts";
import { formatNamed } from "./formats.ts";
import { type Json, type Schema, type TypeName, Unmakeable } from "./schema.ts";

/** The maximum depth of nested schemas and values; generated values are less deep. */
const MAX_DEPTH = 400;

/** True if JSON Schema accepts the value. `unevaluated*` are not checked: generated values contain nothing that they could forbid. */
export function isValid(schema: Schema, value: Json, attempt: Attempt, depth = 0): boolean {
  attempt.spend();
  if (depth > MAX_DEPTH) throw new Unmakeable("its references lead in a circle");
  const holds = (other: Schema) => isValid(other, value, attempt, depth + 1);
  if (schema.$ref !== undefined && !holds(attempt.resolve(schema.$ref))) return false;
  if (schema.type && !schema.type.some((type) => isOfType(value, type))) return false;
  if (schema.enum && !schema.enum.some((other) => isEqual(other, value))) return false;
  if (schema.const !== undefined && !isEqual(schema.const, value)) return false;
  if (schema.allOf && !schema.allOf.every(holds)) return false;
  if (schema.anyOf && !schema.anyOf.some(holds)) return false;
  if (schema.oneOf && schema.oneOf.filter(holds).length !== 1) return false;
  if (schema.not && holds(schema.not)) return false;
  const branch = schema.if && (holds(schema.if) ? schema.then : schema.else);
  if (branch && !holds(branch)) return false;
  if (typeof value === "number") return isNumberValid(schema, value);
  if (typeof value === "string") return isStringValid(schema, value, attempt);
  if (Array.isArray(value)) return isArrayValid(schema, value, attempt, depth);
  return value === null || typeof value === "boolean" || isObjectValid(schema, value, attempt, depth);
}

function isOfType(value: Json, type: TypeName): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
    case "string":
    case "boolean":
      return typeof value === type;
  }
}

/** True if two values are equal to JSON Schema: the order of an object's properties does not matter. */
export function isEqual(one: Json, other: Json): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [left, right] = [one as Record<string, Json>, other as Record<string, Json>];
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(left[key] ?? null, right[key] ?? null))
  );
}

function isNumberValid(schema: Schema, value: number): boolean {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity, multipleOf } = schema;
  return (
    value >= minimum &&
    value <= maximum &&
    value > exclusiveMinimum &&
    value < exclusiveMaximum &&
    (multipleOf === undefined || Number.isInteger(value / multipleOf))
  );
}

function isStringValid({ minLength = 0, maxLength = Infinity, pattern, format }: Schema, value: string, attempt: Attempt): boolean {
  const { length } = Array.from(value); // in code points
  if (length < minLength || length > maxLength) return false;
  if (pattern !== undefined) {
    attempt.spend(length);
    if (!attempt.pattern(pattern).matches(value)) return false;
  }
  return format === undefined || (formatNamed(format)?.test(value) ?? true);
}

function isArrayValid(schema: Schema, value: Json[], attempt: Attempt, depth: number): boolean {
  const { minItems = 0, maxItems = Infinity, contains, minContains = 1, maxContains = Infinity } = schema;
  if (value.length < minItems || value.length > maxItems) return false;
  if (schema.uniqueItems && hasEqualItems(value, attempt)) return false;
  if (contains) {
    const found = value.filter((item) => isValid(contains, item, attempt, depth + 1)).length;
    if (found < minContains || found > maxContains) return false;
  }
  return value.every((item, index) => {
    const items = itemSchema(schema, index);
    return !items || isValid(items, item, attempt, depth + 1);
  });
}

function hasEqualItems(value: Json[], attempt: Attempt): boolean {
  attempt.spend(value.length);
  return value.some((item, index) => value.findIndex((other) => isEqual(other, item)) < index);
}

/** The schema for the item at an index; undefined if no schema applies. `items` may be a list, as up to draft 7. */
export function itemSchema({ prefixItems, items, additionalItems }: Schema, index: number): Schema | undefined {
  if (Array.isArray(items)) return items[index] ?? additionalItems;
  return prefixItems?.[index] ?? items;
}

function isObjectValid(schema: Schema, value: Record<string, Json>, attempt: Attempt, depth: number): boolean {
  const keys = Object.keys(value);
  const {
    required = [],
    minProperties = 0,
    maxProperties = Infinity,
    propertyNames,
    dependentRequired = {},
    dependentSchemas = {},
  } = schema;
  if (keys.length < minProperties || keys.length > maxProperties) return false;
  const has = (key: string) => Object.hasOwn(value, key);
  return (
    required.every(has) &&
    Object.entries(dependentRequired).every(([key, others]) => !has(key) || others.every(has)) &&
    Object.entries(dependentSchemas).every(([key, other]) => !has(key) || isValid(other, value, attempt, depth + 1)) &&
    keys.every((key) => !propertyNames || isValid(propertyNames, key, attempt, depth + 1)) &&
    keys.every((key) => propertySchemas(schema, key, attempt).every((other) => isValid(other, value[key] ?? null, attempt, depth + 1)))
  );
}

/** All schemas that apply to the property of this name. */
export function propertySchemas(schema: Schema, key: string, attempt: Attempt): Schema[] {
  const { properties, patternProperties, additionalProperties } = schema;
  const found: Schema[] = [];
  const own = properties && Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (own) found.push(own);
  for (const [pattern, other] of Object.entries(patternProperties ?? {})) if (attempt.pattern(pattern).matches(key)) found.push(other);
  return found.length === 0 && additionalProperties ? [additionalProperties] : found;
}
