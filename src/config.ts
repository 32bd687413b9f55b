/** What the operator configured, read from the Worker's variables in one place. */

import { checkPrices, type PriceOverrides } from "./catalog/prices.ts";
import { checkRoutes, type Routes } from "./catalog/routes.ts";

/** Fraction-free seconds from a variable, or the default. */
const seconds = (text: string | undefined, fallback: number) =>
  text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : fallback;

const isLocal = (env: Env) => env.ENVIRONMENT === "local";

/** How long assets and final records live, in milliseconds. Other than a day and a week only on a developer's machine. */
export const lifeTimes = (env: Env) => ({
  assetMs: 1000 * seconds(isLocal(env) ? env.ASSET_TTL_S : undefined, 86_400),
  recordMs: 1000 * seconds(isLocal(env) ? env.RECORD_TTL_S : undefined, 604_800),
});

/** How many open tasks an account may have. */
export const maxOpenTasks = (env: Env) => seconds(env.MAX_OPEN_TASKS, 500);

/** Whether callers' URLs may point at private hosts and other ports. */
export const allowsPrivateNetwork = (env: Env) => (env.ALLOW_PRIVATE_NETWORK ? env.ALLOW_PRIVATE_NETWORK === "on" : isLocal(env));

/** The gateway's own public hostnames as far as the configuration knows them, beside the request's own: no caller's URL may lead back to us. */
export const ownHosts = (env: Env): string[] => (env.ASSET_BASE_URL ? [new URL(env.ASSET_BASE_URL).hostname] : []);

const tables = new WeakMap<Env, { prices: PriceOverrides; routes: Routes }>();

/** The operator's prices and routes, checked once for each isolate. Throws a sentence that names a wrong entry. */
export function pricesAndRoutes(env: Env): { prices: PriceOverrides; routes: Routes } {
  let found = tables.get(env);
  if (!found) tables.set(env, (found = { prices: checkPrices(parsed(env.PRICES)), routes: checkRoutes(parsed(env.ROUTES)) }));
  return found;
}

/** A table of wrangler.toml arrives parsed, one from an environment file as text. */
const parsed = (value: unknown): unknown => (typeof value === "string" ? (value.trim() === "" ? undefined : JSON.parse(value)) : value);

/** The signing key of asset URLs. There is no default: a known secret would sign for everybody. */
export function signingSecret(env: Env): string {
  if (!env.ASSET_SIGNING_SECRET) throw new Error("the secret ASSET_SIGNING_SECRET is not set");
  return env.ASSET_SIGNING_SECRET;
}
