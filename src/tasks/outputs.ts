/** Brings what a provider made into R2 and describes it: the files decide what they are, not their sender. */

import { type Asset, assetPrefix, openAsset, storeStream } from "../assets.ts";
import { IMAGE_TYPE_BYTES, detectImageType } from "../media/image-type.ts";
import { alert } from "../log.ts";
import { cutStill } from "../media/still.ts";
import { readVideoFacts } from "../media/mp4.ts";
import { type Output, ProviderError, type Succeeded } from "../providers/provider.ts";
import type { Result, Task } from "./record.ts";

const maxOutputBytes = 512 * 1024 * 1024;
const extensions: Record<string, string> = { "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "video/mp4": "mp4" };

/** The provider delivered something that is not what was asked for. */
export class BadOutputError extends Error {
  override readonly name = "BadOutputError";
}

/** Stores every output under names of this lease, so that no other consumer's files are touched, and tells the result. */
export async function storeOutputs(task: Task, lease: string, made: Succeeded, { ASSETS: bucket, MEDIA: media }: Env): Promise<Result> {
  const { kind } = task.submission;
  const store = (output: Output, name: string, kindOfFile: "image" | "video") =>
    storeOutput(bucket, `${assetPrefix(task.id)}${lease}-${name}`, output, kindOfFile);
  const [first] = made.outputs;
  if (!first) throw new BadOutputError("no output");
  switch (kind) {
    case "image": {
      const images: Asset[] = [];
      for (const [at, output] of made.outputs.slice(0, task.submission.parameters.n ?? 1).entries())
        images.push(await store(output, String(at), "image"));
      return { kind: "images", images };
    }
    case "video":
    case "remix": {
      const video = await store(first, "0", "video");
      const facts = await readVideoFacts((offset, length) => readRange(bucket, video.key, offset, length), video.bytes);
      if (!facts) throw new BadOutputError("the film cannot be read");
      const thumbnail =
        first.thumbnail ?? (media && task.submission.parameters.thumbnail ? still(media, bucket, video.key, facts.seconds / 2) : undefined);
      const stored = thumbnail && (await store(thumbnail, "thumbnail", "image").catch(withoutThumbnail(task)));
      return {
        kind: "video",
        video,
        ...(stored && { thumbnail: stored }),
        width: facts.width,
        height: facts.height,
        seconds: facts.seconds,
      };
    }
    case "character": {
      if (!made.character) throw new BadOutputError("no character");
      const id = `ch_${task.id.slice("task_".length)}`;
      return { kind: "character", id, ...made.character, picture: await store(first, "picture", "image") };
    }
  }
}

/** A picture of the film itself, where the upstream made none. */
const still = (media: MediaBinding, bucket: R2Bucket, key: string, seconds: number): Output => ({
  async open() {
    const film = await openAsset(bucket, key);
    if (!film) throw new BadOutputError("the stored film is gone");
    const bytes = await cutStill(media, film.body, seconds);
    return { body: new Blob([bytes]).stream(), type: "image/png", length: bytes.byteLength };
  },
});

/** A film is not given up for its thumbnail: where there is none, and after the third time, it goes without. */
const withoutThumbnail = (task: Task) => (error: unknown) => {
  const isGone = error instanceof ProviderError && !error.retryable;
  if (task.faults < 2 && !isGone) throw error;
  alert("dispatch", { task: task.id, outcome: "no_thumbnail" }, error);
  return undefined;
};

async function storeOutput(bucket: R2Bucket, name: string, output: Output, kind: "image" | "video"): Promise<Asset> {
  const { body, length } = await output.open();
  const { head, whole } = await peek(body, IMAGE_TYPE_BYTES);
  const type = kind === "video" ? (isMp4(head) ? "video/mp4" : undefined) : detectImageType(head);
  if (!type) {
    await whole.cancel();
    throw new BadOutputError(`not ${kind === "video" ? "a film" : "an image"}`);
  }
  return storeStream(bucket, `${name}.${extensions[type]}`, whole, { type, length, maxBytes: maxOutputBytes });
}

/** `ftyp` is the first box of every MP4 file (ISO/IEC 14496-12, 4.3). */
const isMp4 = (head: Uint8Array) => new TextDecoder().decode(head.subarray(4, 8)) === "ftyp";

/** The first bytes of a stream, at least `count` unless it ends before, and the stream as if nothing had been read. */
async function peek(body: ReadableStream<Uint8Array>, count: number): Promise<{ head: Uint8Array; whole: ReadableStream<Uint8Array> }> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  while (size < count) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.byteLength;
  }
  const head = new Uint8Array(await new Blob(chunks).arrayBuffer());
  let first = true;
  const whole = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (first) {
        first = false;
        if (head.byteLength > 0) return controller.enqueue(head);
      }
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { head, whole };
}

async function readRange(bucket: R2Bucket, key: string, offset: number, length: number): Promise<Uint8Array> {
  const object = await openAsset(bucket, key, { offset, length });
  return object ? new Uint8Array(await object.arrayBuffer()) : new Uint8Array();
}
