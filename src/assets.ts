/** Assets in R2: store, open, remove. */

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

/**
 * Stores a body as it streams in and computes its digest on the way. R2 takes a stream only when its length is known;
 * else it is sent in parts. Throws `TooLargeError`; a body that breaks off or lies about its length, and R2's own faults,
 * throw what they throw, and nothing is stored.
 */
export async function storeStream(
  bucket: R2Bucket,
  key: string,
  body: ReadableStream<Uint8Array>,
  options: { type: string; length?: number | undefined; maxBytes: number },
): Promise<Asset> {
  if (options.length !== undefined && options.length > options.maxBytes) throw new TooLargeError();
  const digest = new crypto.DigestStream("SHA-256");
  const hash = digest.getWriter();
  let bytes = 0;
  const counted = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > options.maxBytes) throw new TooLargeError();
        await hash.write(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
  const metadata = { httpMetadata: { contentType: options.type } };
  try {
    if (options.length === undefined) await putParts(bucket, key, counted, metadata);
    else {
      const fixed = new FixedLengthStream(options.length);
      await Promise.all([counted.pipeTo(fixed.writable), bucket.put(key, fixed.readable, metadata)]);
    }
    await hash.close();
  } catch (error) {
    digest.digest.catch(() => undefined); // the hash of half a body is of no use, and must not count as unhandled
    await hash.abort(error).catch(() => undefined);
    throw error;
  }
  return {
    key,
    type: options.type,
    bytes,
    digest: new Uint8Array(await digest.digest).toBase64({ alphabet: "base64url", omitPadding: true }),
  };
}

/** A multipart upload of a body whose length nobody told; a body of one part is put as it is. */
async function putParts(
  bucket: R2Bucket,
  key: string,
  body: ReadableStream<Uint8Array>,
  metadata: R2PutOptions & R2MultipartOptions,
): Promise<void> {
  let upload: R2MultipartUpload | undefined;
  const parts: R2UploadedPart[] = [];
  let pending: Uint8Array[] = [];
  let size = 0;
  const take = async () => {
    const part = new Blob(pending);
    [pending, size] = [[], 0];
    return new Uint8Array(await part.arrayBuffer());
  };
  try {
    for await (const chunk of body) {
      // All parts but the last must have the same size.
      let rest: Uint8Array = chunk;
      while (size + rest.byteLength >= partBytes) {
        pending.push(rest.subarray(0, partBytes - size));
        rest = rest.subarray(partBytes - size);
        upload ??= await bucket.createMultipartUpload(key, metadata);
        parts.push(await upload.uploadPart(parts.length + 1, await take()));
      }
      if (rest.byteLength > 0) pending.push(rest);
      size += rest.byteLength;
    }
    const last = await take();
    if (!upload) await bucket.put(key, last, metadata);
    else {
      if (last.byteLength > 0) parts.push(await upload.uploadPart(parts.length + 1, last));
      await upload.complete(parts);
    }
  } catch (error) {
    await upload?.abort();
    throw error;
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
