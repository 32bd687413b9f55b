/** The providers that are switched on. A new one is its own file and a line here. */

import { alert } from "../log.ts";
import { google, googleSettings } from "./google/index.ts";
import { cloudflare } from "./cloudflare/index.ts";
import { fal } from "./fal/index.ts";
import { media } from "./media/index.ts";
import { openai } from "./openai/index.ts";
import { modelark } from "./modelark/index.ts";
import { minimax } from "./minimax/index.ts";
import { replicate } from "./replicate/index.ts";
import { sandbox } from "./sandbox/index.ts";
import { type Provider, ProviderError } from "./provider.ts";
import { readBaseUrl } from "../variables.ts";

const providers: Record<string, (env: Env) => Provider | undefined> = {
  cloudflare,
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
};

/** The variables with the addresses of each provider. */
const addresses: Record<string, (keyof Env & `${string}_BASE_URL`)[]> = {
  cloudflare: ["WORKERS_AI_BASE_URL"],
  modelark: ["ARK_BASE_URL"],
  minimax: ["MINIMAX_BASE_URL"],
  google: ["GEMINI_BASE_URL", "VERTEX_BASE_URL"],
  openai: ["OPENAI_BASE_URL"],
  fal: ["FAL_BASE_URL"],
  replicate: ["REPLICATE_BASE_URL"],
};

const checkAddresses = (env: Env, name: string) => addresses[name]?.forEach((variable) => readBaseUrl(variable, env[variable]));

const cooldownMs = 60_000;
const cooldowns = new Map<string, number>();

/** The operator's credentials or money failed there: for a minute this isolate asks others first. */
export function markUnhealthy(name: string): void {
  cooldowns.set(name, Date.now() + cooldownMs);
  alert("provider", { provider: name, outcome: "account_fault" });
}

export const isUnhealthy = (name: string): boolean => (cooldowns.get(name) ?? 0) > Date.now();

const hasSecrets = (env: Env, name: string): boolean => providers[name]?.(env) !== undefined;

/** Whether the operator switched the provider on. Throws `VariableError` when the address of one that is on is wrong. */
export function isOn(env: Env, name: string): boolean {
  if (!hasSecrets(env, name)) return false;
  checkAddresses(env, name);
  return true;
}

/** Each provider that there is, and how it stands with this isolate. */
export const providerStates = (env: Env) =>
  Object.keys(providers).map((name) => ({ name, on: hasSecrets(env, name), aside: isUnhealthy(name) }));

/** The provider of a route. Throws when it was switched off since the route was chosen. */
export function providerNamed(env: Env, name: string): Provider {
  const provider = providers[name]?.(env);
  if (!provider) throw new ProviderError(`the provider ${name} is switched off`, { retryable: false, nothingAccepted: true });
  return provider;
}
