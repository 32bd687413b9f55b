/** Reads a stored file so that only its own bytes leave: its last piece is held back until the digest of all is right. */

import { type Asset, openAsset } from "./assets.ts";

const pieceBytes = 64 * 1024;

/** The file in the bucket is missing, or is not the one in the record. */
export class FileChangedError extends Error {
  override readonly name = "FileChangedError";
}

/**
 * The bytes of a file in pieces of their own memory. Throws `FileChangedError` instead of the last piece if the file does not have the digest
 * and the length of the record: whoever sends the pieces then has not sent a whole file.
 */
export async function* readVerified(bucket: R2Bucket, { key, bytes, digest }: Asset): AsyncGenerator<Uint8Array, void> {
  const stored = await openAsset(bucket, key);
  if (!stored || !("body" in stored) || stored.size !== bytes) {
    if (stored && "body" in stored) await stored.body.cancel();
    throw new FileChangedError();
  }
  const hash = new crypto.DigestStream("SHA-256");
  const writer = hash.getWriter();
  hash.digest.catch(() => undefined); // not needed if the reading ends early
  const reader = stored.body.getReader({ mode: "byob" });
  try {
    let held: Uint8Array | undefined;
    for (;;) {
      const { value, done } = await reader.readAtLeast(pieceBytes, new Uint8Array(pieceBytes));
      if (value && value.byteLength > 0) {
        await writer.write(value);
        if (held) yield held;
        held = value;
      }
      if (done || !value || value.byteLength === 0) break;
    }
    await writer.close();
    const found = new Uint8Array(await hash.digest).toBase64({ alphabet: "base64url", omitPadding: true });
    if (found !== digest) throw new FileChangedError();
    if (held) yield held;
  } finally {
    await writer.abort().catch(() => undefined);
    reader.cancel().catch(() => undefined); // it has been read or is not needed any more
  }
}
