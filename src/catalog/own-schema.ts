/** JSON Schemas of upstreams' own inputs: what of them can be checked here, and the values that they find in an input. Pure. */

import type { Violation } from "../base/errors.ts";
import { fileDigest } from "../base/file-id.ts";
import { isObject } from "../base/is-object.ts";
import { isSafePattern } from "./safe-pattern.ts";

export type JsonSchema = Record<string, unknown>;

/** What a file of an input may be; `any` if the schema does not say. */
export type FileKind = "image" | "video" | "audio" | "any";

/** A step into a JSON value. */
export type Step = string | number;

/** A file that a value names: its place in the input, and what the schema says it is. */
export interface FoundFile {
  at: Step[];
  value: string;
  is: FileKind;
}

/** Every isolate keeps the schemas of all models, and each request for the models answers with them. */
const maxSchemaBytes = 64 * 1024;
/** Subschemas once every `$ref` is replaced by what it refers to: a small text could refer to itself thousands of times. */
const maxNodes = 4_000;
const maxLevels = 32;
/** Items of a list whose items must differ: each is compared with all others. */
export const maxUniqueItems = 1_000;
/** In a prepared schema: the string names a file. */
const fileMark = "x-file";

const types = new Set(["null", "boolean", "object", "array", "number", "integer", "string"]);
const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);
const isTextList = (value: unknown) => Array.isArray(value) && value.every(isText);

/** The keywords that are kept as they are, if their values are valid. `default` is read for prices. */
const plain: Record<string, (value: unknown) => boolean> = {
  type: (value) => types.has(value as string) || (Array.isArray(value) && value.every((one) => types.has(one as string))),
  enum: (value) => Array.isArray(value) && value.length > 0,
  const: () => true,
  default: () => true,
  required: isTextList,
  dependentRequired: (value) => isObject(value) && Object.values(value).every(isTextList),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => isNumber(value) && Number(value) > 0,
  uniqueItems: (value) => typeof value === "boolean",
  format: isText,
  contentEncoding: isText,
  contentMediaType: isText,
  pattern: isSafePattern,
  ...Object.fromEntries(
    ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"].map((name) => [
      name,
      isCount,
    ]),
  ),
};
const single = new Set(["items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"]);
const lists = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const maps = new Set(["properties", "patternProperties"]);
/** Keywords that restrict values in ways that are not checked here. All others are annotations. */
const unsupported = new Set([
  "$dynamicRef",
  "$recursiveRef",
  "unevaluatedProperties",
  "unevaluatedItems",
  "dependentSchemas",
  "dependencies",
]);

/** Names of fields for files, where the schema's formats do not tell. */
const fileName =
  /(?:^|_)(?:ur[il]s?|(?:image|video|audio|mask|file|frame|photo|picture)s?)(?:_(?:ur[il]s?|base64|b64))?(?:_\d+)?$|(?:^|_)(?:base64|b64)$/i;
/** `startImage` as `start_Image`. */
const toWords = (name: string) => name.replace(/([a-z0-9])([A-Z])/g, "$1_$2");
/** A text that is nothing but the id of a file, or a file itself, is meant as one, whatever its field is called. */
const isFileItself = (text: string) =>
  fileDigest(text.trim()) !== undefined || /^\s*data:[^,;\s]+(?:;[^,;\s]+)*;base64,\S+\s*$/i.test(text);
const fileFormats = new Set(["uri", "url", "data-uri", "data-url", "binary", "base64"]);

/** True for a text with the place of a file: by its format, else by the name of its field. A list of allowed words is no file. */
function namesFile({ type, format, enum: words, const: word, contentEncoding }: JsonSchema, name: string): boolean {
  const isString = type === "string" || (Array.isArray(type) && type.includes("string"));
  if (!isString || words !== undefined || word !== undefined) return false;
  return fileFormats.has(format as string) || contentEncoding === "base64" || fileName.test(toWords(name));
}

function fileKind(name: string, { contentMediaType = "" }: JsonSchema): FileKind {
  const [kind] = String(contentMediaType).split("/");
  if (kind === "image" || kind === "video" || kind === "audio") return kind;
  if (/video|clip/i.test(name)) return "video";
  if (/audio|voice|music|sound|speech/i.test(name)) return "audio";
  return /image|mask|frame|photo|picture/i.test(name) ? "image" : "any";
}

