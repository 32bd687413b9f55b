/** The providers that are switched on. A new one is its own file and a line here. */

import { sandbox } from "./sandbox.ts";
import { type Provider, ProviderError } from "./provider.ts";

const providers: Record<string, (env: Env) => Provider | undefined> = {
  sandbox: (env) => (env.SANDBOX ? sandbox(env.SANDBOX) : undefined),
};

/** Whether the operator switched the provider on. */
export const isOn = (env: Env, name: string): boolean => providers[name]?.(env) !== undefined;

/** The provider of a route. Throws when it was switched off since the route was chosen. */
export function providerNamed(env: Env, name: string): Provider {
  const provider = providers[name]?.(env);
  if (!provider) throw new ProviderError(`the provider ${name} is switched off`, { retryable: false, nothingAccepted: true });
  return provider;
}
