/**
 * Makes a value that satisfies a JSON schema, always the same for the same schema. Candidates are tried, the simplest first, and each is
 * validated against the whole schema; if none is valid, that is an error.
 */

import { Attempt } from "./attempt.ts";
import { isEqual, isValid, itemSchema, propertySchemas } from "./check.ts";
import { numbersFor, stringsFor } from "./scalars.ts";
import { type Json, type Schema, type TypeName, Unmakeable } from "./schema.ts";

/** Maximum depths of values, tried in turn: recursive schemas have shallow values, which are the readable ones. */
const DEPTHS = [4, 8, 16, 32];
/** Optional parts below this depth are left out. */
const FULL_DEPTH = 3;
const MAX_ITEMS = 10_000;
const MAX_CONJUNCTS = 500;

/**
 * Returns the value. References are resolved in `root`, the caller's whole schema. Throws `Unmakeable` for a schema without valid values, or
 * one that is too deep, too large, or not supported.
 */
export function makeValue(schema: Schema, root = schema): Json {
  const attempt = new Attempt(root);
  for (const maxDepth of DEPTHS) {
    const maker = new Maker(attempt, maxDepth);
    for (const value of maker.valuesFor(schema, 0, "")) return value;
    if (!maker.wasTooDeep) throw new Unmakeable("no value that satisfies it was found");
  }
  throw new Unmakeable("its values are nested too deeply or without end");
}

class Maker {
  readonly #attempt: Attempt;
  readonly #maxDepth: number;
  /** True if a value was discarded because it was nested too deeply. */
  wasTooDeep = false;

  constructor(attempt: Attempt, maxDepth: number) {
    this.#attempt = attempt;
    this.#maxDepth = maxDepth;
  }

  *valuesFor(schema: Schema, depth: number, name: string): Generator<Json> {
    if (depth > this.#maxDepth) {
      this.wasTooDeep = true;
      return;
    }
    for (const schemas of this.#conjunctions([schema], [], depth)) {
      for (const value of this.#candidates(schemas, depth, name)) if (isValid(schema, value, this.#attempt)) yield value;
    }
  }

  /** The ways to satisfy a schema: each is a list of schemas that must all hold, with references and combinations resolved. */
  *#conjunctions(pending: readonly Schema[], flat: readonly Schema[], depth: number): Generator<readonly Schema[]> {
    this.#attempt.spend(1 + (flat.length + pending.length) / 10);
    if (flat.length > MAX_CONJUNCTS) throw new Unmakeable(`more than ${MAX_CONJUNCTS} schemas hold at once in it`);
    // References may be circular: a schema that already holds is not added again.
    const [first, ...rest] = pending.filter((schema) => !flat.includes(schema));
    if (!first) return yield flat;
    if (flat.some((other) => !sharesType(first, other))) return;
    const { $ref, allOf = [], anyOf, oneOf } = first;
    const also = [...($ref === undefined ? [] : [this.#attempt.resolve($ref)]), ...allOf, ...rest];
    for (const one of inOrder(anyOf, depth)) {
      for (const other of inOrder(oneOf, depth)) {
        for (const branch of listBranches(first))
          yield* this.#conjunctions([...one, ...other, ...branch, ...also], [...flat, first], depth);
      }
    }
  }

  *#candidates(schemas: readonly Schema[], depth: number, name: string): Generator<Json> {
    const listed = schemas.flatMap((schema) => (schema.const !== undefined ? [[schema.const]] : schema.enum ? [schema.enum] : []));
    if (listed[0]) return yield* listed[0];
    // `default` and `examples` are skipped under `unevaluated*`, because only generated parts are known to be evaluated.
    const isOpen = schemas.every(({ unevaluatedProperties, unevaluatedItems }) => !unevaluatedProperties && !unevaluatedItems);
    for (const { default: usual, examples } of isOpen ? schemas : []) {
      if (Array.isArray(examples)) yield* examples;
      if (usual !== undefined) yield usual;
    }
    for (const type of likelyTypes(schemas)) yield* this.#ofType(type, schemas, depth, name);
  }

  *#ofType(type: TypeName, schemas: readonly Schema[], depth: number, name: string): Generator<Json> {
    switch (type) {
      case "null":
        return yield null;
      case "boolean":
        return yield* [true, false];
      case "integer":
      case "number":
        return yield* numbersFor(schemas, type === "integer");
      case "string":
        return yield* stringsFor(schemas, name, this.#attempt);
      case "array":
        return yield* this.#arrays(schemas, depth, name);
      case "object":
        return yield* this.#objects(schemas, depth);
    }
  }

  *#arrays(schemas: readonly Schema[], depth: number, name: string): Generator<Json[]> {
    const min = Math.max(
      0,
      ...schemas.map(({ minItems, contains, minContains = 1 }) => Math.max(minItems ?? 0, contains ? minContains : 0)),
    );
    const max = Math.min(MAX_ITEMS, ...schemas.map(({ maxItems }) => maxItems ?? Infinity));
    const listed = Math.max(1, ...schemas.map(({ prefixItems, items }) => (prefixItems ?? (Array.isArray(items) ? items : [])).length));
    if (min > MAX_ITEMS) throw new Unmakeable(`it asks for more than ${MAX_ITEMS} items`);
    const usual = Math.max(min, Math.min(max, depth < FULL_DEPTH ? listed : 0));
    for (const length of new Set([usual, min, Math.min(max, listed)])) {
      const items = this.#items(schemas, length, depth, name);
      if (items) yield items;
    }
  }

  #items(schemas: readonly Schema[], length: number, depth: number, name: string): Json[] | undefined {
    const isUnique = schemas.some(({ uniqueItems }) => uniqueItems);
    const made: Json[] = [];
    // Consecutive items with the same schemas share one generator of values, so that unique items need no new search.
    let last: { schemas: readonly Schema[]; values: Generator<Json> } | undefined;
    for (let index = 0; index < length; index++) {
      const wanted = schemas.flatMap((schema) => itemSchema(schema, index) ?? []);
      const others = wanted.length > 0 ? [] : schemas.flatMap(({ unevaluatedItems }) => unevaluatedItems ?? []);
      const contained = schemas.flatMap(({ contains, minContains = 1 }) => (contains && index >= length - minContains ? contains : []));
      const all = [...wanted, ...others, ...contained];
      if (!isUnique || last?.schemas.length !== all.length || !last.schemas.every((schema, at) => schema === all[at]))
        last = { schemas: all, values: this.valuesFor({ allOf: all }, depth + 1, name) };
      const item = this.#next(last.values, (value) => !isUnique || !made.some((other) => isEqual(other, value)));
      if (item === undefined) return undefined;
      this.#attempt.spend(isUnique ? made.length : 0);
      made.push(item);
    }
    return made;
  }

