/**
 * Request bodies with images or a clip, generated while they are sent, because five images of 10 MiB do not fit into an isolate at once.
 */

import { InputError, type InputImage, ProviderError } from "../provider.ts";

/** An image within a body: the text before and after it, and its bytes as Base64, or unchanged for multipart bodies. */
interface ImagePiece {
  image: InputImage;
  wrap(type: string): [before: string, after: string];
  isRaw?: boolean;
}
/** Text, a stream of bytes, or an image that is read when it is sent. */
export type Piece = string | AsyncIterable<Uint8Array> | ImagePiece;

const encoder = new TextEncoder();
/** A multiple of three bytes, so that the base64 of slices can be joined. */
const sliceBytes = 3 * 64 * 1024;
const wrapAsDataUri = (type: string): [string, string] => [`"data:${type};base64,`, '"'];

/**
 * The pieces of a JSON body. `build` builds the body with one value for each image, which must stay in order: the image's URL if
 * `passesUrl` allows it, else a marker that becomes a data URI, or JSON of the format `toJson(type, data)`.
 */
export function jsonPieces(
  images: InputImage[],
  build: (values: string[]) => unknown,
  { passesUrl = () => true, toJson }: { passesUrl?: (url: string) => boolean; toJson?: (type: string, data: string) => object } = {},
): Piece[] {
  const mark = crypto.randomUUID();
  const values = images.map(({ url }, at) => (url !== undefined && passesUrl(url) ? url : mark + at));
  const wrap = toJson ? (type: string) => JSON.stringify(toJson(type, "\n")).split("\\n") as [string, string] : wrapAsDataUri;
  // Every second part is the index of an image.
  const parts = JSON.stringify(build(values)).split(new RegExp(`"${mark}(\\d+)"`));
  return parts.map((part, at) => {
    const image = at % 2 === 0 ? undefined : images[Number(part)];
    return image ? { image, wrap } : part;
  });
}

/** The length in bytes of pieces without streams; reads each image once. For upstreams that want a `content-length`. */
export async function measurePieces(pieces: Piece[]): Promise<number> {
  let length = 0;
  for (const piece of pieces as (string | ImagePiece)[]) {
    if (typeof piece === "string") length += encoder.encode(piece).byteLength;
    else
      length += await piece.image.read(({ bytes, type }) =>
        Promise.resolve(encoder.encode(piece.wrap(type).join("")).byteLength + Math.ceil(bytes.byteLength / 3) * 4),
      );
  }
  return length;
}

export interface PostInit {
  method: "POST";
  headers: Record<string, string>;
  body: BodyInit;
  signal: AbortSignal;
}

/**
 * POSTs the pieces with `send`, as JSON unless `headers` have another content type. With `length` the body has a `content-length`,
 * otherwise it is chunked. Throws the errors of the pieces: then the body is incomplete, and no upstream accepts an incomplete one.
 */
export async function postPieces(
  send: (init: PostInit) => Promise<Response>,
  pieces: Piece[],
  { headers, length, signal }: { headers?: Record<string, string>; length?: number; signal: AbortSignal },
): Promise<Response> {
  const init = { method: "POST" as const, headers: { "content-type": "application/json", ...headers } };
  if (pieces.every((piece) => typeof piece === "string")) return send({ ...init, body: pieces.join(""), signal });
  const { readable, writable } = length === undefined ? new IdentityTransformStream() : new FixedLengthStream(length);
  const writer = writable.getWriter();
  writer.closed.catch(() => undefined); // `writePieces` rejects as well
  const broken = new AbortController();
  let fault: unknown;
  void writePieces(writer, pieces).catch((error: unknown) => {
    // Other errors are connection errors, which `send` reports.
    if (error instanceof InputError || error instanceof ProviderError) {
      fault = error;
      broken.abort();
    }
    return writer.abort(error).catch(() => undefined);
  });
  try {
    const response = await send({ ...init, body: readable, signal: AbortSignal.any([signal, broken.signal]) });
    if (fault === undefined) return response;
    await response.body?.cancel();
  } catch (error) {
    fault ??= error;
  } finally {
    // If the answer arrives before the body's end, the rest is not sent, and its image is freed.
    await writer.abort().catch(() => undefined);
  }
  throw fault;
}

async function writePieces(writer: WritableStreamDefaultWriter<Uint8Array>, pieces: Piece[]): Promise<void> {
  for (const piece of pieces) {
    if (typeof piece === "string") await writer.write(encoder.encode(piece));
    else if (Symbol.asyncIterator in piece) for await (const chunk of piece) await writer.write(chunk);
    else
      await piece.image.read(async ({ bytes, type }) => {
        const [before, after] = piece.wrap(type);
        await writer.write(encoder.encode(before));
        for (let at = 0; at < bytes.byteLength; at += sliceBytes) {
          const slice = bytes.subarray(at, at + sliceBytes);
          await writer.write(piece.isRaw ? slice.slice() : encoder.encode(slice.toBase64()));
        }
        await writer.write(encoder.encode(after));
      });
  }
  await writer.close();
}
