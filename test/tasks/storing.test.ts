/** Files are stored byte for byte, whatever the sizes of pieces and chunks. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { storeFile, TooLargeError } from "../../src/storage/assets.ts";
import { toPieces } from "../../src/tasks/consumer/outputs.ts";

const mebibyte = 1024 * 1024;

/** Numbers without a pattern (a linear congruential generator, constants of Numerical Recipes). */
function readFile(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0, state = 1; at < length; at++, state = (state * 1664525 + 1013904223) >>> 0) bytes[at] = state >>> 24;
  return bytes;
}

/** A body like that of a fetch, whose bytes arrive in chunks of this size. */
function chunked(bytes: Uint8Array, chunkBytes: number): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(bytes.byteLength);
  const write = async () => {
    const writer = writable.getWriter();
    for (let at = 0; at < bytes.byteLength; at += chunkBytes) await writer.write(bytes.slice(at, at + chunkBytes));
    await writer.close();
  };
  write().catch(() => undefined); // the reader gets this error
  return readable;
}

test.each([
  ["a byte", 1, 1],
  ["one piece", 4 * mebibyte, 65_536],
  ["one byte more than a piece", 4 * mebibyte + 1, 100_000],
  ["many pieces", 9 * mebibyte + 7, 1_000_003],
])("%s, of known and of unknown length", async (_, size, chunkBytes) => {
  const bytes = readFile(size);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toBase64({ alphabet: "base64url", omitPadding: true });
  for (const length of [size, undefined]) {
    const body = toPieces(chunked(bytes, chunkBytes), length);
    const asset = await storeFile(env.ASSETS, "assets/x/stored", body, { type: "video/mp4", length, maxBytes: 64 * mebibyte });
    expect(asset).toEqual({ key: "assets/x/stored", type: "video/mp4", bytes: size, digest });
    const stored = await (await env.ASSETS.get("assets/x/stored"))!.bytes();
    expect(stored.byteLength).toBe(size);
    expect(new Uint8Array(await crypto.subtle.digest("SHA-256", stored)).toBase64({ alphabet: "base64url", omitPadding: true })).toBe(
      digest,
    );
    await env.ASSETS.delete("assets/x/stored");
  }
});

test.each([
  ["shorter", -1],
  ["longer", 1],
])("a body that is %s than declared is not stored", async (_, difference) => {
  const bytes = readFile(5 * mebibyte);
  const announced = bytes.byteLength - difference;
  const body = toPieces(chunked(bytes, 65_536), announced);
  const stored = storeFile(env.ASSETS, "assets/x/wrong", body, { type: "video/mp4", length: announced, maxBytes: 64 * mebibyte });
  await expect(stored).rejects.toThrow();
  expect(await env.ASSETS.head("assets/x/wrong")).toBeNull();
});

test("a body over the limit is not stored, whether it declares its length or not", async () => {
  for (const length of [3 * mebibyte, undefined]) {
    const body = toPieces(chunked(readFile(3 * mebibyte), 65_536), length);
    await expect(storeFile(env.ASSETS, "assets/x/large", body, { type: "video/mp4", length, maxBytes: 2 * mebibyte })).rejects.toThrow(
      TooLargeError,
    );
    expect(await env.ASSETS.head("assets/x/large")).toBeNull();
  }
});
