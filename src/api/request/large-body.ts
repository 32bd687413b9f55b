/** Bodies of chats and of submissions with inline images: read as a stream while the images are stored in R2, a few such requests at a time. */

import type { ExtractedImage } from "../../media/json-image.ts";
import { chatDeadlineMs } from "../../catalog/chat-tokens.ts";
import type { AppContext } from "./context.ts";
import { type Asset, inputPrefix, removeUnder, storeBytes, storeFile } from "../../storage/assets.ts";
import { ApiError, bodyTooLarge } from "../../base/errors.ts";
import { maxDepth } from "../../media/json-limits.ts";
import { JsonBodyError } from "../../media/json-error.ts";
import { largeReads } from "../../media/large-reads.ts";
import { type InlineImage, readJsonSkeleton } from "../../media/json-skeleton.ts";
import { RunningDigest } from "../../media/running-digest.ts";
import { maxImageBytes } from "../../catalog/fields.ts";
import { type Permit, Semaphore } from "../../base/concurrency.ts";
import type { Spooled } from "../../storage/spool.ts";
import { type Arrival, type Owner, smallEnough, toOwner } from "./arrival.ts";
import { countLargeDryRun } from "./auth.ts";
import { asObject, largeBody, parseObject, readObject, requireJson, toJsonError, whileArriving, withoutNulls } from "./body.ts";
import { isOpenAi } from "./origin.ts";

const MiB = 1024 * 1024;
/** Five images of 10 MiB in Base64, and room for the other fields (contract, section 1). */
const imageBody = 72 * MiB;
/** No model accepts more than five images; a body with a repeated field may contain more. */
const maxInlineImages = 10;

/** A body and its extracted images, which are already stored under the task's inputs. */
export interface LargeBody {
  /** The body as sent, with the same placeholders instead of images. */
  sent: Record<string, unknown>;
  /** The body without null fields. */
  body: Record<string, unknown>;
  /** Keyed by the placeholder that replaces each image in the body. */
  images: Map<string, ExtractedImage>;
  /** SHA-256 (hexadecimal) of `sent` in canonical JSON with its images, if it could be computed while the body was read. */
  digest?: string | undefined;
  /** True if images were stored. */
  hasInputs: boolean;
  /** The uploaded video of a request without a JSON body, stored under the task's inputs. */
  upload?: Asset;
}

/** The bucket key of an extracted image. */
export const extractedKey = (taskId: string, index: number) => `${inputPrefix(taskId)}${index}`;

/**
 * Reads a submission that may have inline images. Stored images are deleted again if the body is invalid; without `keepsImages`
 * images are checked and not stored. Throws 400, 408 for a body that arrives too slowly, 413, 415, and 503 if too many large bodies are
 * being read or too many of the account are already waiting.
 */
export async function readLargeBody(c: AppContext, taskId: string, { keepsImages }: { keepsImages: boolean }): Promise<LargeBody> {
  const upload = isOpenAi(c.req.raw) ? c.req.header("x-submission") : undefined;
  if (upload && c.req.raw.body) return readUpload(c.env.ASSETS, taskId, c.req.raw.body, upload);
  const id = keepsImages ? taskId : undefined;
  return readBody(c, imageBody, { small: async (body) => body, large: (arriving) => read(c, id, inTurns(c, arriving)) });
}

/** Reads a chat, which arrives completely, and answers it under a permit for its size. Throws what `readLargeBody` and `answer` throw. */
export const withChat = (
  c: AppContext,
  answer: (body: Record<string, unknown>, memory: ChatMemory) => Promise<Response>,
): Promise<Response> =>
  readBody(c, largeBody, {
    small: ({ body }) => answer(body, chatMemory(toOwner(c.get("caller")).share)),
    large: async ({ head, arrival, owner }) => {
      const rest = await arrival.rest();
      const bytes = head.length + rest.bytes;
      const left = largeBody - bytes;
      const work = async (permit: Permit) => {
        const take: ChatMemory["take"] = async (more, use) => {
          if (!permit.resize(bytes + more)) throw new LargerChat(bytes + more);
          await rest.discard();
          return use();
        };
        return answer((await read(c, undefined, joined(head, rest))).body, { left, take });
      };
      try {
        return await chats.take(work, refusal, owner.share, bytes).catch((error: unknown) => {
          if (!(error instanceof LargerChat)) throw error;
          return chats.take(work, refusal, owner.share, error.bytes);
        });
      } finally {
        await rest.discard();
      }
    },
  });

