/** A character's picture, clip and name, out of the part of a film that it is taken from. Nothing is made or billed by a maker. */

import { cutClip, isAudible, StillError, cutStill } from "../../media/still.ts";
import { InputError, type Job, ProviderError, type Succeeded } from "../provider.ts";

type Portrait = Required<Pick<Succeeded, "outputs" | "character">>;

/** A still from the middle of the range, and a name. Throws `InputError` when nobody is heard or seen there. */
export async function makePortrait(job: Job, media: MediaBinding): Promise<Portrait> {
  const { start, end } = job.range!;
  const picture = await look(async () => {
    if (!(await isAudible(media, await job.source!.open(), start, end))) throw new InputError("the clip has no sound");
    return cutStill(media, await job.source!.open(), (start + end) / 2);
  });
  return {
    outputs: [{ open: () => Promise.resolve({ body: new Blob([picture]).stream(), type: "image/png", length: picture.byteLength }) }],
    character: await makeName(job.key),
  };
}

/** The range and nothing else, as MP4: upstreams cut where they like. Throws as `portraitOf` does, also while it is read. */
export async function clipFor(job: Job, media: MediaBinding): Promise<AsyncIterable<Uint8Array>> {
  const { start, end } = job.range!;
  const clip = await look(async () => cutClip(media, await job.source!.open(), start, end));
  return (async function* () {
    try {
      yield* clip;
    } catch (error) {
      throw toFault(error);
    }
  })();
}

const look = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    throw toFault(error);
  });

function toFault(error: unknown): Error {
  if (error instanceof InputError || error instanceof ProviderError) return error;
  if (error instanceof StillError) return new InputError("the clip cannot be used", { cause: error });
  return new ProviderError("media: character", { retryable: true, nothingAccepted: true, cause: error });
}

/** A name of its own for each task, the same when it is asked again. */
async function makeName(key: string): Promise<Portrait["character"]> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const tag = new Uint8Array(digest).toHex().slice(0, 10);
  return { username: `character.${tag}`, displayName: `Character ${tag.slice(0, 4).toUpperCase()}` };
}
