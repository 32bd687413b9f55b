/** Receives a caller's file: checked by its bytes, stored while it arrives, and added to the account's files if there is room. */

import { TooLargeError, openAsset, removeAssets, storeFile } from "../../storage/assets.ts";
import { newFileObject, removeExpiredFiles, toNewFile } from "../../storage/files.ts";
import { spool } from "../../storage/spool.ts";
import { insertFile, type StoredFile, usedFileBytes } from "../../db/files.ts";
import { maxFileBytes } from "../../config.ts";
import { imageProblems, maxImageBytes } from "../../catalog/fields.ts";
import { detectFileType, FILE_TYPE_BYTES, type FileType } from "../../media/file-type.ts";
import { readHead, whole } from "../../media/head.ts";
import { readVideoFacts } from "../../media/mp4.ts";
import { ApiError, bodyTooLarge, invalid } from "../../base/errors.ts";
import { alert } from "../../base/log.ts";
import { retry } from "../../base/retry.ts";
import { NetError } from "../../net/net-error.ts";
import { toOwner } from "../request/arrival.ts";
import { requireUncompressed, whileArriving } from "../request/body.ts";
import type { AppContext } from "../request/context.ts";
import { type FormFields, readForm } from "./form.ts";

const MiB = 1024 * 1024;
const maxVideoBytes = 100 * MiB;
/** Lines of batches (contract, section 16). */
const maxLinesBytes = 200 * MiB;
const maxBytes = (type: FileType) =>
  type === "application/jsonl" ? maxLinesBytes : type.startsWith("video/") ? maxVideoBytes : maxImageBytes;

/** The largest file and the rest of its form. */
const maxBodyBytes = maxLinesBytes + MiB;
const pieceBytes = 256 * 1024;
/** How many expired files of the account are removed to make room for a new one. */
const maxRemoved = 200;

/** Reads the lifetime in seconds from the fields of the form, which may follow the file. Throws 400. */
type ReadLifetime = (fields: Record<string, string>) => number;

/**
 * Receives the body of the request, a form or the file itself. It is never in memory as a whole, and nothing stays stored if it is refused or
 * the caller disconnects. Throws 400, 408, 413, 415, 429 `too_many_files`, and 503 if too many bodies of the account are arriving.
 */
export async function receiveFile(c: AppContext, readLifetime: ReadLifetime): Promise<StoredFile> {
  requireUncompressed(c);
  const { env } = c;
  const { accountId, keyId } = c.get("caller");
  const { body } = c.req.raw;
  if (!body) throw invalid("file", "required");
  const length = c.req.header("content-length");
  if (Number(length ?? 0) > maxBodyBytes) throw bodyTooLarge(maxLinesBytes);
  // Before anything is stored; `add` checks again, because other uploads run beside this one.
  if ((await usedFileBytes(env.DB, accountId)) >= maxFileBytes(env)) await makeRoom(c);

  const contentType = c.req.header("content-type") ?? "";
  const isForm = /^multipart\/form-data\b/i.test(contentType.trim());
  return whileArriving(c, toOwner(c.get("caller")), body, maxBodyBytes, async (arrival) => {
    const found: FormFields = { fields: {}, fileName: undefined };
    const read = () => arrival.read(pieceBytes);
    const pieces = isForm ? readForm(contentType, read, found) : readPieces(read);
    const file = await readHead(pieces, FILE_TYPE_BYTES);
    const type = detectFileType(file.head);
    if (!type) throw invalid("file", "bad_file_type");
    const object = newFileObject(accountId);
    const knownBytes = isForm || length === undefined ? undefined : Number(length);
    const stored = await store(env.ASSETS, { accountId, object, type, bytes: knownBytes }, whole(file)).catch(refuseSize(type));
    let mayBeAdded = false;
    try {
      const lifetime = readLifetime(found.fields);
      if (type.startsWith("video/")) await requireVideo(env.ASSETS, object, stored.bytes);
      const name = found.fileName === undefined ? null : toName(found.fileName);
      mayBeAdded = true;
      return await add(c, toNewFile({ accountId, keyId, type, name, object }, stored, 1000 * lifetime));
    } catch (error) {
      // If D1 did not answer, it may have moved the account's other files with the same bytes to this object: the bucket's rule removes it.
      if (!mayBeAdded || error instanceof ApiError) await remove(env.ASSETS, [object]);
      throw error;
    }
  });
}

