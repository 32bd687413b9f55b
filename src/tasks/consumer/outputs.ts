/** Stores a provider's outputs in R2 and describes them: type and size come from the files, not from the provider. */

import { maxPauseMs } from "../work.ts";
import { type Asset, assetPrefix, openAsset, removeAssets, storeFile } from "../../storage/assets.ts";
import { detectAnyType } from "../../media/any-type.ts";
import { IMAGE_TYPE_BYTES, detectImageType } from "../../media/image-type.ts";
import { readHead, whole } from "../../media/head.ts";
import { largeReads } from "../../media/large-reads.ts";
import { alert } from "../../base/log.ts";
import { cutStill } from "../../media/still.ts";
import { readVideoFacts, VIDEO_WINDOW_BYTES } from "../../media/mp4.ts";
import { type Job, heldOutput, type Output, ProviderError, type Succeeded } from "../../providers/provider.ts";
import { Semaphore } from "../../base/concurrency.ts";
import { withoutEchoes } from "./echoes.ts";
import { Marks, maxManifestBytes } from "./marks.ts";
import { type StartClock } from "./start-clock.ts";
import type { Result, Task } from "../record.ts";
import { listAssets } from "../answers/views.ts";

const maxOutputBytes = 512 * 1024 * 1024;
/** The part size for files of known length: storing a video in parts of 256 KB took a third more CPU time (`npm run bench -- files`). Ten such buffers fit into an isolate's memory. */
const maxPieceBytes = 4 * 1024 * 1024;
/** The same for files that are stored in parts: the buffer of a part takes 8 MB. */
export const maxPartedPieceBytes = 1024 * 1024;
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
  for (const asset of listAssets(result)) asset.credentials ??= "none";
  const named = new Set(listAssets(result).map(({ key }) => key));
  const keys = made.outputs.flatMap((output) => kept.get(output)?.asset.key ?? []);
  await removeAssets(
    env.ASSETS,
    keys.filter((key) => !named.has(key)),
  );
  return result;
}

async function store(task: Task, lease: string, made: Succeeded, env: Env): Promise<Result> {
  const { ASSETS: bucket, MEDIA: media } = env;
  const { kind } = task.submission;
  const marks = new Marks(task, env);
  if (task.submission.parameters.input) return storeOwn(task, lease, made, env);
  const put = (output: Output, name: string, kindOfFile: "image" | "video") =>
    storeOutput(bucket, `${assetPrefix(task.id)}${lease}-${name}`, output, kindOfFile, marks);
  const [first] = made.outputs;
  if (!first) throw new BadOutputError("no output");
  switch (kind) {
    case "image": {
      const images: Asset[] = [];
      for (const [at, output] of made.outputs.slice(0, task.submission.parameters.n ?? 1).entries())
        images.push((await put(output, String(at), "image")).asset);
      return { kind: "images", images };
    }
    case "video":
    case "remix": {
      const made = await put(first, "0", "video");
      const { asset: video } = made;
      const facts = await readFacts(bucket, made);
      if (!facts) throw new BadOutputError("the video cannot be read");
      const { width, height, seconds } = facts;
      const thumbnail =
        first.thumbnail ?? (media && task.submission.parameters.thumbnail ? still(media, bucket, video.key, seconds / 2) : undefined);
      const stored = thumbnail && (await put(thumbnail, "thumbnail", "image").catch(withoutThumbnail(task)));
      return { kind: "video", video, ...(stored && { thumbnail: stored.asset }), width, height, seconds };
    }
    case "file":
      throw new BadOutputError("only an own input makes files");
    case "character": {
      if (!made.character) throw new BadOutputError("no character");
      const id = `ch_${task.id.slice("task_".length)}`;
      return { kind: "character", id, ...made.character, picture: (await put(first, "picture", "image")).asset };
    }
  }
}

/** The maximum number of files of an answer that are stored. */
const maxOwnFiles = 32;
/** A longer text beside the files is a file itself: the result is part of the task's record. */
const maxDataLength = 64 * 1024;

