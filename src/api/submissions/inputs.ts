/** Completes a checked submission: stores the images and files that it refers to in the bucket, and computes the digest of its body. */

import { inputPrefix, openAsset, removeAssets, storeBytes } from "../../storage/assets.ts";
import { digestJson } from "../../media/canonical-json.ts";
import { largeReads } from "../../media/large-reads.ts";
import type { Input, Submission } from "../../tasks/record.ts";
import { extractedKey, type LargeBody } from "../request/large-body.ts";
import { copyFile, toSource } from "./files.ts";
import type { Checked } from "./submission.ts";

/**
 * The digest for the receipt. If it was not computed while the body was read, the images are read back now, before those that no field
 * refers to are deleted.
 */
const digestBody = async (bucket: R2Bucket, taskId: string, { sent, images, digest }: LargeBody) =>
  digest ??
  digestJson(sent, images, async (index) => {
    const stored = await openAsset(bucket, extractedKey(taskId, index));
    if (!stored) throw new Error("an image of the body is gone");
    return largeReads(stored.body);
  });

/** True if there is something under the task's inputs once the submission is complete. */
export const hasInputs = ({ references, videoFile }: Checked, read: LargeBody): boolean =>
  read.hasInputs || videoFile !== undefined || references.some(({ inline, file }) => inline !== undefined || file !== undefined);

/** Completes a checked submission: what it refers to is stored under the task's inputs. Throws 400 if a file is gone. */
export async function completeSubmission(env: Env, taskId: string, checked: Checked, read: LargeBody): Promise<Submission> {
  const { submission, videoFile } = checked;
  const bodyDigest = await digestBody(env.ASSETS, taskId, read);
  const inputs = await storeImages(env, taskId, checked, read);
  if (!videoFile) return { ...submission, bodyDigest, inputs };
  const key = `${inputPrefix(taskId)}video`;
  await copyFile(env, videoFile, "url", key);
  return { ...submission, bodyDigest, inputs, source: toSource(videoFile, key) };
}

/**
 * The record's data of the images: URLs, and the bucket keys of inline ones and of copies of files. Images that were too small to be extracted from the
 * body are stored now; extracted ones of a field that appeared twice are deleted.
 */
async function storeImages(env: Env, taskId: string, { references, files }: Checked, { images }: LargeBody): Promise<Input[]> {
  const bucket = env.ASSETS;
  const used = new Set(references.map(({ extracted }) => extracted));
  const stored = [...images.values()].filter((image) => !("problem" in image));
  const unused = stored.flatMap(({ index }) => (used.has(index) ? [] : extractedKey(taskId, index)));
  await removeAssets(bucket, unused);
  const inputs: Input[] = [];
  // Stored one after the other: if one fails, no other write is running, and all stored images can be deleted.
  for (const [at, reference] of references.entries()) {
    const { role, at: place, url, inline, extracted, file } = reference;
    const of = { role, ...(place && { at: place }) };
    if (url !== undefined) inputs.push({ ...of, url });
    else if (file !== undefined) {
      const key = `${inputPrefix(taskId)}file-${at}`;
      const found = files.get(file);
      if (!found) throw new Error("a file of the submission was not looked up");
      await copyFile(env, found, reference.param, key);
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
