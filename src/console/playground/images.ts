/**
 * Reads a form with images part by part, and generates its body as JSON while it is sent: each image is in memory once and never as text.
 */

import { getMultipartBoundary, MultipartParseError, parseMultipartStream } from "@remix-run/multipart-parser";
import { boundedBody } from "../../net/bounded-body.ts";
import type { Receive } from "../../rpc/gateway-api.ts";
import { NetError } from "../../net/net-error.ts";
import { paceTimeMs, within } from "../../net/pace.ts";
import { Semaphore } from "../../base/concurrency.ts";
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

/** Reads a form. Throws `FormError`. */
export async function readForm(request: Request): Promise<Form> {
  const form: Form = { typed: new Map(), images: new Map() };
  const add = <T>(map: Map<string, T[]>, name: string, value: T) => {
    const list = map.get(name);
    if (list) list.push(value);
    else map.set(name, [value]);
  };
  const type = request.headers.get("content-type") ?? "";
  const boundary = getMultipartBoundary(type) ?? "";
  if (!request.body) throw new FormError(400);
  if (Number(request.headers.get("content-length") ?? 0) > maxFormBytes) throw new FormError(413);
  const isMultipart = type.startsWith("multipart/form-data");
  const body = boundedBody(request.body, { maxBytes: isMultipart ? maxFormBytes : smallEnough });
  const read = async () => {
    if (!isMultipart) for (const [name, value] of new URLSearchParams(await new Response(body).text())) add(form.typed, name, value);
    else
      for await (const part of parseMultipartStream(body, { boundary, maxFileSize: maxFormBytes, maxTotalSize: maxFormBytes })) {
        const { name = "", filename } = part;
        if (filename === undefined) add(form.typed, name, part.text);
        else if (filename !== "") add(form.images, name, new ImageFile(decodeName(filename), part.content));
      }
  };
  try {
    await within(paceTimeMs(Number(request.headers.get("content-length") ?? smallEnough)), read());
  } catch (error) {
    if (error instanceof NetError) throw new FormError(error.reason === "too_large" ? 413 : error.reason === "timeout" ? 408 : 400);
    if (error instanceof MultipartParseError || error instanceof TypeError) throw new FormError(400); // also bytes that are not text
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

/** The bytes of the forms in memory: an isolate has 128 MB. The largest form takes all of them, several of an account at most half. */
const turns = new Semaphore({ maxAtOnce: maxFormBytes, allowsLarger: true, maxWaiting: 4, maxHoldMs: 120_000, maxWaitMs: 10_000 });

/** The errors of `readForm` and `inTurn`, by the status of the answer. */
export class FormError extends Error {
  readonly status: 400 | 408 | 413 | 503;
  constructor(status: number) {
    super(String(status));
    this.status = status === 408 || status === 413 || status === 503 ? status : 400;
  }
}

/**
 * Processes a form of an account. A large form first arrives completely at the gateway, so that a slow sender delays no other form, and then
 * waits for a permit for its size. Throws `FormError`.
 */
export async function inTurn<T>(request: Request, accountId: string, receive: Receive, work: (request: Request) => Promise<T>): Promise<T> {
  const length = request.headers.get("content-length");
  if (!request.body || (length !== null && Number(length) <= smallEnough)) return work(request);
  if (Number(length ?? 0) > maxFormBytes) throw new FormError(413);
  const received = await receive(accountId, request.body, maxFormBytes);
  if (!received.ok) throw new FormError(received.status);
  const arrived = new Request(request, { method: "POST", body: received.body });
  let hasTurn = false;
  const turn = turns.take(
    () => {
      hasTurn = true;
      return work(arrived);
    },
    () => new FormError(503),
    accountId,
    Number(received.headers.get("content-length")),
  );
  return turn.catch(async (error: unknown) => {
    // Frees what was collected for it.
    if (!hasTurn) await arrived.body?.cancel();
    throw error;
  });
}