async function* readPieces(read: () => Promise<Uint8Array | undefined>): AsyncGenerator<Uint8Array, void> {
  for (let piece = await read(); piece; piece = await read()) yield piece;
}

/** Where and as what a file is stored. `bytes` is its length if that is known in advance. */
interface Target {
  accountId: string;
  object: string;
  type: FileType;
  bytes: number | undefined;
}

/**
 * Stores the pieces. R2 takes a stream only with its length, so a file of unknown length is collected first, like all bodies whose callers may
 * be slow: its parts would need more memory than an isolate has for several of them.
 */
async function store(bucket: R2Bucket, { accountId, object, type, bytes }: Target, pieces: AsyncGenerator<Uint8Array, void>) {
  const limit = maxBytes(type);
  if (bytes !== undefined) return storeFile(bucket, object, pieces, { type, length: bytes, maxBytes: limit });
  const spooled = await spool(bucket, accountId, async () => (await pieces.next()).value ?? undefined, limit);
  try {
    return await storeFile(bucket, object, spooled.pieces(), { type, length: spooled.bytes, maxBytes: limit });
  } finally {
    await spooled.discard();
  }
}

/** Throws the refusal of a file that is longer than its type allows. */
const refuseSize = (type: FileType) => (error: unknown) => {
  const isTooLarge = error instanceof TooLargeError || (error instanceof NetError && error.reason === "too_large");
  if (!isTooLarge) throw error;
  if (!type.startsWith("image/")) throw bodyTooLarge(maxBytes(type), error);
  throw invalid("file", imageProblems.too_large, { maximum: maxImageBytes / MiB });
};

/** Throws 400 if the file is not a whole MP4 or QuickTime video. */
async function requireVideo(bucket: R2Bucket, object: string, bytes: number): Promise<void> {
  const read = async (offset: number, length: number) => {
    const part = await retry("read", object, () => openAsset(bucket, object, { offset, length }));
    if (!part) throw new Error("the uploaded video is gone");
    return new Uint8Array(await part.arrayBuffer());
  };
  if (!(await readVideoFacts(read, bytes))) throw invalid("file", "bad_video");
}

/** Adds the file to the account's, and removes the bytes that it replaces. Throws `too_many_files`. */
async function add(c: AppContext, file: StoredFile): Promise<StoredFile> {
  const { DB, ASSETS } = c.env;
  const insert = () => insertFile(DB, file, maxFileBytes(c.env));
  let replaced = await insert();
  if (!replaced) {
    await makeRoom(c);
    replaced = await insert();
  }
  if (!replaced) throw new ApiError("too_many_files");
  await remove(ASSETS, replaced);
  return file;
}

/** Removes expired files of the account, which count until they are removed. Throws `too_many_files` if it has none. */
async function makeRoom(c: AppContext): Promise<void> {
  if ((await removeExpiredFiles(c.env, Date.now(), maxRemoved, c.get("caller").accountId)) === 0) throw new ApiError("too_many_files");
}

/** Removes bytes that no file refers to. If that fails, the bucket's rule removes them. */
const remove = (bucket: R2Bucket, objects: string[]) =>
  retry("remove", objects.join(), () => removeAssets(bucket, objects)).catch((error: unknown) =>
    alert("file", { outcome: "not_removed" }, error),
  );

/** The name of an uploaded file without folders and control characters. */
const toName = (name: string) =>
  name
    .replace(/^.*[/\\]/s, "")
    // oxlint-disable-next-line no-control-regex -- they do not belong into answers
    .replace(/[\u0000-\u001f\u007f]/g, "")
    .slice(0, 255);
