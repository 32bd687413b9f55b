/** Reads a JSON body as a stream: long Base64 strings are passed on as bytes while they arrive; the rest is parsed. */

import { JsonBodyError } from "./json-error.ts";
import { decodeString, type JsonPart, type JsonPath, JsonScanner } from "./json-scanner.ts";
import { readText } from "./json-text.ts";
import { largeReads } from "./large-reads.ts";

export interface JsonFilesOptions<T> {
  /** The maximum size of the whole body. */
  maxBytes: number;
  /** The maximum number of characters outside the files. */
  maxRest: number;
  /** The maximum nesting of objects and arrays. */
  maxDepth: number;
  /** True if the string at this path is a file. Only called for long strings. */
  isFileAt: (path: JsonPath) => boolean;
  /** Receives a file. The body is read only as fast as the file; an error that it throws ends the reading. */
  take: (bytes: AsyncIterable<Uint8Array>) => Promise<T>;
  /** The results of `take`, by the placeholder that replaces each file in the value. Senders cannot guess a placeholder, because it contains a random part. */
  files: Map<string, T>;
}

/** Strings up to this length (as written, with escapes) stay in the value. */
const shortString = 2048;

/**
 * Reads a body to its end: its value. Strings that begin like URLs are not files.
 * @throws JsonBodyError, or what `take` throws. `files` then has what was taken before.
 */
export async function readJsonFiles<T>(body: ReadableStream<Uint8Array>, options: JsonFilesOptions<T>): Promise<unknown> {
  const { maxBytes, maxRest, maxDepth, isFileAt, take, files } = options;
  const nonce = crypto.randomUUID();
  const scanner = new JsonScanner(maxDepth);
  const parts = readParts(body, scanner, maxBytes);
  let rest = "";
  const keep = (text: string) => {
    rest += text;
    if (rest.length > maxRest) throw new JsonBodyError("too_large");
  };
  for await (const string of parts) {
    if (string.kind !== "string") {
      keep(string.text);
      continue;
    }
    let { text, ends } = string;
    while (!ends && text.length <= shortString) {
      const next = await nextPart(parts);
      text += next.text;
      ends = next.ends;
    }
    const isFile = text.length > shortString && isFileAt(scanner.path) && !/^\s*https?:/i.test(text.slice(0, shortString / 8));
    if (isFile) {
      const placeholder = `file:${nonce}:${files.size}`;
      keep(placeholder);
      const next = async () => {
        const part = await nextPart(parts);
        ends = part.ends;
        return part;
      };
      files.set(placeholder, await take(decoded({ text, ends }, next)));
      // If `take` stopped early, the rest of the string is skipped.
      while (!ends) ({ ends } = await nextPart(parts));
    } else {
      keep(text);
      while (!ends) {
        const next = await nextPart(parts);
        keep(next.text);
        ends = next.ends;
      }
    }
  }
  try {
    return JSON.parse(rest) as unknown;
  } catch (cause) {
    throw new JsonBodyError("not_json", { cause });
  }
}

/** Leaving a `for await` loop would end the iterator, so the parts of a string are requested one by one. */
type Parts = AsyncGenerator<JsonPart, void>;

async function* readParts(body: ReadableStream<Uint8Array>, scanner: JsonScanner, maxBytes: number): Parts {
  for await (const text of readText(largeReads(body), { maxBytes })) yield* scanner.parts(text);
}

async function nextPart(parts: Parts): Promise<JsonPart> {
  const { done, value } = await parts.next();
  if (done) throw new JsonBodyError("not_json");
  return value;
}

/** The bytes of a Base64 string or data URI. Line breaks are skipped. */
async function* decoded(
  start: Pick<JsonPart, "text" | "ends">,
  next: () => Promise<Pick<JsonPart, "text" | "ends">>,
): AsyncGenerator<Uint8Array, void> {
  let carry = "";
  let part = { text: decodeString(start.text).replace(/^data:[^,]*,/, ""), ends: start.ends };
  for (;;) {
    const text = carry + (/\s/.test(part.text) ? part.text.replace(/\s+/g, "") : part.text);
    const whole = part.ends ? text.length : text.length - (text.length % 4);
    carry = text.slice(whole);
    if (whole > 0) yield toBytes(text.slice(0, whole));
    if (part.ends) return;
    const { text: written, ends } = await next();
    part = { text: decodeString(written), ends };
  }
}

function toBytes(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text);
  } catch (cause) {
    throw new JsonBodyError("not_json", { cause });
  }
}
