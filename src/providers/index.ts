/** The providers that are switched on, and their health. A new provider is its own folder and a line here. */

import { alert } from "../base/log.ts";
import { google, googleAccount, googleSettings } from "./google/index.ts";
import { cloudflare } from "./cloudflare/index.ts";
import { compatible, compatibleAccount } from "./compatible/index.ts";
import { fal } from "./fal/index.ts";
import { media } from "./media/index.ts";
import { openai } from "./openai/index.ts";
import { modelark } from "./modelark/index.ts";
import { minimax } from "./minimax/index.ts";
import { replicate } from "./replicate/index.ts";
import { sandbox } from "./sandbox/index.ts";
import { xai } from "./xai/index.ts";
import { type GenerationRequest, type Provider, ProviderError } from "./provider.ts";
import { withOlder } from "./shared/rotation.ts";
import { readBaseUrl } from "../base/variables.ts";

/** A provider's name, its model id, and the settings of the model there. */
interface Route {
  provider: string;
  model: string;
  settings?: Record<string, unknown> | undefined;
}

const providers: Record<string, (env: Env) => Provider | undefined> = {
  cloudflare,
  compatible: (env) => (env.COMPATIBLE_API_KEY ? compatible(env.COMPATIBLE_API_KEY) : undefined),
  media: (env) => (env.MEDIA ? media(env.MEDIA) : undefined),
  modelark: (env) => (env.ARK_API_KEY ? modelark({ key: env.ARK_API_KEY, base: env.ARK_BASE_URL }) : undefined),
  minimax: (env) =>
    env.MINIMAX_API_KEY ? minimax({ key: env.MINIMAX_API_KEY, base: env.MINIMAX_BASE_URL ?? "https://api.minimax.io" }) : undefined,
  sandbox: (env) => (env.SANDBOX ? sandbox(env.SANDBOX) : undefined),
  google: (env) => {
    const settings = googleSettings(env);
    return settings && google(settings);
  },
  openai: (env) => (env.OPENAI_API_KEY ? openai({ key: env.OPENAI_API_KEY, base: env.OPENAI_BASE_URL, media: env.MEDIA }) : undefined),
  fal: (env) => (env.FAL_KEY ? fal({ key: env.FAL_KEY, baseUrl: env.FAL_BASE_URL }) : undefined),
  replicate: (env) => (env.REPLICATE_API_TOKEN ? replicate({ token: env.REPLICATE_API_TOKEN, base: env.REPLICATE_BASE_URL }) : undefined),
  xai: (env) => (env.XAI_API_KEY ? xai({ key: env.XAI_API_KEY, base: env.XAI_BASE_URL }) : undefined),
};

/** Opens the provider, with its previous secrets (`OPENAI_API_KEY_OLD` and the like) as a fallback; undefined if none of its secrets is set. */
function olderProvider(env: Env, name: string): Provider | undefined {
  let isOlder = false;
  const older = new Proxy(env, {
    get(_, key: keyof Env) {
      const old = env[`${key}_OLD` as keyof Env];
      if (old) isOlder = true;
      return old || env[key];
    },
  });
  const provider = providers[name]?.(older);
  return isOlder ? provider : undefined;
}

/** The provider of each variable with a base URL. */
const addresses: Record<Exclude<keyof Env & `${string}_BASE_URL`, "ASSET_BASE_URL">, string> = {
  WORKERS_AI_BASE_URL: "cloudflare",
  ARK_BASE_URL: "modelark",
  MINIMAX_BASE_URL: "minimax",
  GEMINI_BASE_URL: "google",
  VERTEX_BASE_URL: "google",
  OPENAI_BASE_URL: "openai",
  FAL_BASE_URL: "fal",
  REPLICATE_BASE_URL: "replicate",
  XAI_BASE_URL: "xai",
};

function checkAddresses(env: Env, name: string): void {
  for (const [variable, provider] of Object.entries(addresses))
    if (provider === name) readBaseUrl(variable, env[variable as keyof typeof addresses]);
}

/** The provider; undefined if its secrets are not set. Throws `VariableError` if it cannot be opened because its base URL is invalid. */
function open(env: Env, name: string): Provider | undefined {
  try {
    return providers[name]?.(env);
  } catch (error) {
    checkAddresses(env, name);
    throw error;
  }
}

const cooldownMs = 60_000;
const cooldowns = new Map<string, number>();

/** The account that a route bills: the provider's name, and after a space which one, for providers that have more than one. */
const accountFor = ({ provider, model, settings }: Route): string =>
  provider === "google" ? googleAccount(model) : provider === "compatible" ? compatibleAccount(settings) : provider;

/** Puts a route's account into a cool-down after its credentials or money failed: for a minute this isolate prefers other routes. Returns the account; undefined if it was in one already. */
export function markUnhealthy(route: Route): string | undefined {
  const account = accountFor(route);
  const isNew = !isCoolingDown(account);
  cooldowns.set(account, Date.now() + cooldownMs);
  alert("provider", { provider: route.provider, outcome: "account_fault", ...(account !== route.provider && { of: account }) });
  return isNew ? account : undefined;
}

const isCoolingDown = (account: string): boolean => (cooldowns.get(account) ?? 0) > Date.now();

/** True if the account of a route is in a cool-down. */
export const isUnhealthy = (route: Route): boolean => isCoolingDown(accountFor(route));

/** The same routes, those of unhealthy accounts last. */
export const unhealthyLast = <T extends Route>(routes: T[]): T[] => [
  ...routes.filter((route) => !isUnhealthy(route)),
  ...routes.filter((route) => isUnhealthy(route)),
];

/** True if a start at a route answers only when the work is done; false for a provider that is switched off. */
export const answersWhenDone = (
  env: Env,
  { provider, model }: { provider: string; model: string },
  kind: GenerationRequest["kind"],
): boolean => open(env, provider)?.answersWhenDone?.({ kind, model }) ?? false;

const hasSecrets = (env: Env, name: string): boolean => open(env, name) !== undefined;

export const providerNames: readonly string[] = Object.keys(providers);

/** True if the operator switched the provider on. Throws `VariableError` if its base URL is invalid. */
export function isOn(env: Env, name: string): boolean {
  if (!hasSecrets(env, name)) return false;
  checkAddresses(env, name);
  return true;
}

/** All providers; `aside` while an account of the provider is in a cool-down in this isolate. */
export const providerStates = (env: Env) =>
  providerNames.map((name) => ({
    name,
    on: hasSecrets(env, name),
    aside: [...cooldowns.keys()].some((account) => account.split(" ")[0] === name && isCoolingDown(account)),
  }));

/** The provider of a route, which uses its previous secret if the upstream refuses the current one. Throws if it was switched off after the route was chosen. */
export function providerNamed(env: Env, name: string): Provider {
  const provider = open(env, name);
  if (!provider) throw new ProviderError("refused", `the provider ${name} is switched off`);
  const older = olderProvider(env, name);
  return older ? withOlder(provider, older) : provider;
}
