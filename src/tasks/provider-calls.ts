/** Reports how makers answer, for the operator's checks: counts of usable answers and faults by route, accounts that fail, models that are gone. */

import { countCall } from "../db/recent-sums.ts";
import { recordIncident } from "../db/alerts.ts";
import { markUnhealthy } from "../providers/index.ts";
import { type Failed, type Pending, type Accepted, ProviderError, type Succeeded } from "../providers/provider.ts";

interface Route {
  provider: string;
  model: string;
  settings?: Record<string, unknown> | undefined;
}

/** The name of a route's counts. Two servers of `compatible` may have a model of the same name. */
export function toCallsName({ provider, model, settings }: Route): `route ${string} ${string}` {
  const server = settings?.["base_url"];
  return `route ${provider} ${model}${typeof server === "string" ? ` ${server}` : ""}`;
}

/**
 * Counts an answer. Accepted and pending work shows nothing yet; a verdict on the caller's content or input shows that the maker works.
 */
export async function countAnswer(env: Env, route: Route, answer: Accepted | Pending | Succeeded | Failed): Promise<void> {
  if (answer.status === "accepted" || answer.status === "pending") return;
  await countCall(env.DB, toCallsName(route), answer.status === "succeeded" || answer.code !== "provider_error");
}

/** Counts a fault. A fault of the maker's account puts its routes last for a minute. Errors that are not the maker's are ignored. */
export async function countFault(env: Env, route: Route, fault: unknown): Promise<void> {
  if (!(fault instanceof ProviderError)) return;
  await countCall(env.DB, toCallsName(route), false);
  const unhealthy = fault.account ? markUnhealthy(route) : undefined;
  if (unhealthy !== undefined) await recordIncident(env.DB, "provider", unhealthy);
  if (fault.kind === "model") await recordIncident(env.DB, "model", `${route.provider} ${route.model}`);
}
