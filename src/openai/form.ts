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

const mediaType = (c: AppContext) => (c.req.header("content-type") ?? "").replace(/;.*/s, "").trim().toLowerCase();
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
  toBody: (fields: Fields, pictures: number) => object;
}

/**
 * Sends a form on as JSON, `{"images": [...], ...}`, while it is being read: one picture at a time is in memory. Throws what the form or
 * the gateway has against it.
 */
export async function sendForm(c: AppContext, rules: FormRules): Promise<Response> {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const send = async () => {
    const written = writeForm(c, rules, (bytes) => writer.write(bytes)).then(
      () => writer.close(),
      async (error: unknown) => {
        await writer.abort(error);
        throw error;
      },
    );
    const sent = ask(c, rules.path, { body: readable, headers: rules.headers });
    // The gateway may refuse without reading: nothing waits for it to take the rest.
    sent.catch(() => writer.abort().catch(() => undefined));
    const [form, answer] = await Promise.allSettled([written, sent]);
    if (form.status === "rejected" && form.reason instanceof OpenAiError) throw form.reason;
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  };
  return turns.take(send, () => refuseLike(c, 503, "unavailable"));
}

async function writeForm(c: AppContext, { isPicture, toBody }: FormRules, write: (bytes: Uint8Array) => Promise<void>): Promise<void> {
  const encoder = new TextEncoder();
  const fields: Fields = {};
  let pictures = 0;
  await write(encoder.encode(`{"images":[`));
  for await (const part of parts(c)) {
    const name = (part.name ?? "").replace(/\[\]$/, "");
    if (!part.isFile) {
      fields[name] = part.text;
      continue;
    }
    if (!isPicture(name)) throw refuseField(c, name, "not_supported");
    const type = detectImageType(head(part.content));
    if (!type) throw refuseField(c, name, "unsupported_format");
    await write(encoder.encode(`${pictures++ > 0 ? "," : ""}"data:${type};base64,`));
    const text = new Base64();
    for (const bytes of part.content) await write(encoder.encode(text.push(bytes)));
    await write(encoder.encode(`${text.end()}"`));
  }
  const rest = JSON.stringify(toBody(fields, pictures)).slice(1);
  await write(encoder.encode(`]${rest === "}" ? "" : ","}${rest}`));
}

/** The parts of the form, each whole. Throws 400 and 413. */
async function* parts(c: AppContext): AsyncGenerator<MultipartPart> {
  const boundary = /boundary="?([^";]+)"?/i.exec(c.req.header("content-type") ?? "")?.[1];
  const { body } = c.req.raw;
  if (boundary === undefined || !body) throw refuse(c, 400, "bad_form");
  if (Number(c.req.header("content-length") ?? 0) > maxBodyBytes) throw refuse(c, 413, "form_too_large");
  try {
    yield* parseMultipartStream(body, { boundary, maxFileSize: maxImageBytes, maxTotalSize: maxBodyBytes, maxParts: 64 });
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
