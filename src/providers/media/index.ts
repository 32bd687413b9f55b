/** Characters where no upstream has them: the gateway keeps a still of the clip, which other providers take as a reference picture. */

import { makePortrait } from "../shared/portrait.ts";
import { type Provider, ProviderError, type Succeeded } from "../provider.ts";

/** The platform's media transformations behind their binding. Nothing is generated or billed by a maker, so everything may be repeated. */
export function media(binding: MediaBinding): Provider {
  return {
    name: "media",
    repeatable: true,
    startTimeoutMs: () => 60_000,
    reportsProgress: false,
    typicalSeconds: { character: 5 },

    unsupportedField: ({ kind }) => (kind === "character" ? undefined : "model"),

    start: async (job): Promise<Succeeded> => ({ status: "succeeded", ...(await makePortrait(job, binding)) }),

    poll: () => Promise.reject(new ProviderError("media: nothing is waited for", { retryable: false })),
  };
}
