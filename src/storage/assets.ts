/** Assets in R2: store, open, remove. */

import { retry } from "../base/retry.ts";
import type { Credentials } from "../db/fingerprints.ts";
import { credentialReader } from "../media/credentials.ts";

/** A stored file. */
export interface Asset {
  /** Its key in the bucket, and its path on the gateway: `assets/{task}/{name}`. */
  key: string;
  type: string;
  bytes: number;
  /** SHA-256, base64url without padding */
  digest: string;
  /** Who signed the file's C2PA manifest, if it has one. undefined for inputs, and in records of versions that did not look for it. */
  credentials?: Credentials;
}

/** The prefixes of a task's outputs and inputs. A character's image is kept until the character is deleted. */
export const assetPrefix = (taskId: string) => `assets/${taskId}/`;
export const inputPrefix = (taskId: string) => `inputs/${taskId}/`;
/** What belongs to a batch; its object removes it. */
export const batchPrefix = (id: string) => `batches/${id}/`;
/** Requests with one idempotency key have one batch: each input has a key of its own, so that a request that is refused changes nothing of it. */
export const batchInput = ({ id, fingerprint = "" }: { id: string; fingerprint?: string | undefined }) =>
  `${batchPrefix(id)}input${fingerprint}`;
/** Parts of a body that is still arriving. Below the inputs, whose lifecycle rule removes what a crash leaves. */
export const spoolPrefix = (id: string) => inputPrefix(`arriving-${id}`);
export const characterPicture = (characterId: string) => `characters/${characterId}`;

/** The body is longer than the maximum size of assets: downloading it again cannot help. */
export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}

const partBytes = 8 * 1024 * 1024;
const firstPartBytes = 256 * 1024;

/**
 * Stores a file as it arrives, computes its digest and looks for a maker's manifest; each chunk needs to be valid only until the next one is requested. R2 accepts a
 * stream only with a known length; other files are uploaded in parts. Throws `TooLargeError`. A body that ends early or has a wrong length,
 * and faults of R2, throw their own errors. After an error nothing is stored.
 */
export async function storeFile(
  bucket: R2Bucket,
  key: string,
  body: AsyncGenerator<Uint8Array, void>,
  { type, length, maxBytes }: { type: string; length?: number | undefined; maxBytes: number },
): Promise<Asset> {
  const digest = new crypto.DigestStream("SHA-256");
  const hash = digest.getWriter();
  const metadata = { httpMetadata: { contentType: type } };
  try {
    if (length !== undefined && length > maxBytes) throw new TooLargeError();
    const manifest = credentialReader(type);
    const pieces = counted(body, (piece) => (manifest.push(piece), hash.write(piece)), maxBytes);
    const bytes =
      length === undefined ? await putParts(bucket, key, pieces, metadata) : await putStream(bucket, key, pieces, length, metadata);
    await hash.close();
    const sha256 = new Uint8Array(await digest.digest).toBase64({ alphabet: "base64url", omitPadding: true });
    return { key, type, bytes, digest: sha256, ...(manifest.found && { credentials: "maker" }) };
  } catch (error) {
    await body.return();
    digest.digest.catch(() => undefined); // the hash of an incomplete body is not needed, and its rejection must not be unhandled
    await hash.abort(error).catch(() => undefined);
    throw error;
  }
}

/** Passes on every chunk of a file, up to the limit, after `look` has seen it. */
async function* counted(
  body: AsyncIterable<Uint8Array>,
  look: (piece: Uint8Array) => Promise<void>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw new TooLargeError();
    await look(piece);
    yield piece;
  }
}

/** Repeats a write that R2 has not taken. R2 refuses a second write of a key within a second, also after one that failed. */
export const retryWrite = <T>(key: string, write: () => Promise<T>): Promise<T> => retry("store", key, write, 3, undefined, 1_000);

async function putStream(
  bucket: R2Bucket,
  key: string,
  pieces: AsyncIterable<Uint8Array>,
  length: number,
  metadata: R2PutOptions,
): Promise<number> {
  const { readable, writable } = new FixedLengthStream(length);
  const writer = writable.getWriter();
  const write = async () => {
    try {
      for await (const piece of pieces) await writer.write(piece);
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => undefined);
      throw error;
    }
  };
  await Promise.all([write(), bucket.put(key, readable, metadata)]);
  return length;
}

