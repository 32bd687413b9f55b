/** Reads requests that are JSON or multipart forms, and forwards forms: images as data URIs in JSON, a video as bytes. */

import type { AppContext } from "./context.ts";
import { MaxFileSizeExceededError, MaxTotalSizeExceededError, MultipartParseError, MultipartParser } from "@remix-run/multipart-parser";
import { maxImageBytes } from "../../catalog/fields.ts";
import { detectImageType, IMAGE_TYPE_BYTES } from "../../media/image-type.ts";
import { parseJson } from "../../media/json-limits.ts";
import { readText } from "../../media/json-text.ts";
import { largeReads } from "../../media/large-reads.ts";
import { NetError } from "../../net/net-error.ts";
import { pace } from "../../net/pace.ts";
import { Base64 } from "./base64.ts";
import { refuse, refuseBody, refuseField, refuseLike } from "./errors.ts";
import { type Identify, sampleInput } from "./once.ts";
import { maxBodyBytes, type Sending, sendInTurn } from "./turns.ts";

const MiB = 1024 * 1024;
/** The maximum size of a body without files, and of a chat; the same as under /v1. */
const maxFieldsBytes = 1 * MiB;
export const maxChatBytes = 10 * MiB;

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

const mediaType = (c: AppContext) => (c.req.header("content-type") ?? "").replace(/;.*/s, "").trim().toLowerCase();

/** True if the request is a form, false if it is JSON. */
export const isForm = (c: AppContext) => mediaType(c) === "multipart/form-data";

/** The pieces of a caller's body, at the gateway's minimum transfer rate: a slow caller would hold a permit that others wait for. */
export const arrivingPieces = (body: ReadableStream<Uint8Array>) => largeReads(body, undefined, pace());

/** Represents a form when repeats are matched. */
const identifyForm = async ({ fields, files }: Form): Promise<string> =>
  JSON.stringify([fields, await Promise.all(files.map(async ({ name, content }) => [name, await sampleInput(content)]))]);

/** The JSON body as an object; a null field counts as absent. Throws 400, 413 and 415. */
export async function readFields(c: AppContext, maxBytes = maxFieldsBytes): Promise<Fields> {
  requireJson(c, maxBytes);
  const { body } = c.req.raw;
  let text = "";
  try {
    // Decoded in pieces, because the whole body beside its text would not fit into memory several times.
    if (body) for await (const piece of readText(arrivingPieces(body), { maxBytes })) text += piece;
    return toObject(c, parseJson(text));
  } catch (error) {
    throw refuseBody(c, error);
  }
}

/** Throws 415: a compressed body could expand a thousandfold. */
function requireUncompressed(c: AppContext): void {
  const encoding = c.req.header("content-encoding")?.trim().toLowerCase();
  if (encoding && encoding !== "identity") throw refuseLike(c, 415, "unsupported_media_type", "compressed");
}

/** Throws 413 and 415 for a body that must not be read. */
export function requireJson(c: AppContext, maxBytes: number): void {
  requireUncompressed(c);
  if (mediaType(c) !== "application/json") throw refuseLike(c, 415, "unsupported_media_type");
  if (Number(c.req.header("content-length") ?? 0) > maxBytes) throw refuseLike(c, 413, "body_too_large");
}

