/** Stores a provider's outputs in R2 and describes them: type and size come from the files, not from the provider. */

import { type Asset, assetPrefix, openAsset, removeAssets, storeFile } from "../assets.ts";
import { IMAGE_TYPE_BYTES, detectImageType } from "../media/image-type.ts";
import { largeReads } from "../media/large-reads.ts";
import { alert } from "../log.ts";
import { cutStill } from "../media/still.ts";
import { readVideoFacts, VIDEO_WINDOW_BYTES } from "../media/mp4.ts";
import { type Job, type Output, ProviderError, type Succeeded } from "../providers/provider.ts";
import { Semaphore } from "../concurrency.ts";
import { maxPauseMs, type StartClock } from "./start-clock.ts";
import type { Result, Task } from "./record.ts";
import { listAssets } from "./views.ts";

const maxOutputBytes = 512 * 1024 * 1024;
/** The part size for files of known length: storing a video in parts of 256 KB took a third more CPU time (`npm run bench:storing`). Ten such buffers fit into an isolate's memory. */
const maxPieceBytes = 4 * 1024 * 1024;
const extensions: Record<string, string> = { "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "video/mp4": "mp4" };

/** The provider's output is not of the requested kind. */
export class BadOutputError extends Error {
  override readonly name = "BadOutputError";
}

/**
 * Stores every output under names of this lease, so that it overwrites no other consumer's files, and returns the result. All files that
 * remain are named in the result.
 */
export async function storeOutputs(task: Task, lease: string, made: Succeeded, env: Env): Promise<Result> {
  const result = await store(task, lease, made, env);
  const named = new Set(listAssets(result).map(({ key }) => key));
  const keys = made.outputs.flatMap((output) => kept.get(output)?.key ?? []);
  await removeAssets(
    env.ASSETS,
    keys.filter((key) => !named.has(key)),
  );
  return result;
}

async function store(task: Task, lease: string, made: Succeeded, { ASSETS: bucket, MEDIA: media }: Env): Promise<Result> {
  const { kind } = task.submission;
  const put = (output: Output, name: string, kindOfFile: "image" | "video") =>
    storeOutput(bucket, `${assetPrefix(task.id)}${lease}-${name}`, output, kindOfFile);
  const [first] = made.outputs;
  if (!first) throw new BadOutputError("no output");
  switch (kind) {
    case "image": {
      const images: Asset[] = [];
      for (const [at, output] of made.outputs.slice(0, task.submission.parameters.n ?? 1).entries())
        images.push(await put(output, String(at), "image"));
      return { kind: "images", images };
    }
    case "video":
    case "remix": {
      const video = await put(first, "0", "video");
      const begin = begins.get(video);
      const read = async (offset: number, length: number) =>
        begin && offset + length <= begin.byteLength
          ? begin.subarray(offset, offset + length)
          : readRange(bucket, video.key, offset, length);
      const facts = await readVideoFacts(read, video.bytes);
      if (!facts) throw new BadOutputError("the video cannot be read");
      const thumbnail =
        first.thumbnail ?? (media && task.submission.parameters.thumbnail ? still(media, bucket, video.key, facts.seconds / 2) : undefined);
      const stored = thumbnail && (await put(thumbnail, "thumbnail", "image").catch(withoutThumbnail(task)));
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
      return { kind: "character", id, ...made.character, picture: await put(first, "picture", "image") };
    }
  }
}

/** A frame of the video, if the upstream made no thumbnail. */
const still = (media: MediaBinding, bucket: R2Bucket, key: string, seconds: number): Output => ({
  async open() {
    const video = await openAsset(bucket, key);
    if (!video) throw new BadOutputError("the stored video is gone");
    const bytes = await cutStill(media, video.body, seconds);
    return { body: new Blob([bytes]).stream(), type: "image/png", length: bytes.byteLength };
  },
});

/** A missing thumbnail does not fail a video: after three failures the video has no thumbnail. */
const withoutThumbnail = (task: Task) => (error: unknown) => {
  const isGone = error instanceof ProviderError && !error.retryable;
  if (task.faults < 2 && !isGone) throw error;
  alert("dispatch", { task: task.id, outcome: "no_thumbnail" }, error);
  return undefined;
};

/** The first bytes of stored videos, which usually suffice to read what a video is: they need not be read from the bucket again. */
const begins = new WeakMap<Asset, Uint8Array>();

/** Files stored while the start's response was being read, by the output object that the provider got for each. */
const kept = new WeakMap<Output, Asset>();

/** `Job.keep` of a step: stores each file under a name of this lease, so that the provider's outputs are stored before the step ends. */
export function keeping(task: Task, lease: string, bucket: R2Bucket, clock: StartClock): Job["keep"] {
  const kind = task.submission.kind === "image" || task.submission.kind === "character" ? "image" : "video";
  let count = 0;
  return async (bytes) => {
    const name = `${assetPrefix(task.id)}${lease}-made-${count++}`;
    const asset = await inTurn(clock, () => storeBody(bucket, name, { body: bytes }, kind));
    const output: Output = {
      async open() {
        const object = await openAsset(bucket, asset.key);
        if (!object) throw new BadOutputError("the kept file is gone");
        return { body: object.body, type: asset.type, length: object.size };
      },
    };
    kept.set(output, asset);
    return output;
  };
}

/** Each file has a buffer of up to 8 MB: ten at once used 135 MB of an isolate's 128. */
const turns = new Semaphore({ maxAtOnce: 3, maxHoldMs: 60_000, maxWaitMs: maxPauseMs });

/** Waits for a permit while the start's timeout is paused. Outputs are never refused: after the maximum wait it continues without a permit. */
async function inTurn<T>(clock: StartClock, work: () => Promise<T>): Promise<T> {
  const release = clock.hold();
  const begun = () => {
    release();
    return work();
  };
  const noTurn = new Error("no turn");
  try {
    return await turns.take(begun, () => noTurn);
  } catch (error) {
    if (error === noTurn) return await begun();
    throw error;
  } finally {
    release();
  }
}

const storeOutput = async (bucket: R2Bucket, name: string, output: Output, kind: "image" | "video"): Promise<Asset> =>
  kept.get(output) ?? storeBody(bucket, name, await output.open(), kind);

async function storeBody(
  bucket: R2Bucket,
  name: string,
  { body, length }: { body: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>; length?: number },
  kind: "image" | "video",
): Promise<Asset> {
  const { head, whole } = await peek(body instanceof ReadableStream ? toPieces(body, length) : body);
  const type = kind === "video" ? (isMp4(head) ? "video/mp4" : undefined) : detectImageType(head);
  if (!type) {
    await whole.return();
    throw new BadOutputError(`not ${kind === "video" ? "a video" : "an image"}`);
  }
  const begin = head.slice(0, VIDEO_WINDOW_BYTES);
  const asset = await storeFile(bucket, `${name}.${extensions[type]}`, whole, { type, length, maxBytes: maxOutputBytes });
  begins.set(asset, begin);
  return asset;
}

/** The part size for storing a file: the file's size if it is known, up to a limit. */
export const toPieces = (body: ReadableStream<Uint8Array>, length?: number): AsyncGenerator<Uint8Array, void> =>
  largeReads(body, Math.min(length ?? 0, maxPieceBytes) || undefined);

/** `ftyp` is the first box of every MP4 file (ISO/IEC 14496-12, 4.3). */
const isMp4 = (head: Uint8Array) => new TextDecoder().decode(head.subarray(4, 8)) === "ftyp";

/** The whole body and its first bytes: enough of them to detect the type, unless the body is shorter. */
async function peek(body: AsyncIterable<Uint8Array>): Promise<{ head: Uint8Array; whole: AsyncGenerator<Uint8Array, void> }> {
  const whole = withPeek(body);
  const { value: head } = await whole.next();
  return { head: head ?? new Uint8Array(), whole };
}

/** A stream of the bytes that were already read, followed by the rest of the body. */
async function* withPeek(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let head: Uint8Array | undefined = new Uint8Array();
  for await (const piece of body) {
    if (!head) {
      yield piece;
      continue;
    }
    head = head.byteLength === 0 ? piece : new Uint8Array(await new Blob([head, piece]).arrayBuffer());
    if (head.byteLength < IMAGE_TYPE_BYTES) {
      head = head.slice(); // a chunk is valid until the next read
      continue;
    }
    yield head;
    yield head;
    head = undefined;
  }
  if (!head) return;
  yield head;
  yield head;
}

async function readRange(bucket: R2Bucket, key: string, offset: number, length: number): Promise<Uint8Array> {
  const object = await openAsset(bucket, key, { offset, length });
  return object ? new Uint8Array(await object.arrayBuffer()) : new Uint8Array();
}