/**
 * Stores what a model with its own input made. The files of the task's kind are its images or its video; all others follow them with their
 * types. A kind that the answer has nothing of is a fault of the upstream.
 */
async function storeOwn(task: Task, lease: string, made: Succeeded, env: Env): Promise<Result> {
  const { ASSETS: bucket } = env;
  const { kind, price, imagePrice } = task.submission;
  const marks = new Marks(task, env);
  const text = made.data && JSON.stringify(made.data);
  const isLong = text !== undefined && text.length > maxDataLength;
  const files = await withoutEchoes(made.outputs.slice(0, maxOwnFiles), task.submission, bucket);
  const outputs = [...files, ...(isLong ? [{ ...heldOutput(text), name: "answer.json" }] : [])];
  const data = made.data && !isLong && { data: made.data };
  const stored: Stored[] = [];
  for (const [at, output] of outputs.entries())
    stored.push(await storeOutput(bucket, `${assetPrefix(task.id)}${lease}-${at}`, output, "any", marks));
  const isOfKind = ({ asset }: Stored) => asset.type.startsWith(`${kind}/`) && asset.type !== "image/gif";
  const wanted = kind === "file" ? [] : stored.filter(isOfKind);
  if (kind === "image") {
    // Images beyond those that were paid for are given away as files: the answer does not say which ones are extra.
    const paid = imagePrice ? Math.round(price / imagePrice) : Infinity;
    const images = wanted.slice(0, paid);
    if (images.length === 0) throw new BadOutputError("no image");
    const others = stored.filter((one) => !images.includes(one));
    return { kind: "images", images: images.map(({ asset }) => asset), ...listed(others), ...data };
  }
  if (kind === "video") {
    const [video] = wanted;
    const facts = video && (await readFacts(bucket, video));
    if (!facts) throw new BadOutputError("no video that can be read");
    return { kind: "video", video: video.asset, ...facts, ...listed(stored.filter((one) => one !== video)), ...data };
  }
  if (stored.length === 0 && !data) throw new BadOutputError("no output");
  return { kind: "files", ...listed(stored), ...data };
}

const listed = (files: Stored[]) => (files.length > 0 ? { files: files.map(({ asset }) => asset) } : {});

/** Size and duration of a stored video. */
function readFacts(bucket: R2Bucket, { asset, begin }: Stored): ReturnType<typeof readVideoFacts> {
  const read = async (offset: number, length: number) =>
    offset + length <= begin.byteLength ? begin.subarray(offset, offset + length) : readRange(bucket, asset.key, offset, length);
  return readVideoFacts(read, asset.bytes);
}

/** A frame of the video, if the upstream made no thumbnail. */
const still = (media: MediaBinding, bucket: R2Bucket, key: string, seconds: number): Output => ({
  async open() {
    const video = await openAsset(bucket, key);
    if (!video) throw new BadOutputError("the stored video is gone");
    return heldOutput(await cutStill(media, video.body, seconds)).open();
  },
});

/** A missing thumbnail does not fail a video: after three failures the video has no thumbnail. */
const withoutThumbnail = (task: Task) => (error: unknown) => {
  const isGone = error instanceof ProviderError && !error.retryable;
  if (task.faults < 2 && !isGone) throw error;
  alert("dispatch", { task: task.id, outcome: "no_thumbnail" }, error);
  return undefined;
};

/** A stored file and its first bytes, which usually suffice to read what a video is: they need not be read from the bucket again. */
interface Stored {
  asset: Asset;
  begin: Uint8Array;
}

/** Files stored while the start's response was being read, by the output object that the provider got for each. */
const kept = new WeakMap<Output, Stored>();

