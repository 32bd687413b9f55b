/** When a model ends because the makers end all of its routes: the field of `/v1/models`, and the `Sunset` header of answers about it. */

import type { AppContext } from "./context.ts";
import type { Model, Route } from "../../catalog/models.ts";
import { endOfModel, routesFor } from "../../catalog/routes.ts";
import { isOn } from "../../providers/index.ts";

/** The model's routes whose providers are switched on and that have not ended. */
export const modelRoutes = (env: Env, model: Model): Route[] => routesFor(model, (provider) => isOn(env, provider));

/** When the last of its routes ends, in milliseconds; undefined if a route without an end is left. */
export function endOf(env: Env, model: Model): number | undefined {
  // Most routes have no end: their providers need not be looked at for every request.
  if (!model.routes.some(({ retires }) => retires !== undefined)) return undefined;
  return endOfModel(modelRoutes(env, model));
}

/** Gives the request's successful answer the header `Sunset` (RFC 8594) if the model ends. */
export function announceEnd(c: AppContext, model: Model): void {
  const end = endOf(c.env, model);
  if (end !== undefined) c.set("sunset", new Date(end).toUTCString());
}
