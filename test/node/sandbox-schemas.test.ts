/** The values that the sandbox makes for JSON schemas, checked by ajv; and its patterns, compared with the engine's. In Node, because ajv compiles schemas to code. */

import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { makeValue } from "../../src/sandbox/json/make.ts";
import { Pattern } from "../../src/sandbox/json/pattern.ts";
import { type Json, jsonSchema, Unmakeable } from "../../src/sandbox/json/schema.ts";

const ajv = formats.default(new Ajv2020({ strict: false, ownProperties: true }));

const make = (schema: unknown): Json => makeValue(jsonSchema.parse(schema));

/** The violations that ajv finds in a value. */
function readFaults(schema: AnySchema, value: Json): string {
  const validate = ajv.compile(schema);
  return validate(value) ? "" : ajv.errorsText(validate.errors);
}

const defs = {
  list: {
    type: "object",
    properties: { head: { type: "integer" }, tail: { anyOf: [{ $ref: "#/$defs/list" }, { type: "null" }] } },
    required: ["head", "tail"],
  },
  tree: {
    type: "object",
    properties: { name: { type: "string", minLength: 1 }, children: { type: "array", items: { $ref: "#/$defs/tree" } } },
    required: ["name", "children"],
    additionalProperties: false,
  },
  word: { type: "string", pattern: "^[a-z]{2,8}$" },
};

// An inherited name that is not `toString`, which ajv calls when it compares values.
const key = fc.constantFrom("city", "unit", "days", "名前", "a b", "isPrototypeOf", "x-1");
const bounds = (max: number) =>
  fc.tuple(fc.nat(max), fc.nat(max)).map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const);
const patterns = [
  "^[A-Z]{3}-\\d{2,4}$",
  "^(?:red|green|blue)+$",
  "\\d+ items?",
  "^[^\\s@]+@[^\\s@]+\\.[a-z]{2,}$",
  "^\\p{Lu}\\w*$",
  "^$|^x",
  "[\\u4e00-\\u9fff]{2}",
];
const formatNames = [
  "date",
  "time",
  "date-time",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uri",
  "uri-reference",
  "uri-template",
  "json-pointer",
  "uuid",
];

/** Satisfiable schemas. */
const { satisfiable } = fc.letrec<{ satisfiable: object }>((tie) => ({
  satisfiable: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    bounds(40).map(([minLength, maxLength]) => ({ type: "string", minLength, maxLength })),
    fc.constantFrom(...patterns).map((pattern) => ({ type: "string", pattern })),
    fc.constantFrom(...formatNames).map((format) => ({ type: "string", format })),
    fc.tuple(fc.integer(), fc.nat(50)).map(([minimum, more]) => ({ type: "integer", minimum, maximum: minimum + more })),
    fc
      .tuple(fc.integer({ min: -1000, max: 1000 }), fc.constantFrom(0.001, 0.3, 1, 7))
      .map(([low, more]) => ({ type: "number", exclusiveMinimum: low, exclusiveMaximum: low + more })),
    fc
      .tuple(fc.integer({ min: -500, max: 500 }), fc.constantFrom(1, 3, 7, 12))
      .map(([minimum, multipleOf]) => ({ minimum, multipleOf, type: "number" })),
    fc.constantFrom({ type: "boolean" }, { type: "null" }, {}, { type: ["null", "integer"] }, { not: { type: "string" } }, { const: null }),
    fc.uniqueArray(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 4 }).map((values) => ({ enum: values })),
    fc.constantFrom("list", "tree", "word").map((name) => ({ $ref: `#/$defs/${name}` })),
    fc.tuple(tie("satisfiable"), bounds(4)).map(([items, [minItems, maxItems]]) => ({ type: "array", items, minItems, maxItems })),
    fc.nat(30).map((minItems) => ({ type: "array", items: { type: "integer", multipleOf: 5 }, minItems, uniqueItems: true })),
    fc
      .array(tie("satisfiable"), { minLength: 1, maxLength: 3 })
      .map((prefixItems) => ({ type: "array", prefixItems, minItems: prefixItems.length, items: false })),
    tie("satisfiable").map((contains) => ({ type: "array", contains, minContains: 2, items: true })),
    fc.tuple(fc.dictionary(key, tie("satisfiable"), { maxKeys: 4 }), fc.boolean(), fc.nat(3)).map(([properties, isClosed, skipped]) => ({
      type: "object",
      properties,
      required: Object.keys(properties).slice(skipped),
      ...(isClosed && { additionalProperties: false }),
    })),
    fc.tuple(tie("satisfiable"), tie("satisfiable")).map(([one, other]) => ({ anyOf: [one, other] })),
    fc.tuple(tie("satisfiable"), tie("satisfiable")).map(([one, other]) => ({
      oneOf: [one, other].map((value, index) => ({
        type: "object",
        properties: { kind: { const: index }, value },
        required: ["kind", "value"],
      })),
    })),
    fc.tuple(tie("satisfiable"), tie("satisfiable")).map(([one, other]) => ({
      allOf: [
        { type: "object", properties: { one }, required: ["one"] },
        { properties: { other }, required: ["other"] },
      ],
    })),
    fc.nat(4).map((minProperties) => ({ type: "object", minProperties, additionalProperties: { type: "integer" } })),
  ),
}));