/** The memory for the stored images of a chat: together with its body they have at most the bytes of the largest body. */
export interface ChatMemory {
  /** What the body leaves of the largest one, in bytes; undefined for a small body, which is measured if it names files. */
  left?: number;
  /** Runs the work once this much memory is free, and keeps it taken meanwhile. Throws 503 if that takes too long. */
  take<T>(bytes: number, work: () => Promise<T>): Promise<T>;
}

/** The memory of a chat with a small body. */
export const chatMemory = (share: string, maxWaitMs?: number): ChatMemory => ({
  take: (bytes, work) => (bytes === 0 ? work() : chats.take(work, refusal, share, bytes, maxWaitMs)),
});

/**
 * A chat with a large body needs more memory, for its files, than is free. It never waits for that with the memory of its body: several
 * such chats would wait for each other. It gives its memory back, and is read again once there is enough for both.
 */
class LargerChat extends ApiError {
  readonly bytes: number;

  constructor(bytes: number) {
    super("unavailable");
    this.bytes = bytes;
  }
}

/** A large body whose first bytes have arrived. */
interface Arriving {
  head: Uint8Array;
  arrival: Arrival;
  owner: Owner;
}

interface Readers<T> {
  small: (body: LargeBody) => Promise<T>;
  large: (arriving: Arriving) => Promise<T>;
}

