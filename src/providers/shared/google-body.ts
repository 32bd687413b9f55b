/** Requests with pictures in base64: written while they are sent, so that a task never has more than one of its pictures in memory. */

import { ask } from "./http.ts";
import { InputError, type InputImage, ProviderError } from "../provider.ts";

/** How a picture is written: JSON with this data in it. */
export type PictureShape = (type: string, data: string) => object;

/** A multiple of three: each piece is base64 of its own, and together they are the picture's. */
const pieceBytes = 3 * 64 * 1024;

/**
 * POSTs JSON. `frame` makes the body around what stands for the pictures, in their order. Throws `InputError` when a picture cannot be
 * used: the request is broken off then, and an upstream takes no half of one.
 */
export async function postWithPictures(
  url: string,
  init: { headers: Record<string, string>; signal: AbortSignal },
  frame: (pictures: string[]) => unknown,
  { images, shape }: { images: InputImage[]; shape: PictureShape },
): Promise<Response> {
  const mark = crypto.randomUUID();
  // Every second piece is the number of a picture.
  const pieces = JSON.stringify(frame(images.map((_, at) => mark + at))).split(new RegExp(`"${mark}(\\d+)"`));
  const request = { method: "POST", ...init, headers: { "content-type": "application/json", ...init.headers } };
  if (pieces.length === 1) return ask(globalThis, url, { ...request, body: pieces[0]! });

  const { readable, writable } = new IdentityTransformStream();
  /** Ends the writing when the answer is here, which may be before the request was read. */
  const answered = new AbortController();
  /** Ends the request when a picture cannot be read. */
  const broken = new AbortController();
  let fault: unknown;
  const writing = writeAll(writable.getWriter(), pieces, images, shape, answered.signal).catch((error: unknown) => {
    if (!(error instanceof InputError || error instanceof ProviderError)) return; // the request ended, in whichever way
    fault = error;
    broken.abort();
  });
  try {
    const signal = AbortSignal.any([init.signal, broken.signal]);
    return await ask(globalThis, url, { ...request, signal, body: readable });
  } catch (error) {
    throw fault ?? error;
  } finally {
    answered.abort(new Error("answered"));
    await writing;
  }
}

async function writeAll(
  writer: WritableStreamDefaultWriter<Uint8Array>,
  pieces: string[],
  images: InputImage[],
  shape: PictureShape,
  signal: AbortSignal,
): Promise<void> {
  const stopped = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));
  stopped.catch(() => undefined);
  const write = (text: string) => Promise.race([writer.write(new TextEncoder().encode(text)), stopped]);
  for (const [at, piece] of pieces.entries()) {
    if (at % 2 === 0) {
      await write(piece);
      continue;
    }
    const image = images[Number(piece)]!;
    await Promise.race([image.read(({ bytes, type }) => writePicture(write, bytes, shape(type, "\n"))), stopped]);
  }
  await Promise.race([writer.close(), stopped]);
}

async function writePicture(write: (text: string) => Promise<void>, bytes: Uint8Array, json: object): Promise<void> {
  const [before, after] = JSON.stringify(json).split("\\n");
  await write(before!);
  for (let at = 0; at < bytes.length; at += pieceBytes) await write(bytes.subarray(at, at + pieceBytes).toBase64());
  await write(after!);
}