test("a value is made for each schema, and ajv accepts it", () => {
  fc.assert(
    fc.property(satisfiable, (part) => {
      const schema = { $defs: defs, type: "object", properties: { part }, required: ["part"], additionalProperties: false };
      const value = make(schema);
      expect(readFaults(schema, value)).toBe("");
      expect(make(schema)).toEqual(value);
    }),
    { numRuns: 400 },
  );
});

/** Any keywords together; most of these schemas contradict themselves. */
const { wild } = fc.letrec<{ wild: unknown }>((tie) => {
  const list = fc.array(tie("wild"), { minLength: 1, maxLength: 3 });
  const some = fc.record(
    {
      type: fc.constantFrom("object", "array", "string", "number", "integer", "boolean", "null"),
      enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 3 }),
      const: fc.jsonValue({ maxDepth: 1 }),
      allOf: list,
      anyOf: list,
      oneOf: list,
      not: tie("wild"),
      if: tie("wild"),
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: tie("wild"),
      else: tie("wild"),
      minimum: fc.integer({ min: -5, max: 5 }),
      exclusiveMaximum: fc.integer({ min: -5, max: 5 }),
      multipleOf: fc.constantFrom(2, 0.5, 3),
      minLength: fc.nat(5),
      maxLength: fc.nat(5),
      pattern: fc.constantFrom(...patterns),
      format: fc.constantFrom(...formatNames),
      items: tie("wild"),
      minItems: fc.nat(3),
      maxItems: fc.nat(3),
      uniqueItems: fc.boolean(),
      contains: tie("wild"),
      properties: fc.dictionary(key, tie("wild"), { maxKeys: 3 }),
      patternProperties: fc.dictionary(fc.constantFrom("^x", "t"), tie("wild"), { maxKeys: 2 }),
      additionalProperties: tie("wild"),
      propertyNames: tie("wild"),
      required: fc.uniqueArray(key, { maxLength: 2 }),
      minProperties: fc.nat(2),
      maxProperties: fc.nat(3),
      dependentRequired: fc.dictionary(key, fc.uniqueArray(key, { maxLength: 2 }), { maxKeys: 2 }),
      dependentSchemas: fc.dictionary(key, tie("wild"), { maxKeys: 2 }),
      unevaluatedProperties: fc.boolean(),
      $ref: fc.constantFrom("#", "#/$defs/list", "#/$defs/tree"),
    },
    { requiredKeys: [] },
  );
  return { wild: fc.oneof({ depthSize: "xsmall" }, fc.boolean(), fc.constantFrom({ type: "string" }, { type: "integer" }, {}), some) };
});

