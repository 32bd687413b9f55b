/** Stores the images of a submission's body in the bucket, and computes the digest of the whole body. */

import { inputPrefix, openAsset, removeAssets, storeBytes } from "../assets.ts";
import { digestJson } from "../media/canonical-json.ts";
import { largeReads } from "../media/large-reads.ts";
import type { Input } from "../tasks/record.ts";
import { extractedKey, type LargeBody } from "./large-body.ts";
import type { Reference } from "./references.ts";

/**
 * The digest for the receipt. If it was not computed while the body was read, the images are read back now, before those that no field
 * refers to are deleted.
 */
export const digestBody = async (bucket: R2Bucket, taskId: string, { sent, images, digest }: LargeBody) =>
  digest ??
  digestJson(sent, images, async (index) => {
    const stored = await openAsset(bucket, extractedKey(taskId, index));
    if (!stored) throw new Error("an image of the body is gone");
    return largeReads(stored.body);
  });

/**
 * The record's data of the images: URLs, and the bucket keys of inline ones. Images that were too small to be extracted from the
 * body are stored now; extracted ones of a field that appeared twice are deleted.
 */
export async function storeInputs(bucket: R2Bucket, taskId: string, references: Reference[], { images }: LargeBody): Promise<Input[]> {
  const used = new Set(references.map(({ extracted }) => extracted));
  const unused = [...images.values()].filter((image) => !("problem" in image) && !used.has(image.index));
  await removeAssets(
    bucket,
    unused.map(({ index }) => extractedKey(taskId, index)),
  );
  const inputs: Input[] = [];
  // Stored one after the other: if one fails, no other write is running, and all stored images can be deleted.
  for (const [at, reference] of references.entries()) {
    const { url, inline, extracted } = reference;
    const role = reference.role && { role: reference.role };
    if (url !== undefined) inputs.push({ ...role, url });
    else if (extracted !== undefined) inputs.push({ ...role, key: extractedKey(taskId, extracted) });
    else {
      const key = `${inputPrefix(taskId)}small-${at}`;
      await storeBytes(bucket, key, inline.bytes, inline.type);
      inputs.push({ ...role, key });
    }
  }
  return inputs;
}
