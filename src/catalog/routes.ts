/** Which routes of a model may serve it. Pure. */

import type { Model, Route } from "./models.ts";

const sandbox = "sandbox";

/** The beginning of a route's last day, at which it ends, in milliseconds; undefined if no end is known. */
export const endOfRoute = ({ retires }: Pick<Route, "retires">): number | undefined =>
  retires === undefined ? undefined : Date.parse(`${retires}T00:00:00Z`);

/** True from the day on which the maker ends the route's model. */
export const hasEnded = (route: Pick<Route, "retires">, now: number): boolean => (endOfRoute(route) ?? Infinity) <= now;

/**
 * The end of a model in milliseconds: when the last of its routes ends. undefined if a route has no end, or if there are no routes.
 */
export function endOfModel(routes: Route[]): number | undefined {
  const ends = routes.map((route) => endOfRoute(route) ?? Infinity);
  const end = Math.max(...ends);
  return Number.isFinite(end) ? end : undefined;
}

/**
 * The routes of a model whose providers are switched on and that have not ended; without any, the model is not available. The sandbox is never a fallback of a real
 * provider, because a caller who pays for a real image must not get a sandbox image. The exception is a local gateway (`isLocal`) whose
 * operator configured this.
 */
export function routesFor(
  { routes: all, hasOwnRoutes, state }: Pick<Model, "routes" | "hasOwnRoutes" | "state">,
  isOn: (provider: string) => boolean,
  isLocal = false,
): Route[] {
  const now = Date.now();
  const routes = state === "live" ? all.filter((route) => isOn(route.provider) && !hasEnded(route, now)) : [];
  if (isLocal && hasOwnRoutes) return routes;
  const real = routes.filter((route) => route.provider !== sandbox);
  return real.length > 0 ? real : routes;
}
