/** Checks an operator's entry as strictly as code: what it would break is refused when it is saved. Pure. */

import * as z from "zod/mini";
import { once } from "../base/once.ts";
import { fileFamilies } from "../base/words.ts";
import { beyondLimit, notOneOf, unknownField, type Violation } from "../base/errors.ts";
import { builtInCatalog, type Catalog, likeOf } from "./catalog.ts";
import { reportedCosts, splitCost } from "./cost-parts.ts";
import { day, mapOf } from "./fields.ts";
import { isAmount } from "./millionths.ts";
import { deadlineSeconds, type Entry, type Kind, type Model } from "./models.ts";
import { checkOwnPrice } from "./own-price.ts";
import { type JsonSchema, prepareSchema } from "./own-schema.ts";
import { toViolations } from "./parse.ts";

/** Names of models stand in paths and in JSON of other systems. */
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The longest deadline of the built-in models: the operations Worker counts on it. */
const maxDeadlineSeconds = Math.max(...Object.values(deadlineSeconds));

const setting = () => z.union([z.string().check(z.maxLength(2_000)), z.number(), z.boolean(), z.array(z.string()).check(z.maxLength(64))]);

/** A price or cost: amounts by name, and rules that read fields of an own input. */
const amounts = () => mapOf(z.union([z.number(), z.string(), mapOf(mapOf(z.number()))]));

const routeFields = once(() =>
  z.object({
    provider: z.string(),
    model: z.string().check(z.minLength(1), z.maxLength(200)),
    settings: z.optional(mapOf(setting())),
    retires: z.optional(day()),
    cost: z.optional(amounts()),
    bills_failures: z.optional(z.boolean()),
    first_without_images: z.optional(z.boolean()),
  }),
);

export const entryFields = once(() =>
  z.object({
    id: z.optional(z.string()),
    kind: z.optional(z.enum(["text", ...fileFamilies])),
    title: z.optional(z.string().check(z.minLength(1), z.maxLength(80))),
    aliases: z.optional(z.array(z.string()).check(z.maxLength(16))),
    body: z.optional(z.union([z.string(), mapOf(z.unknown())])),
    price: z.optional(amounts()),
    typical_seconds: z.optional(z.int().check(z.gte(1), z.lte(maxDeadlineSeconds))),
    deadline_seconds: z.optional(z.int().check(z.gte(30), z.lte(maxDeadlineSeconds))),
    state: z.optional(z.enum(["live", "hidden"])),
    routes: z.optional(z.array(routeFields()).check(z.minLength(1), z.maxLength(32))),
  }),
);

const required = (param: string): Violation => ({ param, rule: "required" });

/** What an entry is checked against: the models beside it, and the names of the providers. */
interface Surroundings {
  catalog: Catalog;
  providers: readonly string[];
}

/** An entry with this id, or every rule that it violates. */
export function checkEntry(raw: Record<string, unknown>, id: string, around: Surroundings): { entry: Entry; violations: Violation[] } {
  const result = entryFields().safeParse(raw);
  const entry: Entry = { ...(result.success ? (result.data as Omit<Entry, "id">) : {}), id };
  const malformed = [...(result.success ? [] : toViolations(result.error, raw).map(byName)), ...unknownFields(raw)];
  if (malformed.length > 0) return { entry, violations: malformed };
  const base = builtInCatalog().all.find((model) => model.id === id);
  const violations = [
    ...(raw["id"] === undefined || raw["id"] === id ? [] : [notOneOf("id", [id])]),
    ...checkNames(entry, around.catalog),
    ...checkTimes(entry, base),
    ...(base ? fixedFields(entry) : requiredFields(entry)),
    ...(entry.routes ?? []).flatMap(({ provider }, at) =>
      around.providers.includes(provider) ? [] : [notOneOf(`routes[${at}].provider`, around.providers)],
    ),
  ];
  if (!base && typeof entry.body === "object") return { entry, violations: [...violations, ...checkOwn(entry, entry.body)] };
  // The prices of a built-in model that is like another are named as those of the other.
  const named = builtInCatalog().named(base?.like ?? likeOf(entry));
  const isOfKind = base !== undefined || named?.family === (entry.kind === "text" ? "chat" : entry.kind);
  const like = isOfKind && named?.like === named?.id ? named : undefined;
  return {
    entry,
    violations: like ? [...violations, ...checkPrice(entry, like, base), ...checkCosts(entry, like)] : violations,
  };
}

