/**
 * Collects bytes whose sender may be slow before anything is held for them that others need: in memory while there is room, beyond that in
 * the bucket. So a slow sender delays only itself.
 */

import { removeAssets, openAsset, retryWrite, spoolPrefix, storeBytes } from "./assets.ts";
import { Semaphore } from "../base/concurrency.ts";
import { ApiError } from "../base/errors.ts";
import { alert } from "../base/log.ts";
import { retry } from "../base/retry.ts";
import { largeReads } from "../media/large-reads.ts";
import { NetError } from "../net/net-error.ts";

const KiB = 1024;
/** What a body may collect without room in the memory that is counted, so that its parts in the bucket are not many. 128 bodies arrive at once at most. */
const freeBytes = 256 * KiB;
/** The maximum of one body that is collected in memory, and the size of its parts in the bucket if there is room in memory. */
const maxPartBytes = 1024 * KiB;

/** The memory that bodies share while they are collected, and afterwards if they are whole in it. While it is full, a body writes smaller parts to the bucket. An owner's half is enough for three bodies. */
const memory = new Semaphore({ maxAtOnce: 6 * 1024 * KiB, maxHoldMs: 300_000, maxWaitMs: 0 });

/** A body that has arrived completely. */
export interface Spooled {
  bytes: number;
  /** The whole body if it is in memory. Valid until it is discarded. */
  whole: Uint8Array<ArrayBuffer> | undefined;
  /** The body; each piece is valid until the next is requested. Throws `unavailable` if the bucket fails. */
  pieces(): AsyncGenerator<Uint8Array, void>;
  /** `pieces` as a stream with its length, for another Worker. Discards the body at its end. */
  open(): ReadableStream<Uint8Array>;
  /** Frees the memory and deletes what is in the bucket. May be called repeatedly. */
  discard(): Promise<void>;
}

/**
 * Reads a body to its end. `read` returns the next bytes, which are valid until the next call, or undefined at the end.
 *
 * @throws NetError `too_large`, or what `read` throws. Nothing stays stored then.
 */
export async function spool(
  bucket: R2Bucket,
  owner: string,
  read: () => Promise<Uint8Array | undefined>,
  maxBytes: number,
): Promise<Spooled> {
  const prefix = spoolPrefix(crypto.randomUUID());
  const keys: string[] = [];
  const permit = memory.open(owner);
  let part = new Uint8Array(0);
  let size = 0;
  let bytes = 0;

  const put = async (chunk: Uint8Array<ArrayBuffer>) => {
    const key = `${prefix}${keys.length}`;
    keys.push(key);
    await retryWrite(key, () => storeBytes(bucket, key, chunk, "application/octet-stream"));
  };
  const hasRoom = (needed: number) => {
    if (needed <= part.length) return true;
    const length = Math.min(maxPartBytes, Math.max(needed, 2 * part.length));
    if (needed > length || (length > freeBytes && !permit.resize(length))) return false;
    part = new Uint8Array(part.buffer.transfer(length));
    return true;
  };
  const add = async (chunk: Uint8Array) => {
    if (!hasRoom(size + chunk.length)) {
      if (size > 0) await put(part.subarray(0, size));
      size = 0;
      if (!hasRoom(chunk.length)) return put(chunk.slice());
    }
    part.set(chunk, size);
    size += chunk.length;
  };
  const free = () => {
    permit.release();
    part.buffer.transfer(0);
    part = new Uint8Array(0);
  };
  const discard = async () => {
    free();
    const stored = keys.splice(0);
    // The lifecycle rule removes them later.
    await removeAssets(bucket, stored).catch((error: unknown) => alert("spool", { outcome: "not_removed" }, error));
  };

  try {
    for (let chunk = await read(); chunk; chunk = await read()) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new NetError("too_large");
      await add(chunk);
    }
    // Not kept in memory while the body waits for its turn.
    if (keys.length > 0) {
      if (size > 0) await put(part.subarray(0, size));
      free();
    }
  } catch (error) {
    await discard();
    throw error;
  }

  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    try {
      for (const key of keys) {
        const object = await retry("read", key, () => openAsset(bucket, key));
        if (!object) throw new Error("a part of the body is gone");
        yield* largeReads(object.body);
      }
      if (keys.length === 0) yield part.subarray(0, size);
    } catch (cause) {
      throw new ApiError("unavailable", { cause });
    }
  }
  const copyTo = async (writer: WritableStreamDefaultWriter<Uint8Array>) => {
    try {
      for await (const piece of pieces()) await writer.write(piece);
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => undefined); // the reader has gone
    } finally {
      await discard();
    }
  };
  return {
    bytes,
    whole: keys.length === 0 ? part.subarray(0, size) : undefined,
    pieces,
    open() {
      const { readable, writable } = new FixedLengthStream(bytes);
      void copyTo(writable.getWriter());
      return readable;
    },
    discard,
  };
}
