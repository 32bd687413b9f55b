/** Characters where no upstream has them: the gateway keeps a still of the clip, which other providers take as a reference picture. */

import { isAudible, StillError, stillOf } from "../media/still.ts";
import { InputError, type Job, type Provider, ProviderError, type Succeeded } from "./provider.ts";

/** The platform's media transformations behind their binding. Nothing is generated or billed by a maker, so everything may be repeated. */
export function media(binding: MediaBinding): Provider {
  return {
    name: "media",
    repeatable: true,
    startTimeoutMs: () => 60_000,
    reportsProgress: false,
    typicalSeconds: { image: 1, video: 1, remix: 1, character: 5 },

    unable: ({ kind }) => (kind === "character" ? undefined : "model"),

    async start(job): Promise<Succeeded> {
      const { start, end } = job.range!;
      const picture = await look(job, async () => {
        if (!(await isAudible(binding, await job.source!.open(), start, end))) throw new InputError("the clip has no sound");
        return stillOf(binding, await job.source!.open(), (start + end) / 2);
      });
      return {
        status: "succeeded",
        outputs: [{ open: () => Promise.resolve({ body: new Blob([picture]).stream(), type: "image/png", length: picture.byteLength }) }],
        character: await nameOf(job.key),
      };
    },

    poll: () => Promise.reject(new ProviderError("media: nothing is waited for", { retryable: false })),
  };
}

async function look<T>(job: Job, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InputError || error instanceof ProviderError) throw error;
    if (error instanceof StillError) throw new InputError("the clip cannot be used", { cause: error });
    throw new ProviderError(`media: ${job.kind}`, { retryable: true, cause: error });
  }
}

/** A name of its own for each task, the same when it is asked again. */
async function nameOf(key: string): Promise<{ username: string; displayName: string }> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const tag = new Uint8Array(digest).toHex().slice(0, 10);
  return { username: `character.${tag}`, displayName: `Character ${tag.slice(0, 4).toUpperCase()}` };
}
