/** Answers that hold a whole film in base64: looked at no further than to the film, and read as a stream when it is wanted. */

import { JsonBodyError } from "../../media/json-error.ts";
import { decodeString, type JsonPart, JsonScanner } from "../../media/json-scanner.ts";
import { readText } from "../../media/json-text.ts";
import { ProviderError } from "../provider.ts";

const maxAnswerBytes = 768 * 1024 * 1024;
const maxDepth = 64;
/** So much of a string is kept: an address fits, a film does not. */
const keptCharacters = 16 * 1024;
/** Twelve bytes in base64: the size of the first box, `ftyp`, and a brand, as every MP4 file begins (ISO/IEC 14496-12, 4.3). */
const startCharacters = 16;

/** What an answer says: there is a film in it, or all of it. */
export type FilmAnswer<T> = { film: true } | { film: false; value: T | undefined };

/** Reads an answer until a film begins in it, or to its end. Throws a fault that may pass when it breaks off. */
export async function lookForFilm<T>(body: ReadableStream<Uint8Array>): Promise<FilmAnswer<T>> {
  let rest = "";
  let string = 0;
  for await (const part of partsOf(body)) {
    if (part === film) return { film: true };
    if (part.kind === "string") {
      if (string + part.text.length <= keptCharacters) rest += part.text;
      string = part.ends ? 0 : string + part.text.length;
    } else rest += part.text;
  }
  try {
    return { film: false, value: JSON.parse(rest) as T };
  } catch {
    return { film: false, value: undefined };
  }
}

/** The film in an answer, decoded piece by piece. Errors when the answer breaks off within it, or has none. */
export function filmIn(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const pieces = decoded(body);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return();
    },
  });
}

async function* decoded(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let carry = "";
  let isFilm = false;
  for await (const part of partsOf(body)) {
    if (part === film) isFilm = true;
    else if (isFilm && part.kind === "string") {
      const text = carry + decodeString(part.text);
      const whole = part.ends ? text.length : text.length - (text.length % 4);
      carry = text.slice(whole);
      if (whole > 0) yield toBytes(text.slice(0, whole));
      if (part.ends) return;
    }
  }
  throw new ProviderError(isFilm ? "the film broke off" : "there is no film any more", { retryable: true });
}

function toBytes(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text);
  } catch (cause) {
    throw new ProviderError("the film is not base64", { retryable: true, cause });
  }
}

/** Stands before the parts of a string that is a film. */
const film = Symbol("film");

/** The parts of an answer. The start of each string comes in one part, long enough to tell whether it is a film. */
async function* partsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<JsonPart | typeof film, void> {
  const scanner = new JsonScanner(maxDepth);
  let head = "";
  let isStart = true;
  try {
    for await (const text of readText(body, { maxBytes: maxAnswerBytes }))
      for (const part of scanner.parts(text)) {
        if (part.kind !== "string") {
          yield part;
          continue;
        }
        let written = part.text;
        if (isStart) {
          head += written;
          if (head.length < startCharacters && !part.ends) continue;
          written = head;
          head = "";
          if (isFilm(written)) yield film;
        }
        isStart = part.ends;
        yield { ...part, text: written };
      }
  } catch (cause) {
    if (cause instanceof JsonBodyError) throw new ProviderError(`the answer: ${cause.reason}`, { retryable: true, cause });
    throw cause;
  }
}

function isFilm(text: string): boolean {
  if (!/^[A-Za-z0-9+/]{16}/.test(text)) return false;
  const bytes = Uint8Array.fromBase64(text.slice(0, startCharacters));
  return new TextDecoder().decode(bytes.subarray(4, 8)) === "ftyp";
}
