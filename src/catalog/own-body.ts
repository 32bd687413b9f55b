/** Bodies of models with their own input: `{model, prompt?, input}`, checked by the upstream's own JSON Schema. Pure. */

import { type OutputUnit, Validator } from "@cfworker/json-schema";
import { beyondLimit, maxViolations, notOneOf, toParam, unknownField, valueAt, type Violation } from "../base/errors.ts";
import { isObject } from "../base/is-object.ts";
import { findInInput, type FoundFile, type JsonSchema, maxUniqueItems, prepareSchema, type Step } from "./own-schema.ts";
import { type OwnPrice, priceInput, withDefaults } from "./own-price.ts";

/** What a model with its own input has in place of a body of the interface. */
export interface OwnInput {
  /** The schema as the operator stored it. */
  schema: JsonSchema;
  /** Amounts in millionths. */
  price: OwnPrice;
  /** The fields that the price or the cost of a route reads. */
  reads: readonly string[];
}

/** The fields beside `input` that every submission has. */
const commonFields = ["model", "prompt", "input", "callback_url", "reference", "max_cost", "deliver_to", "store"];
/** The input is in the task's record, without inline files. */
const maxInputLength = 64 * 1024;
/** Inline files and files of the account, each of which is stored for the task. */
const maxStoredFiles = 16;

interface Compiled {
  schema: JsonSchema;
  validator: Validator;
}

const compiled = new WeakMap<JsonSchema, Compiled>();

/** The prepared schema and its validator, made once in an isolate and only when first needed: few models of a large catalogue are asked for. */
function compile({ schema: source }: Pick<OwnInput, "schema">): Compiled {
  const known = compiled.get(source);
  if (known) return known;
  // The validator notes addresses in the schema's objects.
  const { schema } = prepareSchema(structuredClone(source), "body");
  const made = { schema, validator: new Validator(schema, "2020-12", false) };
  compiled.set(source, made);
  return made;
}

/** True if the upstream takes a prompt in the field of that name. */
export const takesPrompt = (own: OwnInput): boolean => {
  const { properties } = compile(own).schema as { properties?: object };
  return properties !== undefined && Object.hasOwn(properties, "prompt");
};

export interface OwnBody {
  /** The whole input with the prompt, and with the defaults that the price and the costs depend on. */
  input: JsonSchema;
  /** Files that the input names, with their paths in it. */
  files: FoundFile[];
  violations: Violation[];
}

/** `["frames", 0, "url"]` -> `input.frames[0].url`; the prompt may stand beside the input. */
const toInputParam = (at: readonly Step[]) => toParam(["input", ...at]);

/** Parses a body without nulls. `more` are further fields that the request may have. */
export function parseOwnBody(own: OwnInput, body: Record<string, unknown>, more: readonly string[] = []): OwnBody {
  const { schema, validator } = compile(own);
  const allowed = [...commonFields, ...more];
  const violations: Violation[] = Object.keys(body)
    .filter((name) => !allowed.includes(name))
    .map((name) => unknownField(name.slice(0, 64), allowed));
  const { prompt, input: given = {} } = body;
  const refuse = (...found: Violation[]): OwnBody => ({
    input: {},
    files: [],
    violations: [...violations, ...found].slice(0, maxViolations),
  });
  if (!isObject(given)) return refuse({ param: "input", rule: "wrong_type", values: { expected: "object" } });
  if (prompt !== undefined && Object.hasOwn(given, "prompt"))
    return refuse({ param: "prompt", rule: "not_together", values: { other: "input.prompt" } });
  if (prompt !== undefined && !takesPrompt(own))
    return refuse(
      unknownField(
        "prompt",
        commonFields.filter((name) => name !== "prompt"),
      ),
    );
  const input = withDefaults(own.reads, schema, { ...given, ...(prompt !== undefined && { prompt }) });
  const { files, unknown, tooLong } = findInInput(schema, input);
  if (tooLong.length > 0) return refuse(...tooLong.map((at) => beyondLimit(toInputParam(at), "too_big_list", { maximum: maxUniqueItems })));
  const surplus = files.filter(({ value }) => !/^\s*https?:/i.test(value))[maxStoredFiles];
  if (surplus) return refuse({ param: fileParam(surplus), rule: "too_many_images" });
  // Inline files are stored apart from the record.
  const inline = files.filter(({ value }) => /^data:/i.test(value));
  const length = JSON.stringify(input).length - inline.reduce((sum, { value }) => sum + value.length, 0);
  if (length > maxInputLength) return refuse(beyondLimit("input", "too_long", { maximum: maxInputLength }));
  const found = [
    ...unknown.map(({ at, allowed: names }) => unknownField(toInputParam(at), names)),
    ...toViolations(validator.validate(input).errors, schema, input).filter(({ param }) =>
      unknown.every(({ at }) => toInputParam(at) !== param),
    ),
  ].map((one) => (prompt !== undefined && one.param === "input.prompt" ? { ...one, param: "prompt" } : one));
  if (violations.length + found.length > 0) return refuse(...found);
  const priced = priceInput(own.price, input);
  return "rule" in priced ? refuse(priced) : { input, files, violations };
}