/** Reads a body by its size. Throws 400, 408, 413 and 415. */
async function readBody<T>(c: AppContext, maxBytes: number, { small, large }: Readers<T>): Promise<T> {
  const length = c.req.header("content-length");
  if (length !== undefined && Number(length) <= smallEnough) return small(withoutImages(await readObject(c, smallEnough)));
  requireJson(c);
  if (Number(length ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  const stream = c.req.raw.body;
  if (!stream) throw new ApiError("invalid_json");
  const owner = toOwner(c.get("caller"));
  return whileArriving(c, owner, stream, maxBytes, async (arrival) => {
    const { bytes: head, isWhole } = await readHead(arrival);
    if (isWhole) return small(withoutImages(parseObject(head)));
    await countLargeDryRun(c);
    return large({ head, arrival, owner });
  });
}

/** The first bytes of a body: more than a small body has, or all. */
async function readHead(arrival: Arrival): Promise<{ bytes: Uint8Array<ArrayBuffer>; isWhole: boolean }> {
  let bytes = new Uint8Array(0);
  while (bytes.length <= smallEnough) {
    const more = await arrival.read();
    if (!more) return { bytes, isWhole: true };
    const longer = new Uint8Array(bytes.length + more.length);
    longer.set(bytes);
    longer.set(more, bytes.length);
    bytes = longer;
  }
  return { bytes, isWhole: false };
}

/** Fewer reads take less processor time. */
const pieceBytes = 256 * 1024;

/**
 * The pieces of a submission's body, for a reader that keeps an image of it at a time. They are read while they arrive, if there is memory
 * for that; otherwise the body is collected first, and then waits for its turn. So slow callers can hold only the memory of `early`, without
 * which other bodies take more processor time and operations of the bucket.
 */
async function* inTurns(c: AppContext, { head, arrival, owner }: Arriving): AsyncGenerator<Uint8Array, void> {
  const permit = early.open(owner.share);
  try {
    if (permit.resize(Math.min(Number(c.req.header("content-length") ?? maxImageTurn), maxImageTurn))) {
      for (let piece: Uint8Array | undefined = head; piece; piece = await arrival.read(pieceBytes)) yield piece;
      return;
    }
  } finally {
    permit.release();
  }
  const rest = await arrival.rest();
  try {
    const turn = await turns.tryEnter(owner.share, Math.min(head.length + rest.bytes, maxImageTurn));
    if (!turn) throw refusal();
    try {
      yield* joined(head, rest);
    } finally {
      turn.release();
    }
  } finally {
    await rest.discard();
  }
}

async function* joined(head: Uint8Array, rest: Spooled): AsyncGenerator<Uint8Array, void> {
  yield head;
  yield* rest.pieces();
}

const refusal = () => new ApiError("unavailable");

/** A body that is completely in memory. */
export const withoutImages = (sent: Record<string, unknown>): LargeBody => ({
  sent,
  body: withoutNulls(sent, 4),
  images: new Map(),
  hasInputs: false,
});

/**
 * Stores the body, which is a video from the OpenAI Worker. A header contains the submission's JSON, with the body's size as `bytes`. The
 * video's digest becomes the submission's `url`, so that a different video counts as a different submission.
 */
async function readUpload(bucket: R2Bucket, taskId: string, body: ReadableStream<Uint8Array>, fields: string): Promise<LargeBody> {
  const { bytes: length, ...sent } = JSON.parse(decodeURIComponent(fields)) as { bytes: number };
  const file = { type: "video/mp4", length, maxBytes: length };
  const upload = await storeFile(bucket, `${inputPrefix(taskId)}video`, largeReads(body), file);
  return { ...withoutImages({ ...sent, url: `sha256:${upload.digest}` }), hasInputs: true, upload };
}

/** Reads the pieces of a body with images; without `taskId` nothing is stored. */
async function read(c: AppContext, taskId: string | undefined, pieces: AsyncIterable<Uint8Array>): Promise<LargeBody> {
  let stored = 0;
  const store = async ({ bytes, type, index }: InlineImage) => {
    if (taskId === undefined) return;
    stored++;
    await storeBytes(c.env.ASSETS, extractedKey(taskId, index), bytes, type);
  };
  try {
    const limits = { maxBytes: imageBody, maxSkeletonBytes: largeBody, maxImageBytes, maxImages: maxInlineImages, maxDepth };
    const digest = taskId === undefined ? undefined : new RunningDigest();
    // Idempotency compares the images' bytes, however they are encoded.
    const hashesImages = c.req.header("idempotency-key") !== undefined;
    const { value, images } = await readJsonSkeleton(pieces, { ...limits, isImageAt, store, hashesImages, digest });
    return {
      ...withoutImages(asObject(value)),
      digest: await digest?.end(value),
      images: new Map(images.map((image) => [image.placeholder, image])),
      hasInputs: stored > 0,
    };
  } catch (error) {
    if (taskId !== undefined && stored > 0) await removeUnder(c.env.ASSETS, inputPrefix(taskId));
    return refuse(error);
  }
}

/** Throws the `ApiError` for a body that could not be read. */
function refuse(error: unknown): never {
  if (!(error instanceof JsonBodyError)) throw error;
  if (error.cause instanceof ApiError) throw error.cause;
  if (error.reason !== "too_large") throw toJsonError(error);
  const values = { maximum: String(imageBody / MiB), rest: String(largeBody / MiB) };
  throw new ApiError("body_too_large", { sentence: { key: "larger_with_images", values }, cause: error });
}

/** `images[3]`, `image_with_roles[0].url` */
const isImageAt = (path: readonly (string | number)[]) =>
  (path.length === 2 && path[0] === "images") || (path.length === 3 && path[0] === "image_with_roles" && path[2] === "url");

/** The maximum memory that a body with images takes: its largest image twice, or its text. */
const maxImageTurn = 16 * MiB;

/** Bodies with images that are read while they arrive; the isolate has 128 MB in all. An account may have it all, because no other waits for it. */
const early = new Semaphore({ maxAtOnce: 2 * maxImageTurn, maxOfOne: 2 * maxImageTurn, maxHoldMs: 300_000, maxWaitMs: 0 });

/** Those that had to be collected, while they are read. They have arrived, so a permit is held briefly. */
const turns = new Semaphore({ maxAtOnce: 2 * maxImageTurn, maxWaiting: 8, maxHoldMs: 120_000, maxWaitMs: 10_000 });

/**
 * A chat is in memory several times until its upstream has answered, because the next route may need it. The sum of all chats' bytes is
 * therefore limited: two of 10 MiB with wide text could exceed the isolate's memory. An account has half of it, or a single larger chat.
 */
const chats = new Semaphore({ maxAtOnce: 16 * MiB, allowsLarger: true, maxWaiting: 8, maxHoldMs: chatDeadlineMs, maxWaitMs: 10_000 });
