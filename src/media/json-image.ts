/** Reads an inline image piece by piece, with the verdicts of `decodeImage` and never more than one image in memory. */

import type { ImageTextProblem } from "./base64-image.ts";
import { IMAGE_TYPE_BYTES, detectImageType } from "./image-type.ts";
import type { ImageType } from "./image-type.ts";

/** What a text turned out to be. The bytes are the reader's own buffer, good until it begins another image. */
export type ImageVerdict = { spelling: "data_uri" | "bare" } & (
  | { bytes: Uint8Array<ArrayBuffer>; type: ImageType }
  | { problem: ImageTextProblem }
);

// Both as `decodeImage` has them.
const dataUrlStart = /^data:image\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]*)*;base64,/i;
const LONGEST_START = 256;
const longestText = (bytes: number) => {
  const characters = Math.ceil(bytes / 3) * 4;
  return characters + 2 * Math.ceil(characters / 76);
};

/** By so much the room reserved for a text may exceed the limit although its bytes do not. */
const ROUNDING = 8;

/** One after the other, any number of images; they share one buffer, which grows to the largest. */
export class ImageTextReader {
  readonly #maxBytes: number;
  #buffer = new Uint8Array(0);
  /** The text's start, while it is too short to tell how the image is spelled. */
  #head = "";
  #spelling: "data_uri" | "bare" | undefined;
  /** Found on the way. Of two, the one that `decodeImage` would meet first remains. */
  #problem: "not_an_image_url" | "too_large" | "invalid_base64" | undefined;
  #characters = 0;
  #decoded = 0;
  #type: ImageType | undefined;
  /** Base64 that waits for the rest of its group of four; from the first padding on, all that follows but white space. */
  #carry = "";

  /** @param maxBytes limit of a decoded image. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes the next piece of the text. */
  push(text: string): void {
    if (this.#spelling) return this.#data(text);
    this.#head += text;
    if (this.#head.length >= LONGEST_START) this.#begin();
  }

  /** The verdict on what was pushed since the last one. */
  end(): ImageVerdict {
    if (!this.#spelling) this.#begin();
    this.#decode(this.#carry, "strict");
    const verdict = { spelling: this.#spelling!, ...this.#verdict() };
    this.#head = this.#carry = "";
    this.#spelling = this.#problem = this.#type = undefined;
    this.#characters = this.#decoded = 0;
    return verdict;
  }

  /** Gives the memory back at once. The garbage collector would let that of several bodies come together. */
  free(): void {
    this.#buffer.buffer.transfer(0);
    this.#buffer = new Uint8Array(0);
  }

  #verdict() {
    if (this.#problem) return { problem: this.#problem };
    if (this.#decoded === 0) return { problem: "empty" as const };
    if (this.#decoded > this.#maxBytes) return { problem: "too_large" as const };
    const bytes = this.#buffer.subarray(0, this.#decoded);
    const type = this.#decoded < IMAGE_TYPE_BYTES ? detectImageType(bytes) : this.#type;
    return type ? { bytes, type } : { problem: "unsupported_format" as const };
  }

  #begin(): void {
    const start = dataUrlStart.exec(this.#head.slice(0, LONGEST_START))?.[0].length;
    this.#spelling = start === undefined ? "bare" : "data_uri";
    if (start === undefined && /^\s*data:/i.test(this.#head.slice(0, LONGEST_START))) this.#problem = "not_an_image_url";
    this.#data(this.#head.slice(start ?? 0));
    this.#head = "";
  }

  #data(text: string): void {
    this.#characters += text.length;
    if (this.#problem !== "not_an_image_url" && this.#characters > longestText(this.#maxBytes)) this.#problem = "too_large";
    if (this.#problem) return;
    const waiting = this.#carry + text;
    const padding = waiting.indexOf("=");
    // The group with the padding waits for the end, where it is checked strictly.
    const read = this.#decode(padding === -1 ? waiting : waiting.slice(0, padding), "stop-before-partial");
    this.#carry = waiting.slice(read).replace(/[\t\n\f\r ]+/g, "");
    if (this.#carry.length > 4) this.#problem = "invalid_base64";
  }

  /** Decodes to behind what is there already, or over it, when that can be no image any more. Gives the characters read. */
  #decode(text: string, lastChunkHandling: "strict" | "stop-before-partial"): number {
    if (this.#problem) return text.length;
    const isWanted = this.#decoded < IMAGE_TYPE_BYTES || (this.#type !== undefined && this.#decoded <= this.#maxBytes);
    const at = isWanted ? this.#decoded : 0;
    this.#reserve(at + Math.ceil(text.length / 4) * 3);
    try {
      const { read, written } = this.#buffer.subarray(at).setFromBase64(text, { lastChunkHandling });
      this.#decoded += written;
      if (isWanted && this.#decoded >= IMAGE_TYPE_BYTES) this.#type ??= detectImageType(this.#buffer);
      return read;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.#problem = "invalid_base64";
      return text.length;
    }
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#buffer.length) return;
    const doubled = Math.min(2 * this.#buffer.length, this.#maxBytes + ROUNDING);
    this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(Math.max(bytes, doubled)));
  }
}
