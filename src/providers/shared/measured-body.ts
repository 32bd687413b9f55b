/** JSON bodies with inline images of a known length, encoded while they are sent. */

import { InputError, type InputImage, ProviderError } from "../provider.ts";

const encoder = new TextEncoder();
const headers = { "content-type": "application/json" };

/** Of three bytes each: pieces of Base64 can be joined. */
const sliceBytes = 3 * 16_384;

/**
 * A POST of what `bodyOf` makes of the pictures' URLs, which it must keep in their order. Inline pictures are data URIs, encoded
 * piece by piece while the request is sent: five large ones at once are more than an isolate has memory for. May be made again and
 * again. Throws what a picture throws: the body then broke off, and nobody accepts half of one.
 */
export async function postWithPictures(
  images: InputImage[],
  bodyOf: (urls: string[]) => unknown,
): Promise<(send: (init: RequestInit) => Promise<Response>) => Promise<Response>> {
  const mark = crypto.randomUUID();
  const inline: { image: InputImage; length: number }[] = [];
  const urls: string[] = [];
  for (const image of images) {
    if (image.url !== undefined) {
      urls.push(image.url);
      continue;
    }
    const { type, size } = await image.read(({ bytes, type }) => Promise.resolve({ type, size: bytes.byteLength }));
    inline.push({ image, length: Math.ceil(size / 3) * 4 });
    urls.push(`data:${type};base64,${mark}`);
  }
  const text = JSON.stringify(bodyOf(urls));
  if (inline.length === 0) return (send) => send({ method: "POST", headers, body: text });

  const parts = text.split(mark).map((part) => encoder.encode(part));
  const length = [...parts.map((part) => part.byteLength), ...inline.map((picture) => picture.length)].reduce((a, b) => a + b);
  return async (send) => {
    const { readable, writable } = new FixedLengthStream(length);
    const writer = writable.getWriter();
    writer.closed.catch(() => undefined); // `write` hears of it too
    let fault: unknown;
    void write(writer, parts, inline).catch((error: unknown) => {
      // Whatever else comes is the connection's end, which `send` tells better.
      if (error instanceof InputError || error instanceof ProviderError) fault = error;
      return writer.abort(error).catch(() => undefined);
    });
    try {
      return await send({ method: "POST", headers, body: readable });
    } catch (error) {
      throw fault ?? error;
    } finally {
      // An answer may come before the body's end: nobody reads the rest, and its picture is let go.
      await writer.abort().catch(() => undefined);
    }
  };
}

async function write(writer: WritableStreamDefaultWriter<Uint8Array>, parts: Uint8Array[], inline: { image: InputImage }[]): Promise<void> {
  for (const [at, part] of parts.entries()) {
    await writer.write(part);
    await inline[at]?.image.read(async ({ bytes }) => {
      for (let from = 0; from < bytes.byteLength; from += sliceBytes)
        await writer.write(encoder.encode(bytes.subarray(from, from + sliceBytes).toBase64()));
    });
  }
  await writer.close();
}
