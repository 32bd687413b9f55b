/** Reads the pieces of a body as text, independent of how it is cut. */

import { JsonBodyError } from "./json-error.ts";

// Larger strings would leave the garbage collector's young generation and stay in memory for long.
const PIECE_BYTES = 64 * 1024;

/** How a body is read. */
export interface ReadOptions {
  /** Limit of the whole body, in bytes. */
  maxBytes: number;
}

/**
 * Yields the text of a body without its byte order mark, in pieces of at most 64 Ki characters. Each of the body's pieces needs to be valid
 * only until the next is requested. Ends the iteration of the body when the caller stops early.
 *
 * @throws JsonBodyError `too_large` at the first byte over `maxBytes`, `not_json` if it is not UTF-8, `interrupted` if it breaks off.
 */
export async function* readText(body: AsyncIterable<Uint8Array>, { maxBytes }: ReadOptions): AsyncGenerator<string, void> {
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
  let total = 0;
  for await (const piece of readPieces(body)) {
    total += piece.byteLength;
    if (total > maxBytes) throw new JsonBodyError("too_large");
    for (let at = 0; at < piece.byteLength; at += PIECE_BYTES) yield decode(piece.subarray(at, at + PIECE_BYTES));
  }
  yield decode();
}

async function* readPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body;
  } catch (cause) {
    throw new JsonBodyError("interrupted", { cause });
  }
}
