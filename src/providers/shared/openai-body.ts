/** Bodies with pictures or a clip in them, written while they are sent: five pictures of 10 MiB in Base64 do not fit into an isolate at once. */

import { ask } from "./http.ts";
import { InputError, type InputImage, ProviderError } from "../provider.ts";

/** A piece of text, bytes as they come, or a picture whose place in JSON is a string: its https URL, or else a data URI of its bytes. */
export type Piece = string | AsyncIterable<Uint8Array> | InputImage;

const encoder = new TextEncoder();
/** Of three bytes each: pieces of Base64 can be joined. */
const sliceBytes = 3 * 16_384;

const isPassedOn = (image: InputImage) => image.url?.startsWith("https://") === true;

/** Posts the pieces as one body, JSON unless `headers` say otherwise. Throws what a piece throws: the body then broke off, and nobody accepts half of one. */
export async function postPieces(url: string, headers: Record<string, string>, pieces: Piece[], signal: AbortSignal): Promise<Response> {
  const init = { method: "POST", headers: { "content-type": "application/json", ...headers } };
  const texts = pieces.map((piece) =>
    typeof piece === "string" ? piece : "url" in piece && isPassedOn(piece) ? JSON.stringify(piece.url) : undefined,
  );
  if (!texts.includes(undefined)) return ask(globalThis, url, { ...init, body: texts.join(""), signal });
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  writer.closed.catch(() => undefined); // `write` hears of it too
  const stop = new AbortController();
  let fault: unknown;
  let isAnswered = false;
  void write(pieces, writer).catch((error: unknown) => {
    // Whatever else comes is the connection's end, which `ask` tells better.
    if (error instanceof InputError || error instanceof ProviderError) fault = error;
    if (!isAnswered) stop.abort();
  });
  try {
    const response = await ask(globalThis, url, { ...init, body: readable, signal: AbortSignal.any([signal, stop.signal]) });
    isAnswered = fault === undefined;
    if (isAnswered) return response;
  } catch (error) {
    fault ??= error;
  } finally {
    // An answer may come before the body's end: nobody reads the rest, and its picture is let go.
    await writer.abort().catch(() => undefined); // as it should be: closed
  }
  throw fault;
}

async function write(pieces: Piece[], writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
  for (const piece of pieces) {
    if (typeof piece === "string") await writer.write(encoder.encode(piece));
    else if (Symbol.asyncIterator in piece) for await (const chunk of piece) await writer.write(chunk);
    else if (isPassedOn(piece)) await writer.write(encoder.encode(JSON.stringify(piece.url)));
    else
      await piece.read(async ({ bytes, type }) => {
        await writer.write(encoder.encode(`"data:${type};base64,`));
        for (let at = 0; at < bytes.byteLength; at += sliceBytes)
          await writer.write(encoder.encode(bytes.subarray(at, at + sliceBytes).toBase64()));
        await writer.write(encoder.encode('"'));
      });
  }
  await writer.close();
}
