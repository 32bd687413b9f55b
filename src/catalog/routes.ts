/** Which provider serves which model: the operator's `[vars.ROUTES]` over the built-in default. Pure. */

import { allModels } from "./models.ts";

/** One way to serve a model: a provider's name and the model id it knows. */
export interface Route {
  provider: string;
  model: string;
}

/** Model -> its routes in the order they are tried. */
export type Routes = Record<string, Route[]>;

const sandbox = "sandbox";

/** Checks `[vars.ROUTES]`; throws a sentence that names the entry. Models it leaves out keep the sandbox. */
export function checkRoutes(configured: unknown): Routes {
  if (configured === undefined) return {};
  if (typeof configured !== "object" || configured === null) throw new TypeError("ROUTES is not a table");
  for (const [id, routes] of Object.entries(configured)) {
    if (!allModels().some((model) => model.id === id)) throw new TypeError(`ROUTES names an unknown model: ${id}`);
    const isRoute = (route: unknown) =>
      typeof route === "object" && route !== null && "provider" in route && "model" in route && typeof route.model === "string";
    if (!Array.isArray(routes) || !routes.every(isRoute)) throw new TypeError(`ROUTES.${id} is not a list of {provider, model}`);
  }
  return configured as Routes;
}

/** The routes of a model as they are configured. */
export const configuredRoutes = (model: string, configured: Routes): Route[] => configured[model] ?? [{ provider: sandbox, model }];

/** The routes of a model whose providers are switched on; none means that it cannot be asked for. */
export function routesFor(model: string, configured: Routes, isOn: (provider: string) => boolean): Route[] {
  const routes = configuredRoutes(model, configured).filter((route) => isOn(route.provider));
  // Never beside a real one: who pays for the real thing gets no picture of a sandbox when that fails.
  const real = routes.filter((route) => route.provider !== sandbox);
  return real.length > 0 ? real : routes;
}
