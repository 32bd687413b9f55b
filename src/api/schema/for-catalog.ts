/** Schemas that name models: of the present catalogue for requests, of the built-in models for the API description. */

import { builtInCatalog, type Catalog } from "../../catalog/catalog.ts";
import { once } from "../../base/once.ts";

/** The schema for a catalogue; without one for the built-in models, which is built once. */
export function forCatalog<T>(build: (catalog: Catalog) => T): (catalog?: Catalog) => T {
  const builtIn = once(() => build(builtInCatalog()));
  return (catalog) => (catalog ? build(catalog) : builtIn());
}
