/** The operator's models in files: `models/*.json`, one entry each, named after its model. They are stored through the admin API. */

import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { AdminClient } from "./admin-client.ts";
import { ifThere, parseJson } from "./faults.ts";
import { root } from "./wrangler.ts";

/** An entry, and where it was written. */
export interface WrittenEntry {
  id: string;
  entry: object;
  source: string;
}

/** The folder of `npm start` and `npm run deploy`. */
export const modelsFolder = (environment: NodeJS.ProcessEnv): string => environment["MODELS_DIR"] || join(root, "models");

const asObject = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;

/** The value of a file, which some editors begin with a byte order mark. Throws with the place that is no JSON. */
function readJson(source: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new Error(`${source} is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** The aliases of an entry, as far as they are texts. */
function readAliases(entry: object): string[] {
  const { aliases } = entry as { aliases?: unknown };
  return Array.isArray(aliases) ? aliases.filter((name) => typeof name === "string") : [];
}

/** The names that two of the entries have: each passes the gateway's check as long as neither is stored. */
function findSameNames(written: readonly WrittenEntry[]): string[] {
  const first = new Map<string, WrittenEntry>();
  return written.flatMap((one) =>
    [one.id, ...readAliases(one.entry)].flatMap((name) => {
      const owner = first.get(name);
      if (!owner) first.set(name, one);
      return owner && owner !== one ? `${one.source}: ${name} is a name of the model in ${owner.source} too` : [];
    }),
  );
}

/** Reads the entries of a folder; none if it does not exist. Throws if a file is not a JSON object. */
export async function readModelFiles(folder: string): Promise<WrittenEntry[]> {
  const names = (await ifThere(readdir(folder))) ?? [];
  return Promise.all(
    names
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map(async (name) => {
        const source = join(basename(folder), name);
        const entry = asObject(readJson(source, await readFile(join(folder, name), "utf8")));
        if (!entry) throw new Error(`${source} is not a JSON object.`);
        return { id: basename(name, ".json"), entry, source };
      }),
  );
}

/**
 * The entries that say what `[vars.ROUTES]` and `[vars.PRICES]` of earlier releases said: routes by model, and prices in millionths of a
 * balance unit. Throws if one of them is not a table.
 */
export function readOldVariables(variables: { ROUTES?: unknown; PRICES?: unknown }): WrittenEntry[] {
  const table = (name: "ROUTES" | "PRICES") => {
    const value = variables[name];
    if (value === undefined || value === "") return {};
    const found = asObject(typeof value === "string" ? parseJson(value) : value);
    if (!found) throw new Error(`${name} is not a table.`);
    return found;
  };
  const [routes, prices] = [table("ROUTES"), table("PRICES")];
  const toUnits = ([name, amount]: [string, unknown]) => [name, name.endsWith("_x") ? amount : Number(amount) / 1_000_000];
  return [...new Set([...Object.keys(routes), ...Object.keys(prices)])].map((id) => {
    const price = asObject(prices[id]);
    const given = {
      ...(routes[id] !== undefined && { routes: routes[id] }),
      ...(price && { price: Object.fromEntries(Object.entries(price).map(toUnits)) }),
    };
    // ROUTES could switch a model off with an empty list.
    const isOff = Array.isArray(given.routes) && given.routes.length === 0;
    const { routes: _, ...rest } = given;
    return { id, entry: isOff ? { ...rest, state: "hidden" } : given, source: "ROUTES and PRICES" };
  });
}

/**
 * Stores entries at a gateway. All are checked before the first is stored. With `isOnlyNew` a model that ever had an entry there keeps
 * what it has. An alias that another model gives up here is added in a second step, when that one no longer has it. Throws with each refused
 * entry and the path of each wrong field.
 */
export async function applyModels(admin: AdminClient, written: WrittenEntry[], { isOnlyNew = false } = {}): Promise<string> {
  const read = [];
  for (const one of written) read.push({ ...one, stored: await admin.modelEntry(one.id) });
  const wanted = isOnlyNew ? read.filter(({ stored }) => stored.revision === 0) : read;
  const givenUp = new Set(
    wanted.flatMap(({ entry, stored }) => {
      const kept = readAliases(entry);
      return readAliases(stored.entry ?? {}).filter((name) => !kept.includes(name));
    }),
  );
  const isTaker = ({ entry }: WrittenEntry) => readAliases(entry).some((name) => givenUp.has(name));
  const atFirst = (one: WrittenEntry) =>
    isTaker(one) ? { ...one.entry, aliases: readAliases(one.entry).filter((name) => !givenUp.has(name)) } : one.entry;
  const refusals = findSameNames(wanted);
  for (const one of wanted) {
    const refusal = await admin.putModel(one.id, atFirst(one), one.stored.revision, true);
    if (refusal !== undefined) refusals.push(`${one.source}: ${refusal}`);
  }
  if (refusals.length > 0) throw new Error(`The gateway refuses models, and none was stored.\n${refusals.join("\n")}`);
  const store = async ({ id, source }: WrittenEntry, entry: object, revision: number) => {
    const refusal = await admin.putModel(id, entry, revision);
    if (refusal !== undefined) throw new Error(`${source}: ${refusal}`);
  };
  for (const one of wanted) await store(one, atFirst(one), one.stored.revision);
  for (const one of wanted.filter(isTaker)) await store(one, one.entry, (await admin.modelEntry(one.id)).revision);
  return wanted.map(({ id }) => id).join(", ");
}
