/** Numbers and strings that probably satisfy several schemas at once, the simplest first. They are validated afterwards. */

import type { Attempt } from "./attempt.ts";
import { formatNamed } from "./formats.ts";
import type { Pattern } from "./pattern.ts";
import { type Schema, Unmakeable } from "./schema.ts";

const TRIES = 300;
const MAX_LENGTH = 100_000;

/** Numbers for all of `schemas`; only whole ones with `isWhole`. */
export function* numbersFor(schemas: readonly Schema[], isWhole: boolean): Generator<number> {
  const low = Math.max(...schemas.flatMap(({ minimum, exclusiveMinimum }) => [minimum ?? -Infinity, exclusiveMinimum ?? -Infinity]));
  const high = Math.min(...schemas.flatMap(({ maximum, exclusiveMaximum }) => [maximum ?? Infinity, exclusiveMaximum ?? Infinity]));
  const divisors = schemas.flatMap(({ multipleOf }) => multipleOf ?? []);
  const step = [...divisors, ...(isWhole || divisors.length === 0 ? [1] : [])].reduce(commonMultiple);
  const start = Math.ceil(Math.min(Math.max(step, low), high) / step);
  for (let index = 0; index < TRIES; index++) yield (start + index) * step;
  for (let index = 1; index < TRIES; index++) yield (start - index) * step;
  if (isWhole || divisors.length > 0) return;
  const from = Number.isFinite(low) ? low : high - 1;
  const to = Number.isFinite(high) ? high : low + 1;
  for (let parts = 1; parts < TRIES; parts++) yield from + (to - from) / parts;
  yield from;
}

/** The smallest number that both divide; their product if it cannot be computed. */
function commonMultiple(one: number, other: number): number {
  const larger = Math.max(one, other);
  for (let times = 1; times <= 1000; times++) if (Number.isInteger((larger * times) / Math.min(one, other))) return larger * times;
  return one * other;
}

/** Strings for all of `schemas`; `name` is their property's name, and the text if no other is required. */
export function* stringsFor(schemas: readonly Schema[], name: string, attempt: Attempt): Generator<string> {
  const min = Math.max(0, ...schemas.map(({ minLength }) => minLength ?? 0));
  const max = Math.min(Infinity, ...schemas.map(({ maxLength }) => maxLength ?? Infinity));
  if (min > MAX_LENGTH) throw new Unmakeable(`it asks for a string longer than ${MAX_LENGTH} characters`);
  const filling = (text: string) => "x".repeat(Math.max(0, min - text.length));
  for (const format of schemas.flatMap((schema) => formatNamed(schema.format ?? "") ?? [])) {
    for (let index = 0; index < TRIES; index++) yield format.sample(index, filling(format.sample(index, "")));
  }
  for (const { pattern } of schemas) if (pattern !== undefined) yield* readTexts(attempt.pattern(pattern), min);
  for (let index = 0; index < TRIES; index++) {
    const ending = index === 0 ? "" : ` ${index + 1}`.slice(-max);
    const text = Array.from(name || "sandbox").slice(0, Math.max(0, max - ending.length));
    yield text.join("") + filling(text.join("") + ending) + ending;
  }
  if (max === 1) yield* "abcdefghijklmnopqrstuvwxyz";
}

/** Texts that match a pattern and have at least `min` characters if it allows that; text around an unanchored match is filled. */
function* readTexts(pattern: Pattern, min: number): Generator<string> {
  const shortest = Array.from(pattern.sample(0, 0)).length;
  const missing = Math.max(0, min - shortest);
  for (const extra of new Set([missing, missing + 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, missing + 2, missing + 3])) {
    for (let variation = 0; variation < 12; variation++) yield pattern.sample(variation, extra);
  }
  const text = pattern.sample(0, 0);
  const filling = "x".repeat(missing);
  yield text + filling;
  for (let index = 1; index < TRIES; index++) yield text + filling + String(index);
  yield filling + text;
}
