/** Limits a body from a foreign host in bytes and time. */

import { NetError } from "./net-error.ts";

interface Bounds {
  maxBytes: number;
  /** Ends the body with `timeout` when aborted, also while it is not being read. */
  signal?: AbortSignal;
  /** Called once when the body has ended, failed or was cancelled. */
  onEnd?: () => void;
}

// A default reader of a response gets chunks of 4 KB, each at the cost of a turn of the event loop. A BYOB reader gets as
// much as has arrived: a fifteenth of the turns for a video.
const READ_BYTES = 64 * 1024;

/**
 * Passes the bytes on, reading only as fast as the result is read. Fails with `NetError`: `too_large` at the first byte over `maxBytes`,
 * `timeout` when the signal is aborted, `interrupted` if the source fails. In each case, and when the result is cancelled, the source is
 * cancelled too.
 */
export function boundedBody(source: ReadableStream<Uint8Array>, { maxBytes, signal, onEnd }: Bounds): ReadableStream<Uint8Array> {
  const reader = getReader(source);
  const over = new AbortController();
  let total = 0;
  const end = () => {
    if (over.signal.aborted) return;
    over.abort();
    onEnd?.();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const expire = () => {
          end();
          const timeout = new NetError("timeout");
          controller.error(timeout);
          drop(reader, timeout);
        };
        if (signal?.aborted) expire();
        else signal?.addEventListener("abort", expire, { signal: over.signal });
      },
      async pull(controller) {
        const result = await reader.read().catch((cause: unknown) => {
          end();
          throw cause instanceof NetError ? cause : new NetError("interrupted", { cause });
        });
        // The timeout occurred during the read, or the result was cancelled: the result has ended already.
        if (over.signal.aborted) return;
        if (result.done) {
          end();
          controller.close();
          return;
        }
        total += result.value.byteLength;
        if (total > maxBytes) {
          end();
          const tooLarge = new NetError("too_large");
          drop(reader, tooLarge);
          throw tooLarge;
        }
        controller.enqueue(result.value);
      },
      cancel(reason) {
        end();
        drop(reader, reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Reads a stream into memory.
 * @throws NetError `too_large` when it holds more than `maxBytes`, or what the stream fails with.
 */
export async function readAll(source: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(boundedBody(source, { maxBytes })).arrayBuffer());
}

interface Reader {
  read(): Promise<{ done: false; value: Uint8Array } | { done: true; value?: Uint8Array | undefined }>;
  cancel(reason: unknown): Promise<void>;
}

function getReader(source: ReadableStream<Uint8Array>): Reader {
  try {
    const reader = source.getReader({ mode: "byob" });
    return { read: () => reader.read(new Uint8Array(READ_BYTES)), cancel: (reason) => reader.cancel(reason) };
  } catch {
    // Streams that are created by code have chunks and no BYOB reader.
    return source.getReader();
  }
}

/** Cancels the source. The outcome is ignored, because the result has already ended. */
function drop(reader: Reader, reason: unknown): void {
  reader.cancel(reason).catch(() => undefined);
}
