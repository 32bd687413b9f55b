/** Bodies with images, for the tests of the body reader. */

import { JsonBodyError } from "../../src/media/json-error.ts";
import type { JsonPath } from "../../src/media/json-scanner.ts";
import { type InlineImage, readJsonSkeleton, type SkeletonOptions } from "../../src/media/json-skeleton.ts";
import { largeReads } from "../../src/media/large-reads.ts";
import { png } from "./images.ts";

export const MiB = 1024 * 1024;

/** The paths at which the interface allows images. */
const isImageAt = (path: JsonPath) =>
  (path[0] === "images" && path.length === 2 && typeof path[1] === "number") ||
  (path[0] === "image_with_roles" && path.length === 3 && typeof path[1] === "number" && path[2] === "url");

/** A file that begins with the PNG signature. */
export function buildPng(length: number, fill = 7): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length).fill(fill);
  bytes.set(png.subarray(0, 12));
  return bytes;
}

/** The data URI of that file. */
export const toUri = (bytes: Uint8Array) => `data:image/png;base64,${bytes.toBase64()}`;

/** A stream of these chunks; of type `bytes` it is a byte stream to the platform. */
export function toStream(chunks: Iterable<Uint8Array | string>, type?: "bytes"): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.iterator]();
  const pull = (controller: ReadableStreamDefaultController<Uint8Array> | ReadableByteStreamController) => {
    const { done, value } = iterator.next();
    if (done) controller.close();
    else controller.enqueue(typeof value === "string" ? new TextEncoder().encode(value) : value.slice());
    // A reader that waits with its own buffer must be notified that no bytes follow.
    if (done && "byobRequest" in controller) controller.byobRequest?.respond(0);
  };
  return type ? new ReadableStream({ type, pull }) : new ReadableStream({ pull });
}

/** Reads a body with the interface's limits; a value that is not text is written by `JSON.stringify`. */
export async function read(body: ReadableStream<Uint8Array> | string | object, options: Partial<SkeletonOptions> = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const stored: InlineImage[] = [];
  const skeleton = await readJsonSkeleton(largeReads(body instanceof ReadableStream ? body : toStream([text])), {
    maxBytes: 72 * MiB,
    maxSkeletonBytes: MiB,
    maxImageBytes: 10 * MiB,
    maxImages: 5,
    maxDepth: 64,
    isImageAt,
    hashesImages: true,
    store: async (image) => {
      await Promise.resolve();
      stored.push({ ...image, bytes: image.bytes.slice() });
    },
    ...options,
  });
  const placeholders = skeleton.images.map((image) => image.placeholder);
  return { ...skeleton, stored, placeholders };
}

/** The reason why a reading fails, or `read`. */
export const readReason = async (reading: Promise<unknown>) =>
  reading.then(
    () => "read",
    (error: unknown) => (error instanceof JsonBodyError ? error.reason : error),
  );