/** A body's fields; a null field counts as absent. Throws 400. */
export function toObject(c: AppContext, value: unknown): Fields {
  if (!isFields(value)) throw refuseLike(c, 400, "invalid_json");
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

/** A parsed form: its fields, and its files in pieces. */
interface Form {
  fields: Fields;
  files: { name: string; content: Uint8Array[] }[];
}

/** How a form is converted to a request to the gateway. */
interface FormRules {
  path: string;
  /** True if the field with this name is a file. */
  isFile: (name: string) => boolean;
  maxFileBytes?: number;
  identify: Identify;
  /** Builds the body for the gateway, and headers. An error that it throws becomes the answer. */
  toRequest: (form: Form) => Promise<Omit<Sending, "path">>;
}

/**
 * Reads a form, converts it and sends the result to the gateway. The form is read completely first: the gateway requires a minimum transfer
 * rate, which a slow caller would not reach while a large file is forwarded. Throws the errors of the form and of the gateway.
 */
export function sendForm(c: AppContext, { path, identify, toRequest, ...rules }: FormRules): Promise<Response> {
  return sendInTurn(c, async () => {
    const form = await readForm(c, rules);
    const { headers, body } = await toRequest(form);
    return { path, headers: { ...headers, ...(await identify(await identifyForm(form))) }, body };
  });
}

/**
 * The JSON `{"images": [...], ...}` for a form's images: only one image at a time is in memory as Base64. Throws 400 for a file of another
 * format.
 */
export function toImagesBody(c: AppContext, files: Form["files"], rest: object): Iterable<Uint8Array> {
  const types = files.map(({ name, content }) => {
    const type = detectImageType(readRange(content, 0, IMAGE_TYPE_BYTES));
    if (!type) throw refuseField(c, name, "bad_image_format");
    return type;
  });
  const encoder = new TextEncoder();
  return (function* () {
    yield encoder.encode(`{"images":[`);
    for (const [at, { content }] of files.entries()) {
      yield encoder.encode(`${at > 0 ? "," : ""}"data:${types[at]};base64,`);
      const text = new Base64();
      for (const bytes of content) yield encoder.encode(text.push(bytes));
      yield encoder.encode(`${text.end()}"`);
    }
    const fields = JSON.stringify(rest).slice(1);
    yield encoder.encode(`]${fields === "}" ? "" : ","}${fields}`);
  })();
}

/** Reads a complete form. Throws 400 and 413. */
async function readForm(
  c: AppContext,
  { isFile, maxFileBytes = maxImageBytes }: Omit<FormRules, "path" | "identify" | "toRequest">,
): Promise<Form> {
  requireUncompressed(c);
  const boundary = /boundary="?([^";]+)"?/i.exec(c.req.header("content-type") ?? "")?.[1];
  const { body } = c.req.raw;
  if (boundary === undefined || !body) throw refuse(c, 400, "bad_form");
  if (Number(c.req.header("content-length") ?? 0) > maxBodyBytes) throw refuse(c, 413, "form_too_large");
  const form: Form = { fields: {}, files: [] };
  try {
    const parser = new MultipartParser(boundary, { maxFileSize: maxFileBytes, maxTotalSize: maxBodyBytes, maxParts: 64 });
    for await (const piece of arrivingPieces(body)) {
      // A copy, of which the parser keeps parts.
      for (const part of parser.write(piece.slice())) {
        const name = (part.name ?? "").replace(/\[\]$/, "");
        // Ignoring either would make, and charge, something else than was asked for.
        if (part.isFile && !isFile(name)) throw refuseField(c, name, "not_supported");
        if (!part.isFile && isFile(name)) throw refuseField(c, name, "wrong_type", { expected: "file" });
        if (part.isFile) form.files.push({ name, content: part.content });
        else addField(form.fields, name, part.text);
      }
    }
    parser.finish();
  } catch (error) {
    if (error instanceof MaxFileSizeExceededError || error instanceof MaxTotalSizeExceededError) throw refuse(c, 413, "form_too_large");
    // A TypeError: a name or text that is not UTF-8.
    if (error instanceof MultipartParseError || error instanceof TypeError) throw refuse(c, 400, "bad_form");
    throw error instanceof NetError ? refuseLike(c, 408, "body_too_slow") : error;
  }
  return form;
}

/** Form fields that are numbers in JSON. */
const numbers = new Set(["n", "output_compression", "partial_images", "max_cost"]);

/**
 * Form values are always text. A text that cannot be converted to the JSON type of its field stays text, and is refused as it would be in
 * JSON.
 */
function fromText(name: string, text: string): unknown {
  if (numbers.has(name) && /^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return name === "stream" && text === "false" ? false : text;
}

/** Adds a form field. The ids of characters become a list, in whichever notation the client writes lists. */
function addField(fields: Fields, name: string, text: string): void {
  if (/^characters\[\d*\]\[id\]$/.test(name))
    fields["characters"] = [...((fields["characters"] as object[] | undefined) ?? []), { id: text }];
  else fields[name] = fromText(name, text);
}

/** A range of a file that consists of several pieces; zeros after its end. */
export function readRange(file: Uint8Array[], offset: number, length: number): Uint8Array {
  const range = new Uint8Array(length);
  let start = 0;
  for (const piece of file) {
    const from = Math.max(offset - start, 0);
    const to = Math.min(offset + length - start, piece.length);
    if (from < to) range.set(piece.subarray(from, to), start + from - offset);
    start += piece.length;
  }
  return range;
}
