/** Prices of models with their own input: rules that read fields of the input. A price is known before anything is asked upstream. Pure. */

import { beyondLimit, notOneOf, unknownField, type Violation } from "../base/errors.ts";
import { isObject } from "../base/is-object.ts";
import { isAmount } from "./millionths.ts";
import { type JsonSchema, merged } from "./own-schema.ts";

/** What an entry says, with amounts in balance units; in a model's rule they are millionths. Exactly one of the three amounts. */
export interface OwnPrice {
  /** per task */
  task?: number;
  /** per image; `count` is the field with their number, without it there is one */
  image?: number;
  count?: string;
  /** per second; `seconds` is the field with their number: 5, "5", or "5s" */
  second?: number;
  seconds?: string;
  /** Field -> its value as text -> factor of the amount. `*` is every other value. */
  factors?: Record<string, Record<string, number>>;
}

const amounts = ["task", "image", "second"] as const;
const fields = [...amounts, "count", "seconds", "factors"];
/** Numbers of images and seconds that can be priced. */
const maxNumber = 3_600;
const maxPrice = 1e6;

/** The rule with millionths, from a checked entry. */
export function toRule(price: Record<string, unknown>): OwnPrice {
  const rule = { ...(price as OwnPrice) };
  for (const name of amounts) if (rule[name] !== undefined) rule[name] = Math.round(rule[name] * 1e6);
  return rule;
}

/** The amount of a rule, in balance units, as `/v1/models` and receipts show it. */
export const shownOwnPrice = (rule: OwnPrice): Record<string, number> =>
  Object.fromEntries(amounts.flatMap((name) => (rule[name] === undefined ? [] : [[name, rule[name] / 1e6]])));

/** The whole rule in balance units. */
export const shownRule = (rule: OwnPrice): OwnPrice => ({ ...rule, ...shownOwnPrice(rule) });

/** The fields that a rule reads. */
export const readFields = ({ count, seconds, factors = {} }: OwnPrice): string[] =>
  [count, seconds, ...Object.keys(factors)].filter((name) => name !== undefined);

/** The input with the defaults of those of the fields that it lacks: the upstream may change its own defaults. */
export function withDefaults(fields: readonly string[], schema: JsonSchema, input: JsonSchema): JsonSchema {
  const missing = fields.filter((name) => input[name] === undefined && fieldSchema(schema, name)?.["default"] != null);
  return missing.length === 0
    ? input
    : { ...input, ...Object.fromEntries(missing.map((name) => [name, fieldSchema(schema, name)!["default"]])) };
}

/** The values of an input that decide what a rule makes of it: numbers, and words that the rule names. */
export function readPart({ count, seconds, factors = {} }: OwnPrice, input: JsonSchema): JsonSchema {
  const numbers = [count, seconds].filter((name) => name !== undefined && toNumber(input[name], false) !== undefined) as string[];
  const words = Object.entries(factors).flatMap(([name, values]) => (isNamed(values, input[name]) ? [name] : []));
  return Object.fromEntries([...numbers, ...words].map((name) => [name, input[name]]));
}

/** The price of an input and of one of its images, in whole millionths, rounded up; or the field that has no price. */
export function priceInput(rule: OwnPrice, input: JsonSchema): { price: number; imagePrice?: number } | Violation {
  let factor = 1;
  for (const [field, values] of Object.entries(rule.factors ?? {})) {
    const found = factorFor(values, input[field]);
    if (found === undefined) return { param: `input.${field}`, rule: "no_price" };
    factor *= found;
  }
  const { task, image, second, count, seconds } = rule;
  const field = task !== undefined ? undefined : image === undefined ? seconds : count;
  const number = field === undefined ? 1 : toNumber(input[field], image !== undefined);
  const each = Math.ceil((task ?? image ?? second ?? 0) * factor * (image === undefined ? (number ?? 1) : 1) - 1e-6);
  const price = image === undefined ? each : each * (number ?? 1);
  // Of large amounts and factors even the product of listed values cannot be exact any more.
  if (number === undefined || !Number.isSafeInteger(price))
    return { param: field === undefined ? "input" : `input.${field}`, rule: "no_price" };
  return image === undefined ? { price } : { price, imagePrice: each };
}

const isNamed = (values: Record<string, number>, value: unknown): boolean =>
  (typeof value === "string" || typeof value === "number" || typeof value === "boolean") && Object.hasOwn(values, String(value));

const factorFor = (values: Record<string, number>, value: unknown): number | undefined =>
  values[isNamed(values, value) ? String(value) : "*"];

