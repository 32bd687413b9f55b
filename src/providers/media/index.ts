/** Characters without an upstream: the gateway stores a frame of the clip, which other providers use as a reference image. */

import { makePortrait } from "../shared/portrait.ts";
import { type Provider, ProviderError, type Succeeded } from "../provider.ts";

/** The platform's media transformations behind their binding. No upstream generates or bills anything, so all calls may be repeated. */
export function media(binding: MediaBinding): Provider {
  return {
    name: "media",
    repeatable: true,
    answersWhenDone: () => true,
    startTimeoutMs: () => 60_000,
    reportsProgress: false,
    typicalSeconds: { character: 5 },

    unsupportedField: ({ kind }) => (kind === "character" ? undefined : "model"),

    start: async (job): Promise<Succeeded> => ({ status: "succeeded", ...(await makePortrait(job, binding)) }),

    poll: () => Promise.reject(new ProviderError("unclear", "poll: the media binding has no operations")),
  };
}
