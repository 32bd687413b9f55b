/**
 * The catalogue that this isolate uses. The look-up of a key returns the catalogue's revision, so that a request learns of a change
 * without a query of its own; a change is live everywhere once every cached key has been looked up again, which takes seconds.
 */

import { buildCatalog, builtInCatalog, type Catalog, type StoredEntry } from "./catalog/catalog.ts";
import type { Entry } from "./catalog/models.ts";
import { noteRevision, readModels, readRevision, seenRevision } from "./db/models.ts";
import { sha256Hex } from "./base/ids.ts";
import { alert } from "./base/log.ts";
import { canonicalJson } from "./media/canonical-json.ts";

/** How long a seen revision counts, for requests without the look-up of a key: as long as a key is cached. */
const seenMs = 8_000;

const held = new WeakMap<Env["DB"], Catalog>();

/**
 * The present catalogue: at once if this isolate has it, as it has for nearly every request. Throws if it was never read and the database
 * does not answer: without it the price of a model is unknown.
 */
export function liveCatalog(db: Env["DB"]): Catalog | Promise<Catalog> {
  const seen = seenRevision(db);
  if (!seen || seen.at + seenMs <= Date.now()) return update(db);
  const found = find(db, seen.revision);
  return found?.revision === seen.revision ? found : load(db, found);
}

/** The catalogue of this revision, or the one that this isolate has. */
const find = (db: Env["DB"], revision: number) => (revision === 0 ? builtInCatalog() : held.get(db));

async function update(db: Env["DB"]): Promise<Catalog> {
  const revision = await readRevision(db);
  noteRevision(db, revision);
  const found = find(db, revision);
  return found?.revision === revision ? found : load(db, found);
}

/** Reads the catalogue from the primary. If that fails, the one that this isolate has stays in use. */
async function load(db: Env["DB"], before: Catalog | undefined): Promise<Catalog> {
  try {
    return await readCatalog(db);
  } catch (error) {
    if (!before) throw error;
    alert("catalog", { outcome: "not_read" }, error);
    return before;
  }
}

/** Reads the catalogue from the primary and keeps it for this isolate. Throws if the database does not answer. */
export async function readCatalog(db: Env["DB"]): Promise<Catalog> {
  const { revision, rows } = await readModels(db);
  const stored = rows.flatMap(({ id, entry, removed }): StoredEntry[] => {
    try {
      return [{ entry: { ...(JSON.parse(entry) as Entry), id }, isRemoved: removed === 1 }];
    } catch (error) {
      // Nothing but a damaged database leads here, and the other models are sold on.
      alert("catalog", { outcome: "not_readable", model: id }, error);
      return [];
    }
  });
  const catalog = buildCatalog(revision, stored);
  held.set(db, catalog);
  noteRevision(db, revision);
  return catalog;
}

const versions = new WeakMap<Catalog, string>();

/** The version of a catalogue's prices: the beginning of the digest of the table. Equal prices have equal versions. */
export async function priceVersion(catalog: Catalog): Promise<string> {
  const known = versions.get(catalog);
  if (known !== undefined) return known;
  const table = Object.fromEntries(catalog.live.map(({ id, price, own }) => [id, own?.price ?? price]));
  const version = (await sha256Hex(canonicalJson(table))).slice(0, 12);
  versions.set(catalog, version);
  return version;
}
