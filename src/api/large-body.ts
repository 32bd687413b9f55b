/** Bodies of chats and of submissions with inline images: read as a stream while the images are stored in R2, a few such requests at a time. */

import { type Asset, inputPrefix, removeUnder, storeBytes, storeFile } from "../assets.ts";
import { ApiError } from "../errors.ts";
import { maxDepth } from "../media/json-limits.ts";
import { JsonBodyError } from "../media/json-error.ts";
import { readHead } from "../media/json-text.ts";
import { NetError } from "../net/net-error.ts";
import { callersPace, pace, type PacedRead } from "../net/pace.ts";
import { largeReads } from "../media/large-reads.ts";
import { type ExtractedImage, type InlineImage, readJsonSkeleton } from "../media/json-skeleton.ts";
import { RunningDigest } from "../media/running-digest.ts";
import { maxImageBytes } from "../catalog/fields.ts";
import { Semaphore } from "../concurrency.ts";
import { chatDeadlineMs } from "./chat-hold.ts";
import { asObject, largeBody, parseObject, readObject, requireJson, toJsonError, withoutNulls } from "./body.ts";
import type { AppContext } from "./frame.ts";
import { isOpenAi } from "./openai.ts";

const MiB = 1024 * 1024;
/** Five images of 10 MiB in Base64, and room for the other fields (contract, section 1). */
const imageBody = 72 * MiB;
/** No model accepts more than five images; a body with a repeated field may contain more. */
const maxInlineImages = 10;
/** A body up to this size needs no permit, because many of them fit into memory. */
const smallEnough = 64 * 1024;

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
 * images are checked and not stored. Throws 400, also for a body that arrives too slowly, 413, 415, and 503 if too many large bodies are
 * being read or another one of the account is already waiting.
 */
export async function readLargeBody(c: AppContext, taskId: string, { keepsImages }: { keepsImages: boolean }): Promise<LargeBody> {
  const stream = c.req.raw.body;
  const fields = stream && isOpenAi(c.req.raw) && c.req.header("x-submission");
  if (fields) return readUpload(c.env.ASSETS, taskId, stream, fields);
  return readInTurn(c, turns, keepsImages ? taskId : undefined, async (body) => body);
}

/** Reads a chat and answers it. Throws what `readLargeBody` and `answer` throw. */
export const withChat = (c: AppContext, answer: (body: Record<string, unknown>) => Promise<Response>): Promise<Response> =>
  readInTurn(c, chats, undefined, ({ body }) => answer(body));

/** Reads a body and processes it; a large one needs a permit of the semaphore. */
async function readInTurn<T>(
  c: AppContext,
  semaphore: Semaphore,
  taskId: string | undefined,
  work: (body: LargeBody) => Promise<T>,
): Promise<T> {
  const stream = c.req.raw.body;
  const length = c.req.header("content-length");
  if (length !== undefined && Number(length) <= smallEnough) return work(withoutImages(await readObject(c, smallEnough)));
  requireJson(c);
  const isChat = semaphore === chats;
  const bytes = Number(length ?? largeBody);
  if (bytes > (isChat ? largeBody : imageBody)) throw new ApiError("body_too_large");
  if (!stream) throw new ApiError("invalid_json");
  const wait = pace(callersPace);
  // The length is unknown. A small body is complete after the first read and needs no permit.
  const start = length === undefined ? await readHead(stream, smallEnough, wait).catch(refuse) : undefined;
  if (start?.isWhole) return work(withoutImages(parseObject(start.head)));
  const turn = semaphore.take(
    async () => work(await read(c, taskId, stream, start?.head, wait)),
    () => new ApiError("unavailable"),
    c.get("caller").accountId,
    isChat ? bytes : 1,
  );
  // If the caller disconnects, reading fails, which releases the permit. Without this the platform would cancel the request and the permit
  // would only expire.
  c.executionCtx.waitUntil(turn.catch(() => undefined));
  return turn;
}

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

async function read(
  c: AppContext,
  taskId: string | undefined,
  stream: ReadableStream<Uint8Array>,
  head: Uint8Array | undefined,
  wait: PacedRead,
): Promise<LargeBody> {
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
    const { value, images } = await readJsonSkeleton(stream, { ...limits, head, wait, isImageAt, store, hashesImages, digest });
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
  const isSlow = error.cause instanceof NetError && error.cause.reason === "timeout";
  if (isSlow) throw new ApiError("body_too_slow", { cause: error });
  throw error.reason === "too_large" ? new ApiError("body_too_large", { cause: error }) : toJsonError(error);
}

/** `images[3]`, `image_with_roles[0].url` */
const isImageAt = (path: readonly (string | number)[]) =>
  (path.length === 2 && path[0] === "images") || (path.length === 3 && path[0] === "image_with_roles" && path[2] === "url");

/**
 * Each such request has its text and one image in memory, and the isolate has 128 MB in all. The body of a waiting request is not read. One
 * account cannot take all permits; a permit is held at most until the body's deadline.
 */
const turns = new Semaphore({ maxAtOnce: 3, maxOfOne: 2, maxHoldMs: callersPace.deadlineMs, maxWaitMs: 10_000 });

/**
 * A chat is in memory several times until its upstream has answered, because the next route may need it. The sum of all chats' bytes is
 * therefore limited; one account cannot use all of it. A chat of unknown length counts as the largest one.
 */
const chats = new Semaphore({ maxAtOnce: 16 * MiB, maxOfOne: largeBody, maxHoldMs: chatDeadlineMs, maxWaitMs: 10_000 });
