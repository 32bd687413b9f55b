/** An entry that an admin edits: read from the form or from the JSON, which are two views of it. */

import { builtInCatalog, likeOf } from "../../../catalog/catalog.ts";
import type { Model } from "../../../catalog/models.ts";
import { formatEntry, isSyntaxProblem, parseEntry, type ShownEntry, type SyntaxProblem } from "./entry-text.ts";

export interface Draft {
  /** The model's id; empty while that of a new model is not typed. */
  id: string;
  isNew: boolean;
  /** The revision that the change is based on; 0 if the model has none. */
  revision: number;
  entry: ShownEntry;
  /** The JSON as it was typed. */
  text: string;
  /** Set if `text` is no JSON: then `entry` is the last one that was. */
  syntax?: SyntaxProblem;
}

export const builtIn = (id: string): Model | undefined => builtInCatalog().all.find((model) => model.id === id);

/** The built-in model whose prices and limits an entry has: itself, or the one that it names. */
export const likeModel = (id: string, entry: ShownEntry): Model | undefined =>
  builtInCatalog().named(
    builtIn(id)?.like ?? likeOf({ kind: entry["kind"] as "text", body: typeof entry["body"] === "string" ? entry["body"] : "" }),
  );

/** A draft of an entry as it is stored. */
export const toDraft = (id: string, entry: ShownEntry, revision: number, isNew = false): Draft => ({
  id,
  isNew,
  revision,
  entry,
  text: formatEntry(entry),
});

type Field = (name: string) => string;

/** What is typed: a number if it is one, else the text, which the gateway refuses by the field's name. */
const toNumber = (text: string): number | string => (/^-?\d{1,12}(\.\d{1,12})?$/.test(text) ? Number(text) : text);

/** The entry with this value of a field, or without the field if the value is empty. */
const withField = (entry: ShownEntry, name: string, value: unknown): ShownEntry => {
  const { [name]: _, ...others } = entry;
  return value === undefined || value === "" ? others : { ...others, [name]: value };
};

/** An object of an entry, for values that should be one. */
export const asObject = (value: unknown): ShownEntry =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as ShownEntry) : {};

/** The routes of an entry; empty if there are none. */
export const routesOf = (entry: ShownEntry): ShownEntry[] => (Array.isArray(entry["routes"]) ? entry["routes"].map(asObject) : []);

/** Names of prices: those of the model whose body it has, cached tokens of chats, and what the entry has. */
export function priceNames(id: string, entry: ShownEntry): string[] {
  const like = likeModel(id, entry);
  const cached = like?.family === "chat" ? ["cached_input"] : [];
  return [...new Set([...Object.keys(like?.price ?? {}), ...cached, ...Object.keys(asObject(entry["price"]))])];
}

/** Names of a route's cost: those of prices, and what the route has. */
export const costNames = (id: string, entry: ShownEntry, route: ShownEntry): string[] => [
  ...new Set([...priceNames(id, entry), ...Object.keys(asObject(route["cost"]))]),
];

/** Values that a form shows in a text field; others are changed as JSON alone. */
export const isPlain = (value: unknown): value is string | number => typeof value === "number" || typeof value === "string";

/** The amounts of an object with what is typed for each; a nested rule stays. */
function readAmounts(field: Field, prefix: string, names: string[], before: ShownEntry): ShownEntry | undefined {
  const amounts = names.flatMap((name): [string, unknown][] => {
    const value = before[name];
    if (value !== undefined && !isPlain(value)) return [[name, value]];
    const text = field(`${prefix}.${name}`);
    return text === "" ? [] : [[name, toNumber(text)]];
  });
  return amounts.length === 0 ? undefined : Object.fromEntries(amounts);
}

/** The maximum number of routes in a form. */
const maxRoutes = 32;

