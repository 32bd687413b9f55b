/** Decodes an inline image piece by piece with the same results as `decodeImage`, holding one image in memory. */

import { dataUrlStart, type ImageTextProblem, LONGEST_START, longestText } from "./base64-image.ts";
import { IMAGE_TYPE_BYTES, detectImageType, type ImageType } from "./image-type.ts";

/** Runs of white space in Base64: the characters, the number of characters before them, and how often they repeat. */
export interface Gap {
  after: number;
  text: string;
  times: number;
}

/** The parts of an image's text that its bytes do not contain: with both, the text can be restored. */
export interface Layout {
  /** The text before the Base64. */
  start: string;
  /** Undefined if the white space is too irregular to be stored. */
  gaps: Gap[] | undefined;
}

/** The decoded image or its problem. The bytes are in the reader's buffer, valid until it starts another image. */
export type ImageVerdict = { spelling: "data_uri" | "bare"; layout: Layout } & (
  | { bytes: Uint8Array<ArrayBuffer>; type: ImageType }
  | { problem: ImageTextProblem }
);

const spaces = ["\n", "\r", " ", "\t", "\f"];

/** The maximum stored length of an image's white space; lines of equal length need two entries. */
const KEPT_SPACE = 16_384;

/** How much the reserved buffer may exceed the limit for a text whose decoded bytes do not. */
const ROUNDING = 8;

/** Decodes any number of images one after the other; they share a buffer that grows to the largest. */
export class ImageTextReader {
  readonly #maxBytes: number;
  #buffer = new Uint8Array(0);
  /** The start of the text, until it is long enough to tell a data URL from bare Base64. */
  #head = "";
  #spelling: "data_uri" | "bare" | undefined;
  /** The problem found so far; of two, the one that `decodeImage` would report first. */
  #problem: "not_an_image_url" | "too_large" | "invalid_base64" | undefined;
  #characters = 0;
  #decoded = 0;
  #type: ImageType | undefined;
  /** The Base64 of an incomplete group of four; after the first padding character, all characters except white space. */
  #carry = "";
  #layout: Layout = { start: "", gaps: [] };
  #keptSpace = 0;
  /** Base64 characters since the last white space. */
  #sinceGap = 0;

  /** @param maxBytes limit of a decoded image. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Decodes the next piece of the text. True if all its characters are Base64. */
  push(text: string): boolean {
    if (this.#spelling) return this.#data(text);
    this.#head += text;
    if (this.#head.length >= LONGEST_START) this.#begin();
    return false;
  }

  /** Ends the image and returns the result for the pieces pushed since the previous call. */
  end(): ImageVerdict {
    const spelling = this.#spelling ?? this.#begin();
    this.#decode(this.#carry, "strict");
    const verdict = { spelling, layout: this.#layout, ...this.#verdict() };
    this.#head = this.#carry = "";
    this.#spelling = this.#problem = this.#type = undefined;
    this.#characters = this.#decoded = this.#keptSpace = this.#sinceGap = 0;
    this.#layout = { start: "", gaps: [] };
    return verdict;
  }

  /** Frees the buffer at once; the garbage collector would let the buffers of several bodies accumulate. */
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

  #begin(): "data_uri" | "bare" {
    const start = dataUrlStart.exec(this.#head.slice(0, LONGEST_START))?.[0].length;
    const spelling = start === undefined ? "bare" : "data_uri";
    this.#spelling = spelling;
    if (start === undefined && /^\s*data:/i.test(this.#head.slice(0, LONGEST_START))) this.#problem = "not_an_image_url";
    this.#layout.start = this.#head.slice(0, start ?? 0);
    this.#data(this.#head.slice(start ?? 0));
    this.#head = "";
    return spelling;
  }

  #data(text: string): boolean {
    this.#characters += text.length;
    if (this.#problem !== "not_an_image_url" && this.#characters > longestText(this.#maxBytes)) this.#problem = "too_large";
    if (this.#problem) return false;
    const hasGaps = this.#noteGaps(text);
    // Completes the group from the previous piece first: joining it with a long text would copy the text.
    const cut = this.#carry === "" ? 0 : 4 - this.#carry.length;
    this.#groups(text.slice(0, cut));
    this.#groups(text.slice(cut));
    // Characters carried over to the next piece are not decoded yet.
    return !hasGaps && !this.#problem && /^[\w+/]*$/.test(this.#carry);
  }

  #groups(text: string): void {
    const waiting = this.#carry + text;
    const padding = waiting.indexOf("=");
    // The group with the padding is checked strictly at the end.
    const read = this.#decode(padding === -1 ? waiting : waiting.slice(0, padding), "stop-before-partial");
    this.#carry = waiting.slice(read).replace(/[\t\n\f\r ]+/g, "");
    if (this.#carry.length > 4) this.#problem = "invalid_base64";
  }

  /** Stores the positions of white space. True if there is some. */
  #noteGaps(text: string): boolean {
    let from = 0;
    // Most texts have no white space, and searching for a single character takes a tenth of the time of a character class.
    const hasGaps = spaces.some((space) => text.includes(space));
    if (hasGaps)
      for (const { 0: gap, index } of text.matchAll(/[\t\n\f\r ]+/g)) {
        this.#addGap(this.#sinceGap + index - from, gap);
        this.#sinceGap = 0;
        from = index + gap.length;
      }
    this.#sinceGap += text.length - from;
    return hasGaps;
  }

  #addGap(after: number, text: string): void {
    const { gaps } = this.#layout;
    const last = gaps?.at(-1);
    if (last?.after === after && last.text === text) last.times++;
    else if ((this.#keptSpace += text.length) > KEPT_SPACE) this.#layout.gaps = undefined;
    // A copy: a slice would keep the whole piece in memory.
    else gaps?.push({ after, text: JSON.parse(JSON.stringify(text)) as string, times: 1 });
  }

  /** Decodes behind the existing bytes, or over them if they cannot be an image any more. Returns the number of characters read. */
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

/** The image, or the problem, found at one path of the body. */
export type ExtractedImage = {
  index: number;
  /** The text that replaces the image in the value. A random part keeps senders from writing it themselves. */
  placeholder: string;
  spelling: "data_uri" | "bare";
} & ({ bytes: number; type: ImageType; sha256: string | undefined; layout: Layout } | { problem: ImageTextProblem | "too_many" });