/** Amounts and rules share one schema: the name shows that a value in a price or cost must be an amount. */
function byName(violation: Violation): Violation {
  const { param, rule } = violation;
  const [, name] = /^(?:price|routes\[\d+\]\.cost)\.(?!(?:count|seconds|factors)$)(\w+)$/.exec(param) ?? [];
  if (name === undefined || rule !== "wrong_type") return violation;
  return name.endsWith("_x") ? beyondLimit(param, "out_of_range", factorRange) : beyondLimit(param, "number_range", amountRange);
}

/** A stored entry that the checks refuse, with every rule that it violates. */
export interface RefusedEntry {
  id: string;
  violations: Violation[];
}

const refused = new WeakMap<Catalog, readonly RefusedEntry[]>();

/**
 * The operator's entries that passed when they were saved, and would be refused now: a release has other rules, or brought a model with
 * their names. They stay in use as they are. Each catalogue is checked once.
 */
export function refusedEntries(catalog: Catalog, providers: readonly string[]): readonly RefusedEntry[] {
  const known = refused.get(catalog);
  if (known) return known;
  const found = catalog.stored
    .filter(({ isRemoved }) => !isRemoved)
    .flatMap(({ entry: { id, ...fields } }): RefusedEntry[] => {
      const { violations } = checkEntry({ ...fields }, id, { catalog, providers });
      return violations.length > 0 ? [{ id, violations }] : [];
    });
  refused.set(catalog, found);
  return found;
}

/** The schema of an own input, and the price and costs that read its fields. */
function checkOwn({ price, routes = [] }: Entry, body: JsonSchema): Violation[] {
  const { schema, violations } = prepareSchema(structuredClone(body), "body");
  if (violations.length > 0) return violations;
  const costs = routes.flatMap(({ cost = {} }, at) => {
    const field = `routes[${at}].cost`;
    const { own, reported } = splitCost(cost);
    const wrong = own ? checkOwnPrice({ ...own }, schema) : [];
    return [
      ...wrong.map((one) => ({ ...one, param: one.param.replace(/^price/, field) })),
      ...checkAmounts(reported, field, reportedCosts),
    ];
  });
  return [...(price ? checkOwnPrice({ ...price }, schema) : []), ...costs];
}

/** A field that is not known would be a mistake that has no effect. */
function unknownFields(raw: Record<string, unknown>): Violation[] {
  const unknown = (value: unknown, prefix: string, { shape }: { shape: object }): Violation[] => {
    if (typeof value !== "object" || value === null) return [];
    const allowed = Object.keys(shape);
    return Object.keys(value)
      .filter((name) => !allowed.includes(name))
      .map((name) => unknownField(`${prefix}${name.slice(0, 64)}`, allowed));
  };
  const { routes } = raw;
  return [
    ...unknown(raw, "", entryFields()),
    ...(Array.isArray(routes) ? routes.flatMap((route, at) => unknown(route, `routes[${at}].`, routeFields())) : []),
  ];
}

/** The id and aliases: their form, and that no other model has them. */
function checkNames({ id, aliases = [] }: Entry, catalog: Catalog): Violation[] {
  const names = [["id", id] as const, ...aliases.map((alias, at) => [`aliases[${at}]`, alias] as const)];
  return names.flatMap(([param, name], at): Violation[] => {
    if (!nameForm.test(name)) return [{ param, rule: "bad_model_name" }];
    const owner = catalog.all.find(
      (other) => other.id !== id && other.state !== "removed" && (other.id === name || other.aliases.includes(name)),
    );
    const isTwice = names.findIndex((other) => other[1] === name) < at;
    if (!owner && !isTwice) return [];
    return [{ param, rule: "name_taken", values: { model: owner?.id ?? id } }];
  });
}