test("contradicting keywords give either no value or one that ajv accepts", () => {
  let made = 0;
  fc.assert(
    fc.property(wild, (part) => {
      const schema = { $defs: defs, ...(typeof part === "boolean" ? { allOf: [part] } : (part as object)) };
      let value: Json;
      try {
        value = make(schema);
      } catch (error) {
        expect(error).toBeInstanceOf(Unmakeable);
        return;
      }
      made++;
      expect(readFaults(schema, value)).toBe("");
    }),
    { numRuns: 600 },
  );
  expect(made).toBeGreaterThan(100);
});

const regexp = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom("a", "b", "[ab]", "[^a]", "\\d", "\\w", ".", "\\.", "1", "^", "$", "\\b"),
    fc.tuple(tie("any"), tie("any")).map(([one, other]) => one + other),
    fc.tuple(tie("any"), tie("any")).map(([one, other]) => `(${one}|${other})`),
    fc.tuple(tie("any"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{2,}", "*?")).map(([one, times]) => `(?:${one})${times}`),
  ),
})).any;

test("a pattern matches what the engine's own expression matches", () => {
  fc.assert(
    fc.property(regexp, fc.string({ unit: fc.constantFrom("a", "b", "1", ".", " "), maxLength: 12 }), (source, text) => {
      expect(new Pattern(source).matches(text)).toBe(new RegExp(source, "u").test(text));
    }),
    { numRuns: 1000 },
  );
});

test("a pattern that would keep the engine busy for years is decided at once", () => {
  const began = performance.now();
  expect(new Pattern("^(a+)+$").matches(`${"a".repeat(2000)}b`)).toBe(false);
  expect(new Pattern("^(a|a|aa)*b$").matches("a".repeat(2000))).toBe(false);
  expect(performance.now() - began).toBeLessThan(5000);
});

test.each([
  ["nothing", false, "no value"],
  ["bounds that cross", { type: "string", minLength: 5, maxLength: 4 }, "no value"],
  ["a list of what it forbids", { enum: [1, 2], type: "string" }, "no value"],
  ["recursion without an end", { type: "object", properties: { next: { $ref: "#" } }, required: ["next"] }, "nested too deeply"],
  ["a reference to itself", { $ref: "#" }, "circle"],
  ["what is not itself", { not: { $ref: "#" } }, "circle"],
  ["a reference to nowhere", { $ref: "#/$defs/none" }, "does not lead"],
  ["a reference to elsewhere", { $ref: "https://example.com/schema.json" }, "does not lead"],
  ["a thousand million items", { type: "array", minItems: 1e9 }, "items"],
  ["too many in all", { type: "array", minItems: 5000, items: { type: "array", minItems: 5000 } }, "too large"],
  ["an endless string", { type: "string", minLength: 1e9 }, "longer"],
  ["an endless pattern", { type: "string", pattern: "((x{500}){500}){500}" }, "too long"],
  ["lookaround", { type: "string", pattern: "^(?=.*x)" }, "lookaround"],
  ["no expression", { type: "string", pattern: "(" }, "not a regular expression"],
])("%s is refused with the reason", (_, schema, reason) => {
  expect(() => make(schema)).toThrow(Unmakeable);
  expect(() => make(schema)).toThrow(reason);
});

test("values are simple: properties contain their own names, recursion ends early, examples are used first", () => {
  expect(make({ type: "object", properties: { city: { type: "string" }, days: { type: "integer", minimum: 3 } } })).toEqual({
    city: "city",
    days: 3,
  });
  expect(make({ $ref: "#/$defs/tree", $defs: defs })).toEqual({
    name: "name",
    children: [{ name: "name", children: [] }],
  });
  expect(make({ type: "string", examples: ["Oslo"], default: "Bergen" })).toBe("Oslo");
  expect(make({ type: ["null", "string"] })).toBe("sandbox");
});