  /** First with all optional properties; then with the required ones, alone and with one more; then with other values of each. */
  *#objects(schemas: readonly Schema[], depth: number): Generator<Record<string, Json>> {
    const known = [...new Set(schemas.flatMap(({ properties }) => Object.keys(properties ?? {})))];
    const asked = schemas.flatMap(({ required }) => required ?? []);
    const required = [...known.filter((key) => asked.includes(key)), ...new Set(asked.filter((key) => !known.includes(key)))];
    const optional = known.filter((key) => !asked.includes(key));
    const min = Math.max(0, ...schemas.map(({ minProperties }) => minProperties ?? 0));
    const max = Math.min(Infinity, ...schemas.map(({ maxProperties }) => maxProperties ?? Infinity));
    if (min > MAX_ITEMS) throw new Unmakeable(`it asks for more than ${MAX_ITEMS} properties`);

    const choices = new Map<string, Json>();
    const choose = (key: string) => {
      if (!choices.has(key)) {
        const value = this.#first(this.#property(schemas, key), depth + 1, key);
        if (value !== undefined) choices.set(key, value);
      }
      return choices.has(key);
    };
    if (!required.every(choose)) return;
    const object = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, choices.get(key)!]));
    const room = optional.slice(0, Math.max(0, max - required.length));
    const extra = (keys: readonly string[]) => [...keys, ...this.#furtherKeys(schemas, keys, min - keys.length, choose)];
    if (depth < FULL_DEPTH) yield object(extra([...required, ...room.filter(choose)]));
    yield object(extra([...required, ...(required.length < min ? room.filter(choose).slice(0, min - required.length) : [])]));
    for (const key of optional) if (choose(key)) yield object(extra([...required, key]));
    for (const key of required) {
      let tries = 8;
      for (const value of this.valuesFor(this.#property(schemas, key), depth + 1, key)) {
        if (tries-- === 0) break;
        yield { ...object(required), ...Object.fromEntries([[key, value]]) };
      }
    }
  }

  /** All schemas of one property, combined. */
  #property(schemas: readonly Schema[], key: string): Schema {
    const said = schemas.flatMap((schema) => propertySchemas(schema, key, this.#attempt));
    return { allOf: said.length > 0 ? said : schemas.flatMap(({ unevaluatedProperties }) => unevaluatedProperties ?? []) };
  }

  /** Names of additional properties, for an object that must have more than the schemas name. */
  #furtherKeys(schemas: readonly Schema[], taken: readonly string[], count: number, choose: (key: string) => boolean): string[] {
    const found: string[] = [];
    if (count <= 0) return found;
    const patterns = schemas.flatMap(({ patternProperties }) => Object.keys(patternProperties ?? {}));
    const names = { type: ["string" as const], allOf: schemas.flatMap(({ propertyNames }) => propertyNames ?? []) };
    for (const pattern of [...patterns.map((source) => ({ pattern: source })), {}]) {
      for (const key of this.valuesFor({ ...names, ...pattern }, 0, "field")) {
        if (typeof key === "string" && !taken.includes(key) && !found.includes(key) && choose(key)) found.push(key);
        if (found.length >= count) return found;
      }
    }
    return found;
  }

  #first(schema: Schema, depth: number, name: string): Json | undefined {
    return this.#next(this.valuesFor(schema, depth, name), () => true);
  }

  /** The next accepted value; the generator continues after it. */
  #next(values: Generator<Json>, accepts: (value: Json) => boolean): Json | undefined {
    for (let next = values.next(); !next.done; next = values.next()) if (accepts(next.value)) return next.value;
    return undefined;
  }
}