/** A task that takes as long as is typical must not fail at its deadline. */
function checkTimes({ kind, typical_seconds: typical = 0, deadline_seconds: deadline }: Entry, base: Model | undefined): Violation[] {
  const maximum = deadline ?? base?.deadlineSeconds ?? deadlineSeconds[(kind ?? base?.family) as Kind] ?? typical;
  return typical > maximum ? [beyondLimit("typical_seconds", "too_big", { maximum })] : [];
}

/** What callers of a built-in model rely on stays. */
const fixedFields = (entry: Entry): Violation[] =>
  (["kind", "body", "aliases"] as const).flatMap((param) => (entry[param] === undefined ? [] : [{ param, rule: "fixed_built_in" }]));

function requiredFields({ kind, body, price, routes }: Entry): Violation[] {
  const allowed = [...builtInCatalog().live.flatMap(({ id, family }) => (family === kind ? [`like:${id}`] : [])), "{JSON Schema}"];
  const missing = [...(kind ? [] : [required("kind")]), ...(price ? [] : [required("price")]), ...(routes ? [] : [required("routes")])];
  if (kind === undefined) return missing;
  if (kind === "text") return body === undefined ? missing : [...missing, { param: "body", rule: "no_body_of_text" }];
  return typeof body === "object" || (body !== undefined && allowed.slice(0, -1).includes(body))
    ? missing
    : [...missing, notOneOf("body", allowed)];
}

/** Every action must have a price, and every price must be exact in millionths. A chat's hold is of tokens that are not cached, so cached ones cost at most as much. */
function checkPrice({ price, state }: Entry, like: Model, base: Model | undefined): Violation[] {
  if (!price && !base) return [];
  const names = Object.keys(like.price);
  // A built-in model that comes hidden and without a price gets one before it is sold.
  const given: Record<string, unknown> = { ...base?.price, ...price };
  const isUnsold = base?.state === "hidden" && state !== "live";
  const missing = isUnsold ? [] : names.filter((name) => !name.endsWith("_x") && given[name] === undefined);
  const amounts = { ...price } as Record<string, unknown>;
  const maximum = amounts["input"] ?? (base?.price.input ?? 0) / 1e6;
  const isDear = like.family === "chat" && Number(amounts["cached_input"]) > Number(maximum);
  return [
    ...missing.map((name) => required(`price.${name}`)),
    ...checkAmounts(amounts, "price", like.family === "chat" ? [...names, "cached_input"] : names),
    ...(isDear ? [beyondLimit("price.cached_input", "number_range", { minimum: 0, maximum: Number(maximum) })] : []),
  ];
}

/** The cost of each route: what the model's price may be made of, or measures that the maker reports. None is required. */
const checkCosts = ({ routes = [] }: Entry, like: Model): Violation[] =>
  routes.flatMap(({ cost = {} }, at) =>
    checkAmounts({ ...cost }, `routes[${at}].cost`, [...new Set([...Object.keys(like.price), ...reportedCosts])]),
  );

/** The ranges of an amount and of a factor in a price or cost. */
const amountRange = { minimum: 0, maximum: 1e6 };
const factorRange = { minimum: 1, maximum: 100 };

/** Amounts must have a known name and be exact in millionths. */
const checkAmounts = (given: Record<string, unknown>, field: string, known: readonly string[]): Violation[] =>
  Object.entries(given).flatMap(([name, amount]): Violation[] => {
    const param = `${field}.${name.slice(0, 64)}`;
    if (!known.includes(name)) return [unknownField(param, known)];
    if (name.endsWith("_x"))
      return Number.isSafeInteger(amount) && isAmount(amount, 1, 100) ? [] : [beyondLimit(param, "out_of_range", factorRange)];
    return isAmount(amount, 0, 1e6) ? [] : [beyondLimit(param, "number_range", amountRange)];
  });
