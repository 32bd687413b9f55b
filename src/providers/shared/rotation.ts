/** A provider with two secrets while one replaces the other. */

import { alert } from "../../base/log.ts";
import { type Provider, ProviderError } from "../provider.ts";

/** Returns a fault of the secret or its account; throws others. */
function toRefusal(error: unknown): ProviderError {
  if (error instanceof ProviderError && error.account) return error;
  throw error;
}

/**
 * The provider with its current secret, and with the previous one if the upstream refuses that (401, 402, 403): nothing was accepted then, so
 * the call is repeated. The two may belong to two accounts, of which only one knows the work: so the previous one is also used if the current
 * one shows nothing of the work, and it is lost only if neither knows it and the current one was not refused.
 */
export function withOlder(provider: Provider, older: Provider): Provider {
  const ask = async <T>(call: (one: Provider) => Promise<T>, showsNothing: (answer: T) => boolean = () => false): Promise<T> => {
    const answer = await call(provider).catch(toRefusal);
    const isRefused = answer instanceof ProviderError;
    if (!isRefused && !showsNothing(answer)) return answer;
    const other = await call(older).catch(toRefusal);
    if (other instanceof ProviderError) {
      if (isRefused) throw other;
      return answer;
    }
    if (showsNothing(other)) {
      if (isRefused) throw answer;
      return other;
    }
    alert("provider", { provider: provider.name, outcome: "old_secret" }, isRefused ? answer : undefined);
    return other;
  };
  return {
    ...provider,
    start: (job, signal) => ask((one) => one.start(job, signal)),
    poll: (operation) =>
      ask(
        (one) => one.poll(operation),
        (answer) => answer.status === "failed" && answer.isUnknown === true,
      ),
    ...(provider.cancel && {
      cancel: (operation) =>
        ask(
          (one) => one.cancel!(operation),
          (isStopped) => !isStopped,
        ),
    }),
    ...(provider.lookUpModel && { lookUpModel: (model) => ask((one) => one.lookUpModel!(model)) }),
    ...(provider.chat && { chat: (request) => ask((one) => one.chat!(request)) }),
  };
}
