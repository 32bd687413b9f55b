/**
 * Checks a start's lease again before the provider gets an input, so that a task that was cancelled while the input was opened is not started.
 */

import { type InputImage, type InputVideo, type Job, ProviderError } from "../providers/provider.ts";

/** True if the consumer still has the lease of its step. */
type IsWanted = () => Promise<boolean>;

async function check(isWanted: IsWanted): Promise<void> {
  if (!(await isWanted())) throw new ProviderError("refused", "the lease is over");
}

/**
 * Starts the job if its lease is still valid. Opening inputs can take half a minute: the lease is checked before the provider gets each input.
 * A job without inputs follows its claim at once, and a check between the two would add nothing.
 */
export async function startWhileWanted<T>(job: Job, isWanted: IsWanted, start: (job: Job) => Promise<T>): Promise<T> {
  const image = (input: InputImage): InputImage => ({
    ...input,
    read: (use) =>
      input.read(async (image) => {
        await check(isWanted);
        return use(image);
      }),
  });
  const video = (input: InputVideo): InputVideo => ({
    ...input,
    async open() {
      const stream = await input.open();
      try {
        await check(isWanted);
      } catch (error) {
        await stream.cancel();
        throw error;
      }
      return stream;
    },
  });
  return start({
    ...job,
    images: job.images.map(image),
    characters: job.characters.map((character) => ({ ...character, image: image(character.image) })),
    ...(job.source && { source: video(job.source) }),
  });
}
