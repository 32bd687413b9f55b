/** A picture or a part out of a film, by the platform's media transformations: Workers cannot decode films themselves. */

/** The film cannot be used for it; asking again will not help. */
export class StillError extends Error {
  override readonly name = "StillError";
}

/**
 * The frame at `seconds`, PNG. Throws `StillError` when the film or the time is no good, and whatever else went wrong as it is.
 * Options: Cloudflare's `MediaTransformationOutputOptions`.
 */
export async function cutStill(media: MediaBinding, film: ReadableStream<Uint8Array>, seconds: number): Promise<Uint8Array<ArrayBuffer>> {
  const response = await transformed(() =>
    media
      .input(film)
      .output({ mode: "frame", time: `${seconds}s`, format: "png" })
      .response(),
  );
  return new Uint8Array(await response.arrayBuffer());
}

/** Whether the film can be heard between these seconds. */
export async function isAudible(media: MediaBinding, film: ReadableStream<Uint8Array>, start: number, end: number): Promise<boolean> {
  try {
    const response = await transformed(() =>
      media
        .input(film)
        .output({ mode: "audio", ...between(start, end), format: "m4a" })
        .response(),
    );
    await response.body?.cancel();
    return true;
  } catch (error) {
    if (error instanceof StillError) return false;
    throw error;
  }
}

/** What is between these seconds, picture and sound, as MP4. Throws as `stillOf` does. */
export async function cutClip(
  media: MediaBinding,
  film: ReadableStream<Uint8Array>,
  start: number,
  end: number,
): Promise<ReadableStream<Uint8Array>> {
  const response = await transformed(() =>
    media
      .input(film)
      .output({ mode: "video", ...between(start, end) })
      .response(),
  );
  return response.body!;
}

/** In whole microseconds: 2.3 - 0.3 is two seconds. */
const between = (start: number, end: number) => ({ time: `${start}s`, duration: `${Math.round((end - start) * 1e6) / 1e6}s` });

async function transformed(transform: () => Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await transform();
  } catch (error) {
    // A `MediaError` has an HTTP status for its code.
    const code = error instanceof Error && "code" in error ? Number(error.code) : 0;
    throw code >= 400 && code < 500 && code !== 429 ? new StillError(`media: ${code}`, { cause: error }) : error;
  }
  if (response.ok) return response;
  await response.body?.cancel();
  if (response.status >= 400 && response.status < 500 && response.status !== 429) throw new StillError(`media: ${response.status}`);
  throw new Error(`media: ${response.status}`);
}
