/** Answers that contain a whole video in Base64: a poll reads them up to the video, a download decodes the video as a stream. */

import { toStream } from "../../base/to-stream.ts";
import { JsonBodyError } from "../../media/json-error.ts";
import { decodeString, type JsonPart, JsonScanner } from "../../media/json-scanner.ts";
import { readText } from "../../media/json-text.ts";
import { largeReads } from "../../media/large-reads.ts";
import { laterFault, toFault } from "../shared/http.ts";
import { type Output, ProviderError } from "../provider.ts";

const maxAnswerBytes = 768 * 1024 * 1024;
const maxDepth = 64;
/** How many characters of each string are kept: enough for a URL. */
const keptCharacters = 16 * 1024;
/** Twelve bytes in base64: the size of the first box, `ftyp`, and a brand, as every MP4 file begins (ISO/IEC 14496-12, 4.3). */
const startCharacters = 16;

/** An answer that contains a video, or the whole parsed answer. */
export type VideoAnswer<T> = { video: true } | { video: false; value: T | undefined };

/** Reads an answer until a video begins in it, or to its end. Throws a retryable fault if it breaks off or is not JSON. */
export async function lookForVideo<T>(body: ReadableStream<Uint8Array>): Promise<VideoAnswer<T>> {
  let rest = "";
  let string = 0;
  for await (const part of readParts(body)) {
    if (part === video) return { video: true };
    if (part.kind === "string") {
      if (string + part.text.length <= keptCharacters) rest += part.text;
      string = part.ends ? 0 : string + part.text.length;
    } else rest += part.text;
  }
  try {
    return { video: false, value: JSON.parse(rest) as T };
  } catch (cause) {
    throw new ProviderError("unreachable", "poll: the answer is not JSON", { cause });
  }
}

/** Decodes the video in an answer as a stream. The stream fails if the answer breaks off or contains no video. */
export const videoIn = (body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> => toStream(decoded(body));

async function* decoded(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let carry = "";
  let isVideo = false;
  for await (const part of readParts(body)) {
    if (part === video) isVideo = true;
    else if (isVideo && part.kind === "string") {
      const text = carry + decodeString(part.text);
      const whole = part.ends ? text.length : text.length - (text.length % 4);
      carry = text.slice(whole);
      if (whole > 0) yield toBytes(text.slice(0, whole));
      if (part.ends) return;
    }
  }
  throw new ProviderError("unreachable", isVideo ? "the video broke off" : "the answer holds no video");
}

function toBytes(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text);
  } catch (cause) {
    throw new ProviderError("unreachable", "the video is not base64", { cause });
  }
}

/** True if the next string is a video. */
const video = Symbol("video");

/** The parts of an answer. The start of each string is one part, long enough to detect a video. */
async function* readParts(body: ReadableStream<Uint8Array>): AsyncGenerator<JsonPart | typeof video, void> {
  const scanner = new JsonScanner(maxDepth);
  let head = "";
  let isStart = true;
  try {
    for await (const text of readText(largeReads(body), { maxBytes: maxAnswerBytes }))
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
          if (isVideo(written)) yield video;
        }
        isStart = part.ends;
        yield { ...part, text: written };
      }
  } catch (cause) {
    if (cause instanceof JsonBodyError) throw new ProviderError("unreachable", `the answer: ${cause.reason}`, { cause });
    throw cause;
  }
}

function isVideo(text: string): boolean {
  if (!/^[A-Za-z0-9+/]{16}/.test(text)) return false;
  const bytes = Uint8Array.fromBase64(text.slice(0, startCharacters));
  return new TextDecoder().decode(bytes.subarray(4, 8)) === "ftyp";
}

/** A video that is only in the answer to a poll: opening it polls again. */
export const polledVideo = (poll: () => Promise<Response>): Output => ({
  async open() {
    const response = await poll();
    if (response.ok && response.body) return { body: videoIn(response.body) };
    await response.body?.cancel();
    throw laterFault(toFault(response, "output"));
  },
});