/** `Job.keep` of a step: stores each file under a name of this lease, so that the provider's outputs are stored before the step ends. */
export function keeping(task: Task, lease: string, env: Env, clock: StartClock): Job["keep"] {
  const { ASSETS: bucket } = env;
  const marks = new Marks(task, env);
  const { kind: made, parameters } = task.submission;
  const kind = parameters.input ? "any" : made === "image" || made === "character" ? "image" : "video";
  let count = 0;
  return async (bytes) => {
    const name = `${assetPrefix(task.id)}${lease}-made-${count++}`;
    const stored = await inTurn(clock, () => storeBody(bucket, name, { body: bytes }, kind, marks));
    const { asset } = stored;
    const output: Output = {
      async open() {
        const object = await openAsset(bucket, asset.key);
        if (!object) throw new BadOutputError("the kept file is gone");
        return { body: object.body, length: object.size };
      },
    };
    kept.set(output, stored);
    return output;
  };
}

/** Each file has a buffer of up to 8 MB: ten at once used 135 MB of an isolate's 128. */
const turns = new Semaphore({ maxAtOnce: 3, maxHoldMs: 60_000, maxWaitMs: maxPauseMs });

/** Waits for a permit while the start's timeout is paused. Outputs are never refused: after the maximum wait it continues without a permit. */
async function inTurn<T>(clock: StartClock, work: () => Promise<T>): Promise<T> {
  const goOn = clock.hold();
  const permit = await turns.tryEnter();
  goOn();
  try {
    return await work();
  } finally {
    permit?.release();
  }
}

/** What an output has to be. `any`: a file of an own input. */
type Expected = "image" | "video" | "any";

const storeOutput = async (bucket: R2Bucket, name: string, output: Output, kind: Expected, marks: Marks): Promise<Stored> =>
  kept.get(output) ?? storeBody(bucket, name, await output.open(), kind, marks, output.name);

async function storeBody(
  bucket: R2Bucket,
  name: string,
  { body, length }: { body: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>; length?: number },
  kind: Expected,
  marks: Marks,
  called?: string,
): Promise<Stored> {
  const maxPiece = marks.isOn && kind !== "image" ? maxPartedPieceBytes : maxPieceBytes;
  const file = await readHead(body instanceof ReadableStream ? toPieces(body, length, maxPiece) : body, IMAGE_TYPE_BYTES);
  const { head, rest } = file;
  const { type, extension } = detect(head, kind, called);
  if (!type) {
    await rest.return?.();
    throw new BadOutputError(`not ${kind === "video" ? "a video" : "an image"}`);
  }
  const begin = head.slice(0, VIDEO_WINDOW_BYTES);
  const passing = await (markedTypes.has(type) ? marks.sign({ body: whole(file), length }, type) : unmarked(whole(file), length));
  const limits = { type, length: passing.length, maxBytes: maxOutputBytes + maxManifestBytes };
  const asset = await storeFile(bucket, `${name}.${extension}`, passing.body, limits);
  return { asset: passing.isSigned() ? { ...asset, credentials: "gateway" } : asset, begin };
}

/** The types that can carry a manifest. */
const markedTypes = new Set(Object.keys(extensions));

const unmarked = (body: AsyncGenerator<Uint8Array, void>, length: number | undefined) => ({ body, length, isSigned: () => false });

function detect(head: Uint8Array, kind: Expected, called: string | undefined): { type: string | undefined; extension: string } {
  if (kind === "any") return detectAnyType(head, called);
  const type = kind === "video" ? (isMp4(head) ? "video/mp4" : undefined) : detectImageType(head);
  return { type, extension: extensions[type ?? ""] ?? "" };
}

/** The part size for storing a file: the file's size if it is known, up to a limit. */
export const toPieces = (body: ReadableStream<Uint8Array>, length?: number, maxBytes = maxPieceBytes): AsyncGenerator<Uint8Array, void> =>
  largeReads(body, Math.min(length ?? 0, maxBytes) || undefined);

/** `ftyp` is the first box of every MP4 file (ISO/IEC 14496-12, 4.3). */
const isMp4 = (head: Uint8Array) => new TextDecoder().decode(head.subarray(4, 8)) === "ftyp";

async function readRange(bucket: R2Bucket, key: string, offset: number, length: number): Promise<Uint8Array> {
  const object = await openAsset(bucket, key, { offset, length });
  return object ? new Uint8Array(await object.arrayBuffer()) : new Uint8Array();
}
