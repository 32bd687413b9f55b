/** The bytes of callers' files in the bucket: their keys, and removing those of expired files. */

import { newFileId } from "../base/ids.ts";
import { deleteExpiredFiles, expiredFiles, type StoredFile } from "../db/files.ts";
import { removeAssets } from "./assets.ts";

/** The prefix of an account's files. The bucket's rule removes what is left there after eight days: no file exists longer than seven. */
export const filePrefix = (accountId: string) => `files/${accountId}/`;

/** The key for the bytes of a new file. */
export const newFileObject = (accountId: string) => `${filePrefix(accountId)}${crypto.randomUUID()}`;

/** A new file with these stored bytes, which is kept for `keptMs`. Its expiry is a whole second, as callers see it. */
export function toNewFile(
  file: Pick<StoredFile, "accountId" | "keyId" | "type" | "name" | "object">,
  { bytes, digest }: { bytes: number; digest: string },
  keptMs: number,
): StoredFile {
  const createdAt = Date.now();
  return {
    ...file,
    id: newFileId(file.accountId, digest, createdAt),
    bytes,
    createdAt,
    expiresAt: createdAt - (createdAt % 1000) + keptMs,
  };
}

/**
 * Removes the bytes, then the rows of at most `limit` expired files, of one account or of all. Bytes that another file still has stay. A file
 * that is uploaded meanwhile never uses an object that exists already, so its bytes cannot be removed here. Repeating is safe. Returns the
 * number of removed files.
 */
export async function removeExpiredFiles(
  { DB, ASSETS }: Pick<Env, "DB" | "ASSETS">,
  now: number,
  limit: number,
  accountId?: string,
): Promise<number> {
  const files = await expiredFiles(DB, now, limit, accountId);
  if (files.length === 0) return 0;
  const unused = new Set(files.flatMap(({ object, isShared }) => (isShared ? [] : object)));
  await removeAssets(ASSETS, [...unused]);
  await deleteExpiredFiles(DB, files, now);
  return files.length;
}
