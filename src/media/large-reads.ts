/** Reads a body in large pieces, whatever its chunks are. */

// A plain reader of a request or response gets chunks of 4 KB and keeps what has arrived meanwhile in memory. A reader that brings its own
// buffer and waits until it is full costs a tenth of that processor time for a body of 70 MB, and no memory but the buffer.
const readBytes = 256 * 1024;

export interface LargeReader {
  /** The next bytes, valid until the next call; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

export function largeReader(body: ReadableStream<Uint8Array>): LargeReader {
  try {
    const reader = body.getReader({ mode: "byob" });
    let buffer = new ArrayBuffer(readBytes);
    const read = async () => {
      const { value } = await reader.readAtLeast(readBytes, new Uint8Array(buffer));
      if (!value?.byteLength) return undefined;
      buffer = value.buffer;
      return value;
    };
    return { read, cancel: () => reader.cancel() };
  } catch {
    // Not a stream of bytes to the platform, but one of chunks, as code makes them.
    const reader = body.getReader();
    return { read: async () => (await reader.read()).value, cancel: () => reader.cancel() };
  }
}

/** The body's pieces, each valid until the next is asked for. The body is cancelled when the caller stops early. */
export async function* largeReads(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = largeReader(body);
  try {
    for (let piece = await reader.read(); piece; piece = await reader.read()) yield piece;
  } finally {
    // How that ends concerns the sender alone: the body has been read, or is not wanted any more.
    reader.cancel().catch(() => undefined);
  }
}