function readRoutes(field: Field, id: string, entry: ShownEntry): ShownEntry[] | undefined {
  if (field("routes") !== "own") return undefined;
  const before = routesOf(entry);
  const count = Math.min(Number(field("route_count")) || 0, maxRoutes);
  return Array.from({ length: count }, (_, at) => {
    const name = (part: string) => field(`routes.${at}.${part}`);
    // A field without an input, such as settings, stays as it is.
    const known = before[at] ?? {};
    const cost = readAmounts(field, `routes.${at}.cost`, costNames(id, entry, known), asObject(known["cost"]));
    const typed = [
      ...(["provider", "model", "retires"] as const).map((part) => [part, name(part)] as const),
      ["cost", cost] as const,
      ["bills_failures", name("bills_failures") === "on" || undefined] as const,
    ];
    return typed.reduce((route, [part, value]) => withField(route, part, value), known);
  });
}

/** The entry of the form: the fields that it shows over those that it does not. */
function readFields(field: Field, id: string, before: ShownEntry): ShownEntry {
  let entry = before;
  if (!builtIn(id)) {
    const body = field("body");
    const named = builtInCatalog().named(body);
    if (body === "text") entry = withField(withField(entry, "body", undefined), "kind", "text");
    else if (named) entry = withField(withField(entry, "body", `like:${named.id}`), "kind", named.family);
    const aliases = field("aliases")
      .split(/[\s,]+/)
      .filter(Boolean);
    entry = withField(entry, "aliases", aliases.length > 0 ? aliases : undefined);
  }
  entry = withField(entry, "title", field("title").trim());
  for (const name of ["typical_seconds", "deadline_seconds"]) {
    const text = field(name);
    entry = withField(entry, name, text === "" ? undefined : toNumber(text));
  }
  const state = field("state");
  // What a model is without the field needs no field.
  const isUsual = state === (builtIn(id)?.state ?? "live") && before["state"] === undefined;
  entry = withField(entry, "state", isUsual ? undefined : state);
  entry = withField(entry, "price", readAmounts(field, "price", priceNames(id, entry), asObject(before["price"])));
  return withField(entry, "routes", readRoutes(field, id, before));
}

/** The draft of a form that was sent, from whichever view. */
export function readDraft(field: Field, pathId: string | undefined): Draft {
  const id = pathId ?? field("id");
  const shared = { id, isNew: pathId === undefined, revision: Number(field("revision")) || 0 };
  const known = parseEntry(field("entry"));
  const before = isSyntaxProblem(known) ? {} : known;
  if (field("view") === "json") {
    // Browsers send lines of a text area with both characters.
    const text = field("text").replaceAll("\r\n", "\n");
    const entry = parseEntry(text);
    return isSyntaxProblem(entry) ? { ...shared, entry: before, text, syntax: entry } : { ...shared, entry, text };
  }
  const entry = readFields(field, id, before);
  return { ...shared, entry, text: formatEntry(entry) };
}

/** What a button does to the routes: `add`, `own` (the built-in ones become the entry's), `built_in`, `up.1`, `down.0`, `remove.2`. */
export function changeRoutes(draft: Draft, act: string): Draft | undefined {
  const routes = routesOf(draft.entry);
  const [verb = "", place] = act.split(".");
  const at = Number(place);
  const over = (changed: ShownEntry[] | undefined) =>
    toDraft(draft.id, withField(draft.entry, "routes", changed), draft.revision, draft.isNew);
  switch (verb) {
    case "add":
      return over([...routes, { provider: "", model: "" }]);
    case "own":
      return over((builtIn(draft.id)?.routes ?? []).map((route) => ({ ...route })));
    case "built_in":
      return over(undefined);
    case "remove":
      return over(routes.filter((_, other) => other !== at));
    case "up":
    case "down": {
      const to = verb === "up" ? at - 1 : at + 1;
      const [moved, other] = [routes[at], routes[to]];
      return moved && other ? over(routes.with(at, other).with(to, moved)) : draft;
    }
    default:
      return undefined;
  }
}
