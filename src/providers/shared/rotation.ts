/** A provider with two secrets while one replaces the other. */

import { alert } from "../../base/log.ts";
import { type Provider, ProviderError } from "../provider.ts";

/** The provider with its current secret, and with the previous one if the upstream refuses that (401, 402, 403): nothing was accepted then, so the call is repeated. */
export function withOlder(provider: Provider, older: Provider): Provider {
  const ask = async <T>(call: (one: Provider) => Promise<T>): Promise<T> => {
    try {
      return await call(provider);
    } catch (error) {
      if (!(error instanceof ProviderError && error.account)) throw error;
      alert("provider", { provider: provider.name, outcome: "old_secret" }, error);
      return call(older);
    }
  };
  return {
    ...provider,
    start: (job, signal) => ask((one) => one.start(job, signal)),
    poll: (operation) => ask((one) => one.poll(operation)),
    ...(provider.cancel && { cancel: (operation) => ask((one) => one.cancel!(operation)) }),
    ...(provider.lookUpModel && { lookUpModel: (model) => ask((one) => one.lookUpModel!(model)) }),
    ...(provider.chat && { chat: (request) => ask((one) => one.chat!(request)) }),
  };
}