/** The path of a file that an input names. */
export const fileParam = ({ at }: Pick<FoundFile, "at">): string => toInputParam(at);

/** Keywords whose errors only say that there are errors inside. */
const outer = new Set([
  "properties",
  "patternProperties",
  "items",
  "prefixItems",
  "allOf",
  "anyOf",
  "if",
  "then",
  "else",
  "additionalProperties",
]);

/** The validator's errors: one for each place, the most telling one. */
function toViolations(errors: OutputUnit[], schema: JsonSchema, input: JsonSchema): Violation[] {
  const found = new Map<string, Violation>();
  for (const { keyword, keywordLocation, instanceLocation } of errors) {
    if (outer.has(keyword)) continue;
    const at = steps(instanceLocation, input);
    const rule = valueAt(schema, keywordLocation.split("/").slice(1).map(decode));
    for (const one of toViolation(keyword, rule, at, valueAt(input, at))) {
      const earlier = found.get(one.param);
      // Of alternatives, one with the right type says more than one with another type.
      if (!earlier || (earlier.rule === "wrong_type" && one.rule !== "wrong_type")) found.set(one.param, one);
    }
    if (found.size >= maxViolations) break;
  }
  // Nothing inside an alternative was wrong by itself, such as two that match where one may.
  if (found.size === 0 && errors.length > 0)
    found.set("input", { param: toInputParam(steps(errors.at(-1)!.instanceLocation, input)), rule: "wrong_form" });
  return [...found.values()];
}

const decode = (step: string) => {
  const text = step.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** A pointer as steps; those into lists are numbers. */
function steps(pointer: string, input: unknown): Step[] {
  let value = input;
  return pointer
    .split("/")
    .slice(1)
    .map((text) => {
      const step = Array.isArray(value) ? Number(text) : decode(text);
      value = valueAt(value, [step]);
      return step;
    });
}

function toViolation(keyword: string, rule: unknown, at: readonly Step[], value: unknown): Violation[] {
  const param = toInputParam(at);
  const limited = (name: string, limit: "minimum" | "maximum") => [beyondLimit(param, name, { [limit]: Number(rule) })];
  /** `pattern`, `format`, `multipleOf` and the like say themselves what is allowed; a whole schema is too long. */
  const wrongForm: Violation = { param, rule: "wrong_form", ...(typeof rule !== "object" && { allowed: { [keyword]: rule } }) };
  switch (keyword) {
    case "type":
      // Null is an absent field.
      return rule === "null"
        ? []
        : [
            {
              param,
              rule: "wrong_type",
              values: {
                expected: [rule]
                  .flat()
                  .filter((one) => one !== "null")
                  .join(", "),
              },
            },
          ];
    case "enum":
    case "const": {
      const allowed = keyword === "const" ? [rule] : (rule as unknown[]);
      return [notOneOf(param, allowed)];
    }
    case "required": {
      const has = (name: string) => typeof value === "object" && value !== null && Object.hasOwn(value, name);
      return (rule as string[]).filter((name) => !has(name)).map((name) => ({ param: toInputParam([...at, name]), rule: "required" }));
    }
    case "minimum":
      return limited("too_small", "minimum");
    case "maximum":
      return limited("too_big", "maximum");
    case "maxLength":
      return limited("too_long", "maximum");
    case "minItems":
      return limited("too_small_list", "minimum");
    case "maxItems":
      return limited("too_big_list", "maximum");
    case "minLength":
      return value === "" ? [{ param, rule: "blank" }] : [wrongForm];
    default:
      return [wrongForm];
  }
}