interface Prepared {
  /** The schema without references, annotations and other forms of the same keyword. */
  schema: JsonSchema;
  violations: Violation[];
}

/**
 * Prepares the schema of an input, an object: replaces references, leaves annotations out, marks files. `violations` name the places, below
 * `param`, of what cannot be checked here: references that lead outside or back to themselves, unsafe patterns, wrong values, and keywords
 * that nothing here checks.
 */
export function prepareSchema(source: JsonSchema, param: string): Prepared {
  const violations: Violation[] = [];
  const add = (at: string, rule: string, values?: Violation["values"]) =>
    void violations.push({ param: at.slice(0, 256), rule, ...(values && { values, allowed: values }) });
  if (JSON.stringify(source).length > maxSchemaBytes) add(param, "too_long", { maximum: maxSchemaBytes });
  if (violations.length > 0) return { schema: {}, violations };
  let nodes = 0;

  const prepare = (node: unknown, at: string, name: string, refs: readonly string[], level: number): unknown => {
    if (typeof node === "boolean") return node;
    if (!isObject(node)) return (add(at, "bad_schema"), true);
    nodes++;
    if (nodes > maxNodes || level > maxLevels) {
      if (violations.every(({ rule }) => rule !== "schema_too_complex")) add(at, "schema_too_complex");
      return true;
    }
    const { $ref: ref, ...own } = node;
    if (ref !== undefined) {
      const target = isText(ref) ? resolve(source, ref) : undefined;
      if (target === undefined) return (add(`${at}.$ref`, "schema_ref_outside"), true);
      if (refs.includes(ref as string)) return (add(`${at}.$ref`, "schema_recursive"), true);
      const found = prepare(target, at, name, [...refs, ref as string], level + 1);
      const beside = prepare(own, at, name, refs, level + 1) as JsonSchema;
      const { default: fallback, ...rules } = beside;
      const base = Object.keys(rules).length === 0 && isObject(found) ? found : { allOf: [found, rules] };
      return fallback === undefined ? base : { ...base, default: fallback };
    }
    const result: JsonSchema = {};
    const inner = (child: unknown, path: string, childName = name) => prepare(child, path, childName, refs, level + 1);
    for (const [keyword, value] of Object.entries(modern(own))) {
      const path = `${at}.${keyword}`;
      const isValid = plain[keyword];
      if (unsupported.has(keyword)) add(path, "schema_keyword");
      else if (isValid?.(value)) result[keyword] = value;
      else if (isValid) add(path, keyword === "pattern" ? "schema_pattern" : "bad_schema");
      else if (single.has(keyword)) result[keyword] = inner(value, path);
      else if (lists.has(keyword)) {
        if (!Array.isArray(value) || value.length === 0) add(path, "bad_schema");
        else result[keyword] = value.map((child, index) => inner(child, `${path}[${index}]`));
      } else if (maps.has(keyword)) {
        if (!isObject(value)) add(path, "bad_schema");
        else
          result[keyword] = Object.fromEntries(
            Object.entries(value).map(([field, child]) => {
              if (keyword === "patternProperties" && !isSafePattern(field)) add(`${path}.${field}`, "schema_pattern");
              return [field, inner(child, `${path}.${field}`, keyword === "properties" ? field : "")];
            }),
          );
      }
    }
    if (!namesFile(result, name)) return result;
    // A file has checks of its own: its URL may be replaced by data or by the id of a file, which no format or length would fit.
    const { default: _, format: _f, pattern: _p, minLength: _min, maxLength: _max, ...rest } = result;
    return { ...rest, [fileMark]: fileKind(name, result) };
  };

  const schema = prepare(source, param, "", [], 0);
  if (!isObject(schema)) return { schema: {}, violations };
  const root = merged(schema);
  if (root["type"] !== "object" || !isObject(root["properties"])) add(param, "schema_no_object");
  return { schema: root, violations };
}