/** A number of seconds or images, also as text. */
function toNumber(value: unknown, isWhole: boolean): number | undefined {
  const text =
    typeof value === "number" ? String(value) : typeof value === "string" ? /^(\d{1,6}(?:\.\d{1,6})?)\s?s?$/.exec(value)?.[1] : undefined;
  const number = Number(text);
  return text !== undefined && number > 0 && number <= maxNumber && (!isWhole || Number.isInteger(number)) ? number : undefined;
}

/** The schema of a field of the input, without null as an alternative. */
function fieldSchema({ properties }: JsonSchema, name: string): JsonSchema | undefined {
  const found = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isObject(found) ? merged(found) : undefined;
}

/** The values that a schema allows, if it lists them. */
function listed({ enum: words, const: word, type }: JsonSchema): unknown[] | undefined {
  if (Array.isArray(words)) return words.filter((one) => one !== null);
  if (word !== undefined) return [word];
  return type === "boolean" ? [true, false] : undefined;
}

/**
 * Checks the price of an entry against the prepared schema of its input: its form, and that every value that the schema allows has a
 * price, as far as the schema tells. A field that may be missing needs a default.
 */
export function checkOwnPrice(price: Record<string, unknown>, schema: JsonSchema): Violation[] {
  const violations: Violation[] = [];
  const add = (violation: Violation) => void violations.push({ ...violation, param: `price.${violation.param}`.slice(0, 256) });
  const notObject = (param: string): Violation => ({ param, rule: "wrong_type", values: { expected: "object" } });
  for (const name of Object.keys(price)) if (!fields.includes(name)) add(unknownField(name.slice(0, 64), fields));
  const given = amounts.filter((name) => price[name] !== undefined);
  if (given.length !== 1)
    violations.push({ param: "price", rule: "one_of_required", values: { fields: amounts.join(", ") }, allowed: amounts });
  for (const name of given) {
    const amount = price[name];
    if (!isAmount(amount, 0, maxPrice)) add(beyondLimit(name, "number_range", { minimum: 0, maximum: maxPrice }));
  }
  const [amount] = given;
  const { count, seconds, factors = {} } = price;
  if (amount === "second" && seconds === undefined) add({ param: "seconds", rule: "required" });
  for (const [name, value, of] of [
    ["count", count, "image"],
    ["seconds", seconds, "second"],
  ] as const) {
    if (value === undefined) continue;
    if (amount !== of) add({ param: name, rule: "not_together", values: { other: `price.${amount ?? ""}` } });
    else checkField(name, value, (one) => toNumber(one, of === "image") !== undefined);
  }
  if (!isObject(factors)) add(notObject("factors"));
  else
    for (const [field, values] of Object.entries(factors)) {
      const wrong = isObject(values) ? Object.entries(values).filter(([, one]) => !isAmount(one, 0, 1_000)) : [];
      if (!isObject(values)) add(notObject(`factors.${field}`));
      else if (wrong.length > 0)
        for (const [value] of wrong) add(beyondLimit(`factors.${field}.${value}`, "number_range", { minimum: 0, maximum: 1_000 }));
      else {
        checkField(`factors.${field}`, field, (one) => factorFor(values as Record<string, number>, one) !== undefined, "*" in values);
        // A mistyped value would leave the real one to `*`, at another price.
        const known = listed(fieldSchema(schema, field) ?? {})?.map(String);
        for (const value of Object.keys(values))
          if (known && value !== "*" && !known.includes(value)) add(notOneOf(`factors.${field}.${value}`, [...known, "*"]));
      }
    }
  return violations;

  function checkField(param: string, name: unknown, hasPrice: (value: unknown) => boolean, takesAll = false): void {
    const field = typeof name === "string" ? fieldSchema(schema, name) : undefined;
    if (!field) return add(notOneOf(param, Object.keys((schema["properties"] as object | undefined) ?? {})));
    const { default: fallback } = field;
    const isRequired = (schema["required"] as string[] | undefined)?.includes(name as string) ?? false;
    if (takesAll) return;
    if (!isRequired && fallback == null) return add({ param, rule: "price_no_default" });
    const values = [...(listed(field) ?? []), ...(fallback == null ? [] : [fallback])];
    const without = [...new Set(values.filter((value) => !hasPrice(value)).map(String))];
    if (without.length > 0) return add({ param, rule: "price_missing_values", values: { allowed: without.join(", ") }, allowed: without });
    // A text or list without listed values may be anything; a number is checked when it is given.
    if (listed(field) === undefined && (param.startsWith("factors.") || !["integer", "number"].includes(field["type"] as string)))
      add({ param, rule: "price_open_values" });
  }
}
