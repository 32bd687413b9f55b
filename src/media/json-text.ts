/** Reads a body as text in large pieces, independent of its chunks. */

import { JsonBodyError } from "./json-error.ts";
import { largeReader } from "./large-reads.ts";

// Larger strings would leave the garbage collector's young generation and stay in memory for long.
const PIECE_BYTES = 64 * 1024;

/** How a body is read. */
export interface ReadOptions {
  /** Limit of the whole body, in bytes. */
  maxBytes: number;
  /** The part of the body that has already been read. */
  head?: Uint8Array | undefined;
  /** Waits for each read, and may reject. */
  wait?: (<T extends Uint8Array | undefined>(read: Promise<T>) => Promise<T>) | undefined;
}

/**
 * Yields the text of a body without its byte order mark, in pieces of at most 64 Ki characters. Cancels the body when the
 * caller stops early.
 *
 * @throws JsonBodyError `too_large` at the first byte over `maxBytes`, `not_json` if it is not UTF-8, `interrupted` if it breaks off.
 */
export async function* readText(
  body: ReadableStream<Uint8Array>,
  { maxBytes, head, wait = (read) => read }: ReadOptions,
): AsyncGenerator<string, void> {
  // The decoder's own removal of the mark would also remove one at the start of a later chunk.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let isStart = true;
  const decode = (bytes?: Uint8Array) => {
    try {
      const text = decoder.decode(bytes, { stream: bytes !== undefined });
      if (!isStart || text === "") return text;
      isStart = false;
      return text.startsWith("\ufeff") ? text.slice(1) : text;
    } catch (cause) {
      throw new JsonBodyError("not_json", { cause });
    }
  };
  const reader = largeReader(body);
  let total = 0;
  try {
    for (let next = head; ; next = undefined) {
      const chunk =
        next ??
        (await wait(reader.read()).catch((cause: unknown) => {
          throw new JsonBodyError("interrupted", { cause });
        }));
      if (!chunk) break;
      total += chunk.byteLength;
      if (total > maxBytes) throw new JsonBodyError("too_large");
      for (let at = 0; at < chunk.byteLength; at += PIECE_BYTES) yield decode(chunk.subarray(at, at + PIECE_BYTES));
    }
    yield decode();
  } finally {
    // The outcome is ignored: the body has been read or is not needed any more.
    reader.cancel().catch(() => undefined);
  }
}

/**
 * The start of a body: more than `bytes` of it, or all there is. The rest can be read from the body afterwards.
 * @throws JsonBodyError `interrupted` if it breaks off, or what `wait` rejects with as its cause.
 */
export async function readHead(
  body: ReadableStream<Uint8Array>,
  bytes: number,
  wait: NonNullable<ReadOptions["wait"]>,
): Promise<{ head: Uint8Array; isWhole: boolean }> {
  const reader = largeReader(body, bytes + 1);
  let head = new Uint8Array();
  try {
    while (head.length <= bytes) {
      const chunk = await wait(reader.read());
      if (!chunk) break;
      const longer = new Uint8Array(head.length + chunk.length);
      longer.set(head);
      longer.set(chunk, head.length);
      head = longer;
    }
  } catch (cause) {
    reader.cancel().catch(() => undefined); // the body is not wanted any more
    throw new JsonBodyError("interrupted", { cause });
  }
  reader.release();
  return { head, isWhole: head.length <= bytes };
}
