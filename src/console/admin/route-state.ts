/** The state of a model's routes as its operator sees them: which are used, in which order, and which end. */

import type { Route } from "../../catalog/models.ts";
import { endOfRoute, hasEnded, routesFor } from "../../catalog/routes.ts";
import type { Upstreams } from "../../rpc/console-api.ts";
import { dayMs } from "../../base/times.ts";

/** `used` in order, `last` while its provider is unhealthy, `off` without a secret, `ended` by its maker, `beside` a real provider. */
export type RouteState = "used" | "last" | "off" | "ended" | "beside";

/** What is read of a route. */
export type ShownRoute = Pick<Route, "provider" | "model" | "retires">;

/** The state of one of a model's `routes`, as if the model was live. */
export function routeState({ providers }: Upstreams, routes: readonly ShownRoute[], route: ShownRoute): RouteState {
  if (hasEnded(route, Date.now())) return "ended";
  const provider = providers.find(({ name }) => name === route.provider);
  if (!provider?.on) return "off";
  const isOn = (name: string) => providers.some((other) => other.name === name && other.on);
  const usable = routesFor({ routes, state: "live", hasOwnRoutes: true }, isOn);
  if (!usable.some((other) => other.provider === route.provider)) return "beside";
  return provider.aside ? "last" : "used";
}

/** The routes of a model in their states. */
export interface Health {
  routes: { route: ShownRoute; state: RouteState }[];
  /** Those that are tried: `used` and `last`. */
  usable: number;
  /** Those of them whose provider is healthy in the whole deployment. */
  healthy: number;
  /** When the first of the usable ones ends, in milliseconds, and whether none is left then. */
  end: { at: number; isLast: boolean } | undefined;
}

export function readHealth(upstreams: Upstreams, all: readonly ShownRoute[]): Health {
  const routes = all.map((route) => ({ route, state: routeState(upstreams, all, route) }));
  const usable = routes.filter(({ state }) => state === "used" || state === "last");
  const ends = usable.map(({ route }) => endOfRoute(route) ?? Infinity);
  const [first, last] = [Math.min(...ends), Math.max(...ends)];
  return {
    routes,
    usable: usable.length,
    healthy: usable.filter(({ state }) => state === "used").length,
    end: usable.length > 0 && Number.isFinite(first) ? { at: first, isLast: Number.isFinite(last) } : undefined,
  };
}

/** An end within this time needs attention. */
export const soonMs = 90 * dayMs;
