/** Assets in R2: store, open, remove. */

import { retry } from "./retry.ts";

/** A stored file. */
export interface Asset {
  /** Its place in the bucket, and its path on the gateway: `assets/{task}/{name}`. */
  key: string;
  type: string;
  bytes: number;
  /** SHA-256, base64url without padding */
  digest: string;
}

/** Where a task's outputs, and its inputs, are. Characters keep their pictures until they are deleted. */
export const assetPrefix = (taskId: string) => `assets/${taskId}/`;
export const inputPrefix = (taskId: string) => `inputs/${taskId}/`;
export const characterPicture = (characterId: string) => `characters/${characterId}`;

/** The body is longer than an asset may be: fetching it again will not help. */
export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}

const partBytes = 8 * 1024 * 1024;
const firstPartBytes = 256 * 1024;

/**
 * Stores a file as it comes in and computes its digest on the way; its pieces need to be valid only until the next is asked for. R2 takes a
 * stream only when its length is known; else it is sent in parts. Throws `TooLargeError`; a body that breaks off or lies about its length,
 * and R2's own faults, throw what they throw, and nothing is stored.
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
    const pieces = counted(body, hash, maxBytes);
    const bytes =
      length === undefined ? await putParts(bucket, key, pieces, metadata) : await putStream(bucket, key, pieces, length, metadata);
    await hash.close();
    return { key, type, bytes, digest: new Uint8Array(await digest.digest).toBase64({ alphabet: "base64url", omitPadding: true }) };
  } catch (error) {
    await body.return();
    digest.digest.catch(() => undefined); // the hash of half a body is of no use, and must not count as unhandled
    await hash.abort(error).catch(() => undefined);
    throw error;
  }
}

/** Every piece of a file, hashed on the way, up to the limit. */
async function* counted(
  body: AsyncIterable<Uint8Array>,
  hash: WritableStreamDefaultWriter<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw new TooLargeError();
    await hash.write(piece);
    yield piece;
  }
}

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
 * Puts a body whose length nobody told, in parts; one of a single part is put as it is. One buffer holds the part that is being read, and
 * is given back at the end: the garbage collector would let those of several tasks come together. Gives the bytes stored.
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
  // The part is all there is of its bytes: what came with an answer cannot be asked for again.
  const send = (to: R2MultipartUpload) =>
    retry("store", key, () => to.uploadPart(parts.length + 1, part.subarray(0, size))).then((sent) => {
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
        upload ??= await bucket.createMultipartUpload(key, metadata);
        await send(upload);
      }
      add(rest);
    }
    const bytes = parts.length * partBytes + size;
    if (!upload) await retry("store", key, () => bucket.put(key, part.subarray(0, size), metadata));
    else {
      if (size > 0) await send(upload);
      await upload.complete(parts);
    }
    return bytes;
  } catch (error) {
    await upload?.abort();
    throw error;
  } finally {
    part.buffer.transfer(0);
  }
}

/** Stores bytes that are in memory: small files and inputs. */
export const storeBytes = (bucket: R2Bucket, key: string, bytes: Uint8Array<ArrayBuffer>, type: string) =>
  bucket.put(key, bytes, { httpMetadata: { contentType: type } });

export const openAsset = (bucket: R2Bucket, key: string, range?: R2Range) => bucket.get(key, range ? { range } : undefined);

export const describeAsset = (bucket: R2Bucket, key: string) => bucket.head(key);

/** Copies a file: a character outlives its task's assets, and its picture with it. */
export async function copyAsset(bucket: R2Bucket, asset: Asset, to: string): Promise<void> {
  const object = await bucket.get(asset.key);
  if (object) await bucket.put(to, await object.arrayBuffer(), { httpMetadata: { contentType: asset.type } });
}

/** Removes these files; ones that are not there count as removed. */
export const removeAssets = (bucket: R2Bucket, keys: string[]): Promise<void> =>
  keys.length > 0 ? bucket.delete(keys) : Promise.resolve();

/** Removes everything under a prefix, also what no record names: files of a consumer that died half-way. */
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
