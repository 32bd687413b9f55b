/** A character's image, clip and name, cut from its source video. No upstream generates or bills anything. */

import { cutClip, isAudible, StillError, cutStill } from "../../media/still.ts";
import { sourceClip } from "./clip.ts";
import { InputError, type Job, heldOutput, ProviderError, type Succeeded } from "../provider.ts";

type Portrait = Required<Pick<Succeeded, "outputs" | "character">>;

/** Extracts a frame from the middle of the range, and chooses a name. Throws `InputError` if the clip has no sound or no image. */
export async function makePortrait(job: Job, media: MediaBinding): Promise<Portrait> {
  const { source, start, end } = sourceClip(job);
  const image = await look(async () => {
    if (!(await isAudible(media, await source.open(), start, end))) throw new InputError("the clip has no sound");
    return cutStill(media, await source.open(), (start + end) / 2);
  });
  return {
    outputs: [heldOutput(image)],
    character: await makeName(job),
  };
}

/** Cuts the range out of the source, as MP4. Throws as `makePortrait` does, also while the clip is being read. */
export async function clipFor(job: Job, media: MediaBinding): Promise<AsyncIterable<Uint8Array>> {
  const { source, start, end } = sourceClip(job);
  const clip = await look(async () => cutClip(media, await source.open(), start, end));
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
  return new ProviderError("busy", "media: character", { cause: error });
}

/** A username that is unique to the task and equal at each call, and the caller's name for the character. */
async function makeName({ key, name }: Job): Promise<Portrait["character"]> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const tag = new Uint8Array(digest).toHex().slice(0, 10);
  return { username: `character.${tag}`, displayName: name ?? `Character ${tag.slice(0, 4).toUpperCase()}` };
}
