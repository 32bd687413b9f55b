/** A form with pictures, read part by part, and its body as JSON written while it is sent: a picture is in memory once and never whole as text. */

import { getMultipartBoundary, MultipartParseError, parseMultipartStream } from "@remix-run/multipart-parser";
import { boundedBody } from "../../net/bounded-body.ts";
import { NetError } from "../../net/net-error.ts";
import { Semaphore } from "../../concurrency.ts";
import type { Typed } from "./fields.ts";
import { ImageFile } from "./image-file.ts";

const MiB = 1024 * 1024;
/** What the API takes. */
export const maxImageBytes = 10 * MiB;
/** Five such pictures, and room for what is typed. */
const maxFormBytes = 52 * MiB;
/** Forms up to this size need no turn. */
const smallEnough = MiB;

export interface Form {
  typed: Typed;
  pictures: Map<string, ImageFile[]>;
}

/** Pictures of a form that only names them: what is shown while somebody types sends no files. */
const namesEnding = ".names";
/** More than a field has room for; the page writes each of them into three programs. */
const mostNames = 50;

/** Browsers write what would end a file's name in the form this way. */
const nameOf = (filename: string) => filename.replace(/%(22|0D|0A)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** Reads a form. `too_large` and `broken` say why it could not be. */
export async function readForm(request: Request): Promise<Form | "too_large" | "broken"> {
  const form: Form = { typed: new Map(), pictures: new Map() };
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
        else if (filename !== "") add(form.pictures, name, new ImageFile(nameOf(filename), part.content));
      }
  } catch (error) {
    if (error instanceof NetError) return error.reason === "too_large" ? "too_large" : "broken";
    if (error instanceof MultipartParseError || error instanceof TypeError) return "broken"; // bytes that are no text, too
    throw error;
  }
  for (const [name, [names = ""]] of isMultipart ? [] : form.typed)
    if (name.endsWith(namesEnding))
      for (const line of names.split(/\r?\n/, mostNames).filter(Boolean))
        add(form.pictures, name.slice(0, -namesEnding.length), new ImageFile(line));
  return form;
}

/** JSON text of a body; pictures in it become data URIs as it is read. */
export function jsonOf(body: object): string | ReadableStream<Uint8Array> {
  const pictures: ImageFile[] = [];
  const mark = crypto.randomUUID();
  const text = JSON.stringify(body, (_, value: unknown) => (value instanceof ImageFile ? (pictures.push(value), mark) : value));
  if (pictures.length === 0) return text;
  const encoder = new TextEncoder();
  const pieces = text.split(mark);
  function* written() {
    for (const [at, piece] of pieces.entries()) {
      yield encoder.encode(piece);
      const picture = pictures[at];
      if (!picture) continue;
      yield encoder.encode(`data:${picture.type};base64,`);
      for (const base64 of base64Of(picture.content)) yield encoder.encode(base64);
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

/** Base64 of bytes that come in chunks: groups of three stay together. */
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

const turns = new Semaphore({ mostAtOnce: 1, longestMs: 120_000, longestWaitMs: 10_000 });

/** Does what a form asks for, large forms one after the other: an isolate has 128 MB. Throws what `busy` makes when that takes too long. */
export function inTurn<T>(request: Request, work: () => Promise<T>, busy: () => Error): Promise<T> {
  const length = request.headers.get("content-length");
  return length !== null && Number(length) <= smallEnough ? work() : turns.take(work, busy);
}
