/** Extracts a frame or a clip from a video with the platform's media transformations, because Workers cannot decode video themselves. */

/** The video cannot be used; retrying does not help. */
export class StillError extends Error {
  override readonly name = "StillError";
}

/**
 * Returns the frame at `seconds` as PNG. Throws `StillError` when the video or the time cannot be used; other errors pass through.
 * Options: Cloudflare's `MediaTransformationOutputOptions`.
 */
export async function cutStill(media: MediaBinding, video: ReadableStream<Uint8Array>, seconds: number): Promise<Uint8Array<ArrayBuffer>> {
  const response = await transformed(() =>
    media
      .input(video)
      .output({ mode: "frame", time: `${seconds}s`, format: "png" })
      .response(),
  );
  return new Uint8Array(await response.arrayBuffer());
}

/** True if the video has audible sound between these seconds. */
export async function isAudible(media: MediaBinding, video: ReadableStream<Uint8Array>, start: number, end: number): Promise<boolean> {
  try {
    const response = await transformed(() =>
      media
        .input(video)
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

/** Returns the part between these seconds, with sound, as MP4. Throws like `cutStill`. */
export async function cutClip(
  media: MediaBinding,
  video: ReadableStream<Uint8Array>,
  start: number,
  end: number,
): Promise<ReadableStream<Uint8Array>> {
  const response = await transformed(() =>
    media
      .input(video)
      .output({ mode: "video", ...between(start, end) })
      .response(),
  );
  return response.body!;
}

/** Computed in whole microseconds, so that 2.3 - 0.3 is exactly two seconds. */
const between = (start: number, end: number) => ({ time: `${start}s`, duration: `${Math.round((end - start) * 1e6) / 1e6}s` });

async function transformed(transform: () => Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await transform();
  } catch (error) {
    // The code of a `MediaError` is an HTTP status.
    const code = error instanceof Error && "code" in error ? Number(error.code) : 0;
    throw code >= 400 && code < 500 && code !== 429 ? new StillError(`media: ${code}`, { cause: error }) : error;
  }
  if (response.ok) return response;
  await response.body?.cancel();
  if (response.status >= 400 && response.status < 500 && response.status !== 429) throw new StillError(`media: ${response.status}`);
  throw new Error(`media: ${response.status}`);
}
