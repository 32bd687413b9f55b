/** Stores the images of a submission's body in the bucket, and computes the digest of the whole body. */

import { inputPrefix, openAsset, removeAssets, storeBytes } from "../../storage/assets.ts";
import { digestJson } from "../../media/canonical-json.ts";
import { largeReads } from "../../media/large-reads.ts";
import type { Input } from "../../tasks/record.ts";
import { extractedKey, type LargeBody } from "../request/large-body.ts";
import type { ReferenceWithRole } from "../request/references.ts";
import type { StoredFile } from "../../db/files.ts";
import type { Source } from "../../tasks/record.ts";
import { copyFile } from "./files.ts";

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
 * The record's data of the images: URLs, and the bucket keys of inline ones and of copies of files. Images that were too small to be extracted from the
 * body are stored now; extracted ones of a field that appeared twice are deleted.
 */
export async function storeInputs(
  env: Env,
  taskId: string,
  { references, files }: { references: ReferenceWithRole[]; files: Map<string, StoredFile> },
  { images }: LargeBody,
): Promise<Input[]> {
  const bucket = env.ASSETS;
  const used = new Set(references.map(({ extracted }) => extracted));
  const unused = [...images.values()].filter((image) => !("problem" in image) && !used.has(image.index));
  await removeAssets(
    bucket,
    unused.map(({ index }) => extractedKey(taskId, index)),
  );
  const inputs: Input[] = [];
  // Stored one after the other: if one fails, no other write is running, and all stored images can be deleted.
  for (const [at, reference] of references.entries()) {
    const { role, at: place, url, inline, extracted, file } = reference;
    const of = { role, ...(place && { at: place }) };
    if (url !== undefined) inputs.push({ ...of, url });
    else if (file !== undefined) {
      const key = `${inputPrefix(taskId)}file-${at}`;
      const stored = files.get(file);
      if (!stored) throw new Error("a file of the submission was not looked up");
      await copyFile(env, stored, reference.param, key);
      inputs.push({ ...of, key });
    } else if (extracted !== undefined) inputs.push({ ...of, key: extractedKey(taskId, extracted) });
    else {
      const key = `${inputPrefix(taskId)}small-${at}`;
      await storeBytes(bucket, key, inline.bytes, inline.type);
      inputs.push({ ...of, key });
    }
  }
  return inputs;
}

/** The source video of a submission that names a file: a copy of it under the task's inputs. */
export async function storeVideo(env: Env, taskId: string, file: StoredFile, { asset }: Source): Promise<Source> {
  if (!asset) throw new Error("the source is no file");
  const key = `${inputPrefix(taskId)}video`;
  await copyFile(env, file, "url", key);
  return { asset: { ...asset, key } };
}
