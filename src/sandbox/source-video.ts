/** Reads the source video of a character as a stream, and checks that a character can be created from it. */

import { Input, MP4, QTFF, ReadableStreamSource } from "mediabunny";
import { Fault } from "./fault.ts";
import type { Failure } from "./operations.ts";

const MAX_BYTES = 64 * 2 ** 20;
const READ_BYTES = 256 * 1024;
// The index of a video may come after its media data; skipped data is not needed again, so little is cached.
const KEPT_BYTES = 8 * 2 ** 20;
// The tolerance in seconds for the end of a range, because cut points are often rounded.
const TOLERANCE_S = 0.1;

/**
 * Checks a video (MP4 or QuickTime): null if a character can be created from `range` (in seconds), else the failure.
 * The stream is always read to its end. Throws `Fault` "too_large" beyond 64 MiB, and errors of the stream.
 */
export async function judgeVideo(body: ReadableStream<Uint8Array>, range: { start: number; end: number }): Promise<Failure | null> {
  const meter = metered(body);
  const input = new Input({ source: new ReadableStreamSource(meter.stream, { maxCacheSize: KEPT_BYTES }), formats: [MP4, QTFF] });
  let verdict: Failure | null;
  try {
    verdict = await judge(input, range);
  } catch {
    // An error of the stream is rethrown below, while draining: other errors mean that the file is not a video.
    verdict = invalid("the file is not a readable video");
  }
  await meter.drain();
  input.dispose();
  return verdict;
}

async function judge(input: Input, range: { start: number; end: number }): Promise<Failure | null> {
  if (!(await input.canRead())) return invalid("the file is not a readable video");
  const [videoTrack, soundTrack] = [await input.getPrimaryVideoTrack(), await input.getPrimaryAudioTrack()];
  if (!videoTrack) return invalid("the file has no images");
  if (!soundTrack) return invalid("the video has no sound track");
  const duration = await videoTrack.computeDuration();
  return range.end > duration + TOLERANCE_S ? invalid("the range lies outside of the video") : null;
}

function invalid(message: string): Failure {
  return { code: "invalid_input", message };
}

/** The same bytes in large chunks, counted. `drain` reads the rest, and throws the error that broke the stream, if there was one. */
function metered(body: ReadableStream<Uint8Array>): { stream: ReadableStream<Uint8Array>; drain(): Promise<void> } {
  const reader = body.getReader({ mode: "byob" });
  let total = 0;
  let broken: { error: unknown } | undefined;
  let ended = false;

  async function read(): Promise<Uint8Array | undefined> {
    try {
      const { value, done } = await reader.readAtLeast(READ_BYTES, new Uint8Array(READ_BYTES));
      total += value?.byteLength ?? 0;
      if (total > MAX_BYTES) throw new Fault("too_large", "the video is larger than 64 MiB");
      ended = done;
      return value;
    } catch (error) {
      broken = { error };
      throw error;
    }
  }

  return {
    stream: new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const piece = ended ? undefined : await read();
          if (piece && piece.byteLength > 0) controller.enqueue(piece);
          if (ended) controller.close();
        },
      },
      { highWaterMark: 0 },
    ),
    async drain() {
      while (!ended && !broken) await read();
      if (broken) throw broken.error;
    },
  };
}
