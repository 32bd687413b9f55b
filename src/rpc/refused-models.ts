/** The operator's entries that the checks of this release refuse, for the alert, the log and the console. */

import type { Catalog } from "../catalog/catalog.ts";
import { refusedEntries } from "../catalog/entries.ts";
import { liveCatalog } from "../current-catalog.ts";
import { alert } from "../base/log.ts";
import { providerNames } from "../providers/index.ts";

const logged = new WeakSet<Catalog>();

/** The ids of these models, each with its wrong fields. Logged once by each isolate for a revision of the catalogue. */
export async function refusedModels({ DB }: Pick<Env, "DB">): Promise<Record<string, string[]>> {
  const catalog = await liveCatalog(DB);
  const found = refusedEntries(catalog, providerNames).map(({ id, violations }) => [id, violations.map(({ param }) => param)] as const);
  if (!logged.has(catalog))
    for (const [model, params] of found) alert("catalog", { outcome: "entry_refused", model, fields: params.join(", ") });
  logged.add(catalog);
  return Object.fromEntries(found);
}