/** Forms of older drafts and of OpenAPI 3.0 in those of today. */
function modern({ items, ...node }: JsonSchema): JsonSchema {
  const result: JsonSchema = { ...node, ...(Array.isArray(items) ? { prefixItems: items } : items !== undefined && { items }) };
  for (const [limit, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    const isExclusive = result[exclusive];
    if (typeof isExclusive !== "boolean") continue;
    delete result[exclusive];
    if (!isExclusive) continue;
    result[exclusive] = result[limit];
    delete result[limit];
  }
  return result;
}

/** What a reference within the schema refers to (RFC 6901); undefined for every other one. */
function resolve(source: JsonSchema, ref: string): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  let found: unknown = source;
  for (const step of ref.split("/").slice(1)) {
    let name: string;
    try {
      name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    } catch {
      return undefined;
    }
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as JsonSchema)[name];
  }
  return found;
}

/** A schema whose only parts are a single `allOf` or, beside null, a single alternative: as if it was written without it. */
export function merged(schema: JsonSchema): JsonSchema {
  const { allOf, anyOf, oneOf, ...rest } = schema;
  const either = (anyOf ?? oneOf) as JsonSchema[] | undefined;
  const some = either?.filter((one) => !isObject(one) || one["type"] !== "null");
  if (Array.isArray(allOf) && allOf.length === 1 && !either && isObject(allOf[0])) return merged({ ...allOf[0], ...rest });
  if (some?.length === 1 && !allOf && isObject(some[0])) return merged({ ...some[0], ...rest });
  return schema;
}

/** The schemas that may describe the same value as these: with all parts and alternatives of each. */
const spread = (schemas: readonly unknown[]): JsonSchema[] =>
  schemas.flatMap((schema) => {
    if (!isObject(schema)) return [];
    const parts = ["allOf", "anyOf", "oneOf"].flatMap((name) => (schema[name] as unknown[] | undefined) ?? []);
    return [schema, ...spread([...parts, ...["if", "then", "else"].map((name) => schema[name])])];
  });

/** The schemas of a field; `isNamed` if one of them has it by name or by pattern. */
function ofField(schemas: JsonSchema[], name: string): { found: unknown[]; isNamed: boolean } {
  const named = schemas.flatMap(({ properties, patternProperties }) => [
    ...(isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []),
    ...(isObject(patternProperties)
      ? Object.entries(patternProperties).flatMap(([pattern, one]) => (new RegExp(pattern, "u").test(name) ? [one] : []))
      : []),
  ]);
  return { found: [...named, ...schemas.map(({ additionalProperties }) => additionalProperties)], isNamed: named.length > 0 };
}

/** What a prepared schema finds in an input: the files, the fields that it does not have, and lists too long to be compared. */
export function findInInput(schema: JsonSchema, input: JsonSchema) {
  const files: FoundFile[] = [];
  const tooLong: Step[][] = [];
  const unknown: { at: Step[]; allowed: string[] }[] = [];
  const visit = (schemas: JsonSchema[], value: unknown, at: Step[]): void => {
    if (typeof value === "string") {
      const file = schemas.find((one) => one[fileMark] !== undefined);
      const isWord = schemas.some(({ enum: words, const: word }) => word === value || (Array.isArray(words) && words.includes(value)));
      if (isWord) return;
      if (file) files.push({ at, value, is: file[fileMark] as FileKind });
      else if (isFileItself(value)) files.push({ at, value, is: "any" });
    } else if (Array.isArray(value)) {
      if (value.length > maxUniqueItems && schemas.some(({ uniqueItems }) => uniqueItems === true)) tooLong.push(at);
      value.forEach((item, index) => {
        const items = schemas.flatMap(({ prefixItems, items: rest }) => [Array.isArray(prefixItems) ? (prefixItems[index] ?? rest) : rest]);
        visit(spread(items), item, [...at, index]);
      });
    } else if (isObject(value)) {
      const allowed = schemas.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : []));
      const isOpen = schemas.some(({ additionalProperties: more }) => more !== undefined && more !== false);
      const isStrict = !isOpen && (allowed.length > 0 || schemas.some(({ patternProperties }) => patternProperties !== undefined));
      for (const [name, item] of Object.entries(value)) {
        const { found, isNamed } = ofField(schemas, name);
        if (isStrict && !isNamed) unknown.push({ at: [...at, name], allowed: [...new Set(allowed)] });
        else visit(spread(found), item, [...at, name]);
      }
    }
  };
  visit(spread([schema]), input, []);
  return { files, unknown, tooLong };
}
