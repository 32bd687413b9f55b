/** Reports how makers answer, for the operator's checks: counts of usable answers and faults by route, accounts that fail, models that are gone. */

import { countCall } from "../db/recent-sums.ts";
import { recordIncident } from "../db/alerts.ts";
import { type NamedRoute, routeName } from "../db/settled-sums.ts";
import { markUnhealthy } from "../providers/index.ts";
import { type Failed, type Pending, type Accepted, ProviderError, type Succeeded } from "../providers/provider.ts";

/** The name of a route's counts. */
export const toCallsName = (route: NamedRoute) => `route ${routeName(route)}` as const;

/**
 * Counts an answer. Accepted and pending work shows nothing yet; a verdict on the caller's content or input shows that the maker works.
 */
export async function countAnswer(env: Env, route: NamedRoute, answer: Accepted | Pending | Succeeded | Failed): Promise<void> {
  if (answer.status === "accepted" || answer.status === "pending") return;
  await countCall(env.DB, toCallsName(route), answer.status === "succeeded" || answer.code !== "provider_error");
}

/** Counts a fault. A fault of the maker's account puts its routes last for a minute. Errors that are not the maker's are ignored. */
export async function countFault(env: Env, route: NamedRoute, fault: unknown): Promise<void> {
  if (!(fault instanceof ProviderError)) return;
  await countCall(env.DB, toCallsName(route), false);
  const unhealthy = fault.account ? markUnhealthy(route) : undefined;
  if (unhealthy !== undefined) await recordIncident(env.DB, "provider", unhealthy);
  if (fault.kind === "model") await recordIncident(env.DB, "model", routeName(route));
}
