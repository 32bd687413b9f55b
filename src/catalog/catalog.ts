/** The catalogue: the built-in models of `models.txt` and the operator's, by name. Immutable; a change makes a new one. Pure. */

import * as z from "zod/mini";
import { once } from "../base/once.ts";
import { bodies, textBody } from "./bodies.ts";
import type { Entry, Model } from "./models.ts";
import { costFields } from "./cost-parts.ts";
import { readFields, toRule } from "./own-price.ts";
import text from "./models.txt";
import { toMillionths } from "./millionths.ts";

/** An operator's entry as it is stored. */
export interface StoredEntry {
  entry: Entry;
  /** True if the operator deleted it: a built-in model is as built in again, another one is gone. */
  isRemoved: boolean;
}

export interface Catalog {
  /** The number of the newest change; 0 without any. */
  revision: number;
  /** All models, also hidden and removed ones: the built-in ones first. */
  all: readonly Model[];
  /** The models that may be listed and sold. */
  live: readonly Model[];
  /** Every name and alias of the models that are not removed and have a price. */
  names: readonly string[];
  /** The model with this name or alias, unless it was removed. */
  named: (name: string) => Model | undefined;
  /** What it was built from. */
  stored: readonly StoredEntry[];
}

/** The model whose body an entry without a built-in model names. */
export const likeOf = ({ kind, body }: Pick<Entry, "kind" | "body">): string =>
  kind === "text" ? textBody : typeof body === "string" ? body.slice("like:".length) : "";

/** False for a hidden built-in model that the operator has not priced yet: callers do not learn of it. */
export const isPriced = ({ own, price }: Pick<Model, "own" | "price">): boolean => own !== undefined || Object.keys(price).length > 0;

/** What a model with its own input can do. Its body is checked by `own-body.ts`. */
const ownAction = () => z.looseObject({});

/** The model of a checked entry; `base` is the built-in model that it changes. */
function toModel(entry: Entry, base?: Model, isRemoved = false): Model {
  const { id, kind, body, aliases = [], price = {}, typical_seconds: typical, deadline_seconds: deadline, routes } = entry;
  const like = base?.like ?? (Object.hasOwn(bodies, id) ? id : likeOf(entry));
  const deadlineSeconds = deadline ?? base?.deadlineSeconds;
  const title = entry.title ?? base?.title;
  const rule = toRule({ ...price });
  const own =
    typeof body === "object" && kind !== undefined && kind !== "text"
      ? { schema: body, price: rule, reads: [...readFields(rule), ...costFields(routes ?? [])] }
      : undefined;
  return {
    id,
    ...(title !== undefined && { title }),
    family: base?.family ?? (kind === undefined || kind === "text" ? "chat" : kind),
    aliases: base?.aliases ?? aliases,
    like,
    ...(own && { own }),
    actions: own ? { [kind as "file"]: ownAction } : (bodies[like] ?? {}),
    price: own ? {} : { ...base?.price, ...toMillionths(price as Record<string, number>) },
    typicalSeconds: typical ?? base?.typicalSeconds ?? 60,
    ...(deadlineSeconds !== undefined && { deadlineSeconds }),
    state: isRemoved ? "removed" : (entry.state ?? base?.state ?? "live"),
    routes: routes ?? base?.routes ?? [],
    hasOwnRoutes: base === undefined || routes !== undefined,
  };
}

/** The built-in models in the order of `/v1/models`: JSON in a text file beside the script, parsed once per isolate. */
const builtInModels = once((): readonly Model[] =>
  (JSON.parse(text) as Entry[]).map((entry) => ({ ...toModel(entry), hasOwnRoutes: false })),
);

/** Builds the catalogue from the newest entry of each of the operator's models. */
export function buildCatalog(revision: number, stored: readonly StoredEntry[]): Catalog {
  const own = new Map(stored.map((one) => [one.entry.id, one]));
  const builtIn = builtInModels().map((base) => {
    const change = own.get(base.id);
    own.delete(base.id);
    if (!change || change.isRemoved) return base;
    // A whole model that the operator sold before a release brought a built-in one with its id stays what it was.
    return toModel(change.entry, change.entry.kind === undefined ? base : undefined);
  });
  const all = [...builtIn, ...[...own.values()].map(({ entry, isRemoved }) => toModel(entry, undefined, isRemoved))];
  const kept = all.filter(({ state }) => state !== "removed");
  const byName = new Map(kept.flatMap((model) => [model.id, ...model.aliases].map((name) => [name, model] as const)));
  return {
    revision,
    all,
    live: all.filter(({ state }) => state === "live"),
    names: kept.filter(isPriced).flatMap((model) => [model.id, ...model.aliases]),
    named: (name) => byName.get(name),
    stored,
  };
}

/** The catalogue without the operator's entries. */
export const builtInCatalog = once(() => buildCatalog(0, []));
