/**
 * Reads a form with images part by part, and generates its body as JSON while it is sent: each image is in memory once and never as text.
 */

import { getMultipartBoundary, MultipartParseError, parseMultipartStream } from "@remix-run/multipart-parser";
import { boundedBody } from "../../net/bounded-body.ts";
import { NetError } from "../../net/net-error.ts";
import { Semaphore } from "../../concurrency.ts";
import type { Typed } from "./fields.ts";
import { ImageFile } from "./image-file.ts";

const MiB = 1024 * 1024;
/** The API's size limit of an image. */
export const maxImageBytes = 10 * MiB;
/** The size of five such images and the other values. */
const maxFormBytes = 52 * MiB;
/** Forms up to this size need no permit. */
const smallEnough = MiB;

export interface Form {
  typed: Typed;
  images: Map<string, ImageFile[]>;
}

/** Fields that contain only the name of an image: the preview during typing sends no files. */
const nameEnding = ".name";
/** More images than a field allows; the page writes each of them into the code examples. */
const maxNames = 50;

/** Decodes the characters that browsers escape in a file name. */
const decodeName = (filename: string) =>
  filename.replace(/%(22|0D|0A)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** Reads a form. `too_large` and `broken` are the reasons of a failure. */
export async function readForm(request: Request): Promise<Form | "too_large" | "broken"> {
  const form: Form = { typed: new Map(), images: new Map() };
  const add = <T>(map: Map<string, T[]>, name: string, value: T) => {
    const list = map.get(name);
    if (list) list.push(value);
    else map.set(name, [value]);
  };
  const type = request.headers.get("content-type") ?? "";
  const boundary = getMultipartBoundary(type) ?? "";
  if (!request.body) return "broken";
  if (Number(request.headers.get("content-length") ?? 0) > maxFormBytes) return "too_large";
  const isMultipart = type.startsWith("multipart/form-data");
  const body = boundedBody(request.body, { maxBytes: isMultipart ? maxFormBytes : smallEnough });
  try {
    if (!isMultipart) for (const [name, value] of new URLSearchParams(await new Response(body).text())) add(form.typed, name, value);
    else
      for await (const part of parseMultipartStream(body, { boundary, maxFileSize: maxFormBytes, maxTotalSize: maxFormBytes })) {
        const { name = "", filename } = part;
        if (filename === undefined) add(form.typed, name, part.text);
        else if (filename !== "") add(form.images, name, new ImageFile(decodeName(filename), part.content));
      }
  } catch (error) {
    if (error instanceof NetError) return error.reason === "too_large" ? "too_large" : "broken";
    if (error instanceof MultipartParseError || error instanceof TypeError) return "broken"; // also bytes that are not text
    throw error;
  }
  if (!isMultipart)
    for (const [name, [file = ""]] of [...form.typed].filter(([name]) => name.endsWith(nameEnding)).slice(0, maxNames))
      if (file !== "") add(form.images, name.slice(0, -nameEnding.length), new ImageFile(file));
  return form;
}

/** A body as JSON text, in which images become data URIs while it is read. */
export function toJson(body: object): string | ReadableStream<Uint8Array> {
  const images: ImageFile[] = [];
  const mark = crypto.randomUUID();
  const text = JSON.stringify(body, (_, value: unknown) => (value instanceof ImageFile ? (images.push(value), mark) : value));
  if (images.length === 0) return text;
  const encoder = new TextEncoder();
  const pieces = text.split(mark);
  function* written() {
    for (const [at, piece] of pieces.entries()) {
      yield encoder.encode(piece);
      const image = images[at];
      if (!image) continue;
      yield encoder.encode(`data:${image.type};base64,`);
      for (const base64 of base64Of(image.content)) yield encoder.encode(base64);
    }
  }
  const parts = written();
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Base64 of bytes in chunks, without splitting groups of three. */
function* base64Of(chunks: Uint8Array[]): Generator<string> {
  let rest: Uint8Array = new Uint8Array();
  for (const chunk of chunks) {
    const bytes = new Uint8Array(rest.length + chunk.length);
    bytes.set(rest);
    bytes.set(chunk, rest.length);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.subarray(0, whole).toBase64();
    rest = bytes.subarray(whole);
  }
  yield rest.toBase64();
}

const turns = new Semaphore({ maxAtOnce: 1, longestMs: 120_000, longestWaitMs: 10_000 });

/** Processes large forms one at a time, because an isolate has 128 MB. Throws the error that `busy` creates if the wait is too long. */
export function inTurn<T>(request: Request, work: () => Promise<T>, busy: () => Error): Promise<T> {
  const length = request.headers.get("content-length");
  return length !== null && Number(length) <= smallEnough ? work() : turns.take(work, busy);
}