/**
 * Uploads a body of unknown length in parts, or directly if it fits into one part. One buffer holds the current part and is released at the
 * end, because the unused buffers of several tasks could exceed the isolate's memory. Returns the number of stored bytes.
 */
async function putParts(
  bucket: R2Bucket,
  key: string,
  body: AsyncIterable<Uint8Array>,
  metadata: R2PutOptions & R2MultipartOptions,
): Promise<number> {
  let upload: R2MultipartUpload | undefined;
  const parts: R2UploadedPart[] = [];
  let part = new Uint8Array(firstPartBytes);
  let size = 0;
  const add = (chunk: Uint8Array) => {
    const needed = size + chunk.byteLength;
    if (needed > part.byteLength) part = new Uint8Array(part.buffer.transfer(Math.min(partBytes, Math.max(needed, 2 * part.byteLength))));
    part.set(chunk, size);
    size = needed;
  };
  // The part is the only copy of its bytes: data inside an upstream's answer cannot be requested again.
  const send = (to: R2MultipartUpload) =>
    retryWrite(key, () => to.uploadPart(parts.length + 1, part.subarray(0, size))).then((sent) => {
      parts.push(sent);
      size = 0;
    });
  try {
    for await (const chunk of body) {
      // All parts but the last must have the same size.
      let rest = chunk;
      while (size + rest.byteLength >= partBytes) {
        const room = partBytes - size;
        add(rest.subarray(0, room));
        rest = rest.subarray(room);
        upload ??= await retryWrite(key, () => bucket.createMultipartUpload(key, metadata));
        await send(upload);
      }
      add(rest);
    }
    const bytes = parts.length * partBytes + size;
    if (!upload) await retryWrite(key, () => bucket.put(key, part.subarray(0, size), metadata));
    else {
      if (size > 0) await send(upload);
      await completeUpload(bucket, key, upload, parts, bytes);
    }
    return bytes;
  } catch (error) {
    await upload?.abort().catch(() => undefined); // R2 removes it after a week
    throw error;
  } finally {
    part.buffer.transfer(0);
  }
}

/** Completes an upload. If the answer was lost, a repeat fails because the upload has ended; then the file is there. */
async function completeUpload(
  bucket: R2Bucket,
  key: string,
  upload: R2MultipartUpload,
  parts: R2UploadedPart[],
  bytes: number,
): Promise<void> {
  await retryWrite(key, async () => {
    await upload.complete(parts).catch(async (error: unknown) => {
      if ((await describeAsset(bucket, key))?.size !== bytes) throw error;
    });
  });
}

/** Stores bytes that are in memory: small files and inputs. */
export const storeBytes = (bucket: R2Bucket, key: string, bytes: Uint8Array, type: string) =>
  bucket.put(key, bytes, { httpMetadata: { contentType: type } });

export const openAsset = (bucket: R2Bucket, key: string, range?: R2Range) => bucket.get(key, range ? { range } : undefined);

export const describeAsset = (bucket: R2Bucket, key: string) => bucket.head(key);

/** Copies a file of any size as a stream. False if it does not exist. */
export async function copyStored(bucket: R2Bucket, from: string, to: string): Promise<boolean> {
  const object = await bucket.get(from);
  if (!object) return false;
  await bucket.put(to, object.body, { ...(object.httpMetadata && { httpMetadata: object.httpMetadata }) });
  return true;
}

/** The number of files that the bucket deletes in one call. */
const maxDeleted = 1_000;

/** Deletes these files; missing ones count as deleted. */
export async function removeAssets(bucket: R2Bucket, keys: string[]): Promise<void> {
  for (let at = 0; at < keys.length; at += maxDeleted) await bucket.delete(keys.slice(at, at + maxDeleted));
}

/** Deletes everything under a prefix, also files that are not in the record, such as those of a crashed consumer. */
export async function removeUnder(bucket: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects, truncated } = await bucket.list({ prefix });
    await removeAssets(
      bucket,
      objects.map((object) => object.key),
    );
    if (!truncated) return;
  }
}
