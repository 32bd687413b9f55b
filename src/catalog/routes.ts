/** The providers of each model: `routes.txt`; the operator's `[vars.ROUTES]` overrides single models. Pure. */

import { allModels } from "./models.ts";
import { once } from "./once.ts";
import text from "./routes.txt";

/** One way to serve a model: a provider's name and the provider's model id. */
export interface Route {
  provider: string;
  model: string;
  /** Settings of this model for the provider's adapter. */
  settings?: Record<string, string | number | boolean | string[]>;
}

/** Model -> its routes in the order in which they are tried. */
export type Routes = Record<string, Route[]>;

const sandbox = "sandbox";

/** The built-in routes: JSON in a text file beside the script, parsed once per isolate. */
export const builtInRoutes = once(() => JSON.parse(text) as Routes);

/** Checks `[vars.ROUTES]` and merges it over `routes.txt`, model by model. Throws a message that names a wrong entry. */
export function checkRoutes(configured: unknown): Routes {
  if (configured === undefined) return builtInRoutes();
  if (typeof configured !== "object" || configured === null) throw new TypeError("ROUTES is not a table");
  for (const [id, routes] of Object.entries(configured)) {
    if (!allModels().some((model) => model.id === id)) throw new TypeError(`ROUTES names an unknown model: ${id}`);
    if (!Array.isArray(routes) || !routes.every(isRoute))
      throw new TypeError(`ROUTES.${id} is not a list of {provider, model, settings?} whose settings are a table`);
  }
  return { ...builtInRoutes(), ...(configured as Routes) };
}

function isRoute(value: unknown): value is Route {
  if (typeof value !== "object" || value === null) return false;
  const { provider, model, settings = {} } = value as Partial<Record<keyof Route, unknown>>;
  const isTable = typeof settings === "object" && settings !== null && !Array.isArray(settings);
  return typeof provider === "string" && typeof model === "string" && isTable;
}

/** The configured routes of a model. */
export const configuredRoutes = (model: string, configured: Routes): Route[] => configured[model] ?? [];

/**
 * The routes of a model whose providers are switched on; without any, the model is not available. The sandbox is never a fallback of a real
 * provider, because a caller who pays for a real image must not get a sandbox image. The exception is a local gateway (`isLocal`) whose
 * operator configured this.
 */
export function routesFor(model: string, configured: Routes, isOn: (provider: string) => boolean, isLocal = false): Route[] {
  const all = configuredRoutes(model, configured);
  const routes = all.filter((route) => isOn(route.provider));
  if (isLocal && all !== builtInRoutes()[model]) return routes;
  const real = routes.filter((route) => route.provider !== sandbox);
  return real.length > 0 ? real : routes;
}