/** One alternative at a time; at great depth, those without further nesting come first. */
function inOrder(alternatives: readonly Schema[] | undefined, depth: number): readonly (readonly Schema[])[] {
  if (!alternatives) return [[]];
  const isEnd = ({ $ref, type }: Schema) => $ref === undefined && type?.every((name) => name !== "object" && name !== "array");
  const ordered = depth < FULL_DEPTH ? alternatives : [...alternatives.filter(isEnd), ...alternatives.filter((one) => !isEnd(one))];
  return ordered.map((one) => [one]);
}

/** True if a value can have a type that both schemas allow. */
function sharesType({ type: one }: Schema, { type: other }: Schema): boolean {
  const isWithin = (type: TypeName, types: readonly TypeName[]) => types.includes(type) || (type === "integer" && types.includes("number"));
  return !one || !other || one.some((type) => isWithin(type, other)) || other.some((type) => isWithin(type, one));
}

function listBranches({ if: condition, then: met, else: unmet }: Schema): readonly (readonly Schema[])[] {
  if (!condition) return [[]];
  return [[condition, ...(met ? [met] : [])], unmet ? [unmet] : []];
}

const ALL_TYPES: readonly TypeName[] = ["object", "array", "string", "integer", "number", "boolean", "null"];
const HINTS: Partial<Record<TypeName, readonly (keyof Schema)[]>> = {
  object: ["properties", "required", "additionalProperties", "patternProperties", "minProperties", "propertyNames"],
  array: ["items", "prefixItems", "minItems", "uniqueItems", "contains"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
};

/** The types that a value may have: the named ones, `null` last; else those that the keywords apply to, then any. */
function likelyTypes(schemas: readonly Schema[]): readonly TypeName[] {
  const named = schemas.flatMap(({ type }) => (type ? [type] : []));
  if (named.length > 0) {
    const allows = (type: TypeName) => named.every((types) => types.includes(type) || (type === "integer" && types.includes("number")));
    const [first = []] = named;
    const asked = first.flatMap((type): TypeName[] => (type === "number" ? ["number", "integer"] : [type]));
    return asked.filter(allows).sort((one, other) => Number(one === "null") - Number(other === "null"));
  }
  const hinted = ALL_TYPES.filter((type) => HINTS[type]?.some((key) => schemas.some((schema) => schema[key] !== undefined)));
  return [...new Set<TypeName>([...hinted, "string", ...ALL_TYPES])];
}
