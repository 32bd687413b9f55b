/** Reads requests that come as JSON or as multipart forms. A form's picture becomes a data URI in the JSON for the gateway as soon as it is read. */

import {
  MaxFileSizeExceededError,
  MaxTotalSizeExceededError,
  MultipartParseError,
  type MultipartPart,
  parseMultipartStream,
} from "@remix-run/multipart-parser";
import { maxImageBytes } from "../catalog/fields.ts";
import { Semaphore } from "../concurrency.ts";
import { detectImageType, IMAGE_TYPE_BYTES } from "../media/image-type.ts";
import { readAll } from "../net/bounded-body.ts";
import { ask } from "./ask.ts";
import { Base64 } from "./base64.ts";
import { OpenAiError, refuse, refuseField, refuseLike } from "./errors.ts";
import type { AppContext } from "./paths.ts";

const maxBodyBytes = 16 * 1024 * 1024;
const smallEnough = 64 * 1024;

export type Fields = Record<string, unknown>;

/** A body holds one picture, or as JSON all of it, in memory; the isolate has 128 MB for all requests. */
const turns = new Semaphore({ mostAtOnce: 3, longestMs: 120_000, longestWaitMs: 20_000 });

const mediaType = (c: AppContext) => (c.req.header("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
const lengthOf = (c: AppContext) => Number(c.req.header("content-length") ?? Infinity);

/** Whether the request is a form, not JSON. */
export const isForm = (c: AppContext) => mediaType(c) === "multipart/form-data";

/** What stands for the body of a form where repeats are found: its length. The gateway refuses a key that was used for another body. */
export const formIdentity = (c: AppContext) => c.req.header("content-length");

/** The JSON body as an object; a null field counts as absent. Throws 400, 413 and 415. */
export async function readFields(c: AppContext): Promise<Fields> {
  if (mediaType(c) !== "application/json") throw refuseLike(c, 415, "unsupported_media_type");
  if (Number(c.req.header("content-length") ?? 0) > maxBodyBytes) throw refuseLike(c, 413, "body_too_large");
  const { body } = c.req.raw;
  const read = async () => (body ? await readAll(body, maxBodyBytes) : new Uint8Array());
  const bytes = await (lengthOf(c) <= smallEnough ? read() : turns.take(read, () => refuseLike(c, 503, "unavailable"))).catch(
    (error: unknown) => {
      throw error instanceof OpenAiError ? error : refuseLike(c, 413, "body_too_large");
    },
  );
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    throw refuseLike(c, 400, "invalid_json");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refuseLike(c, 400, "invalid_json");
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

/** How a form becomes a submission. */
interface FormRules {
  /** The gateway's path. */
  path: string;
  headers: Record<string, string>;
  /** Whether a field of this name is a picture of the submission. */
  isPicture: (name: string) => boolean;
  /** The submission's other fields, from those of the form; what it throws is the answer. */
  toBody: (fields: Fields, pictures: number) => object | Promise<object>;
}

/**
 * Sends a form on as JSON, `{"images": [...], ...}`, while it is being read: one picture at a time is in memory. Throws what the form or
 * the gateway has against it.
 */
export async function sendForm(c: AppContext, rules: FormRules): Promise<Response> {
  const send = () => askWhile(c, rules, (write) => writeForm(c, rules, write));
  return turns.take(send, () => refuseLike(c, 503, "unavailable"));
}

type Write = (bytes: Uint8Array) => Promise<void>;

/** Asks the gateway with the body that `write` writes meanwhile. Throws what either has against it. */
async function askWhile(
  c: AppContext,
  { path, headers }: Pick<FormRules, "path" | "headers">,
  write: (write: Write) => Promise<void>,
): Promise<Response> {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const written = write((bytes) => writer.write(bytes)).then(
    () => writer.close(),
    async (error: unknown) => {
      await writer.abort(error);
      throw error;
    },
  );
  const sent = ask(c, path, { body: readable, headers });
  // The gateway may refuse without reading: nothing waits for it to take the rest.
  sent.catch(() => writer.abort().catch(() => undefined));
  const [body, answer] = await Promise.allSettled([written, sent]);
  if (body.status === "rejected" && body.reason instanceof OpenAiError) throw body.reason;
  if (answer.status === "rejected") throw answer.reason;
  return answer.value;
}

/** How a form with one file becomes a request with the file as its body. */
interface FileRules {
  path: string;
  /** The name of the file's field. */
  file: string;
  /** The request's headers, from the form's fields and the file in pieces; what it throws is the answer. */
  toHeaders: (fields: Fields, file: Uint8Array[]) => Promise<Record<string, string>>;
}

/** Sends the one file of a form on, after the form was read. Throws what the form or the gateway has against it. */
export async function sendFile(c: AppContext, { path, file: fileField, toHeaders }: FileRules): Promise<Response> {
  const send = async () => {
    const fields: Fields = {};
    let file: Uint8Array[] | undefined;
    for await (const part of parts(c, maxBodyBytes)) {
      if (!part.isFile) addField(fields, part);
      else if (part.name !== fileField) throw refuseField(c, part.name ?? "", "not_supported");
      else if (file) throw refuseField(c, fileField, "too_big_list", { maximum: 1 });
      else file = part.content;
    }
    if (!file) throw refuseField(c, fileField, "required");
    const pieces = file;
    return askWhile(c, { path, headers: await toHeaders(fields, pieces) }, async (write) => {
      for (const piece of pieces) await write(piece);
    });
  };
  return turns.take(send, () => refuseLike(c, 503, "unavailable"));
}

/** Adds a field of a form; the ids of characters are a list, however a client writes lists. */
function addField(fields: Fields, { name = "", text }: MultipartPart): void {
  if (!/^characters\[\d*\]\[id\]$/.test(name)) fields[name.replace(/\[\]$/, "")] = text;
  else fields["characters"] = [...((fields["characters"] as object[] | undefined) ?? []), { id: text }];
}

async function writeForm(c: AppContext, { isPicture, toBody }: FormRules, write: Write): Promise<void> {
  const encoder = new TextEncoder();
  const fields: Fields = {};
  let pictures = 0;
  await write(encoder.encode(`{"images":[`));
  for await (const part of parts(c)) {
    const name = (part.name ?? "").replace(/\[\]$/, "");
    if (!part.isFile) {
      addField(fields, part);
      continue;
    }
    if (!isPicture(name)) throw refuseField(c, name, "not_supported");
    const type = detectImageType(head(part.content));
    if (!type) throw refuseField(c, name, "bad_image_format");
    await write(encoder.encode(`${pictures++ > 0 ? "," : ""}"data:${type};base64,`));
    const text = new Base64();
    for (const bytes of part.content) await write(encoder.encode(text.push(bytes)));
    await write(encoder.encode(`${text.end()}"`));
  }
  const rest = JSON.stringify(await toBody(fields, pictures)).slice(1);
  await write(encoder.encode(`]${rest === "}" ? "" : ","}${rest}`));
}

/** The parts of the form, each whole. Throws 400 and 413. */
async function* parts(c: AppContext, maxFileSize = maxImageBytes): AsyncGenerator<MultipartPart> {
  const boundary = /boundary="?([^";]+)"?/i.exec(c.req.header("content-type") ?? "")?.[1];
  const { body } = c.req.raw;
  if (boundary === undefined || !body) throw refuse(c, 400, "bad_form");
  if (Number(c.req.header("content-length") ?? 0) > maxBodyBytes) throw refuse(c, 413, "form_too_large");
  try {
    yield* parseMultipartStream(body, { boundary, maxFileSize, maxTotalSize: maxBodyBytes, maxParts: 64 });
  } catch (error) {
    if (error instanceof MaxFileSizeExceededError || error instanceof MaxTotalSizeExceededError) throw refuse(c, 413, "form_too_large");
    if (error instanceof MultipartParseError) throw refuse(c, 400, "bad_form");
    throw error;
  }
}

function head(content: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(IMAGE_TYPE_BYTES);
  let at = 0;
  for (const chunk of content) {
    bytes.set(chunk.subarray(0, IMAGE_TYPE_BYTES - at), at);
    at += Math.min(chunk.length, IMAGE_TYPE_BYTES - at);
    if (at === IMAGE_TYPE_BYTES) break;
  }
  return bytes;
}
