/** Reads a JSON body as a stream: stores its large images one at a time and parses the rest. */

import { sha256Hex } from "../base/ids.ts";
import type { ImageType } from "./image-type.ts";
import { JsonBodyError } from "./json-error.ts";
import { ImageTextReader, type ExtractedImage } from "./json-image.ts";
import { decodeString, type JsonPath, JsonScanner } from "./json-scanner.ts";
import { type ReadOptions, readText } from "./json-text.ts";
import type { RunningDigest } from "./running-digest.ts";

/** An image that was decoded out of a body. */
export interface InlineImage {
  /** Valid until `store` resolves; the next image reuses the memory. */
  bytes: Uint8Array<ArrayBuffer>;
  type: ImageType;
  /** Position among the images of the body, from 0. */
  index: number;
}

export interface SkeletonOptions extends ReadOptions {
  /** Limit of the body without its images, in bytes. */
  maxSkeletonBytes: number;
  /** Limit of one decoded image, in bytes. */
  maxImageBytes: number;
  /** Number of images that are stored; later ones get the problem `too_many`. */
  maxImages: number;
  /** Maximum nesting of objects and arrays. */
  maxDepth: number;
  /** Whether an image is allowed at this path. Called for long strings only. */
  isImageAt: (path: JsonPath) => boolean;
  /** Stores an image. Reading continues after it resolves; an error that it throws ends the reading. */
  store: (image: InlineImage) => Promise<void>;
  /** Whether the images' bytes are hashed. */
  hashesImages?: boolean;
  /** Receives the body's text, for the digest of the whole body. */
  digest?: RunningDigest | undefined;
}

export interface JsonSkeleton {
  /** The parsed body with a placeholder for each image. */
  value: unknown;
  /** In the order of the text. If the value does not contain a placeholder, a later field of the same name has replaced it. */
  images: ExtractedImage[];
}

/** Strings up to this many written characters stay in the JSON. Large enough to hold the start of an image's text in its longest escaped form. */
const SHORT_STRING = 2048;

/**
 * Reads a body to its end. The result does not depend on how the body is cut into chunks, and equals that of `JSON.parse` when there is no
 * long image. URLs never count as images. When this rejects, no `store` is running any more.
 *
 * @throws JsonBodyError, or what `store` throws.
 */
export async function readJsonSkeleton(body: AsyncIterable<Uint8Array>, options: SkeletonOptions): Promise<JsonSkeleton> {
  const nonce = crypto.randomUUID();
  const scanner = new JsonScanner(options.maxDepth);
  const skeleton = new Skeleton(options.maxSkeletonBytes);
  const reader = new ImageTextReader(options.maxImageBytes);
  const images: ExtractedImage[] = [];
  const { digest } = options;
  let placeholder = "";
  let stored = 0;
  /** The start, as written, of a string that may still turn out short. */
  let head = "";
  let state: "undecided" | "kept" | "extracted" = "undecided";

  try {
    for await (const text of readText(body, options)) {
      for (const part of scanner.parts(text)) {
        if (part.kind !== "string") {
          skeleton.add(part.text);
          continue;
        }
        let written = part.text;
        if (state === "undecided") {
          head += written;
          if (head.length <= SHORT_STRING && !part.ends) continue;
          written = head;
          head = "";
          state = written.length > SHORT_STRING && options.isImageAt(scanner.path) && !isUrl(decodeString(written)) ? "extracted" : "kept";
          if (state === "extracted") await begin();
        }
        if (state === "kept") skeleton.add(written);
        else await push(written);
        if (!part.ends) continue;
        if (state === "extracted") await extract();
        state = "undecided";
      }
      skeleton.settle(text.length);
    }
    return { value: skeleton.parse(), images };
  } finally {
    reader.free();
  }

  async function begin(): Promise<void> {
    placeholder = `image:${nonce}:${images.length}`;
    skeleton.add(placeholder);
    const closing = scanner.path.toReversed().map((at) => (typeof at === "number" ? "]" : "}"));
    if (images.length < options.maxImages) await digest?.begin(`${skeleton.text()}"${closing.join("")}`, placeholder);
    else digest?.lose();
  }

  async function push(written: string): Promise<void> {
    const text = written.includes("\\") ? decodeString(written) : written;
    const isBase64 = reader.push(text);
    // Base64 has no control characters, which JSON's own parser refuses.
    if (text === written && !isBase64) decodeString(written);
    await digest?.add(text === written ? text : JSON.stringify(text).slice(1, -1));
  }

  async function extract(): Promise<void> {
    const index = images.length;
    const { spelling, layout, ...verdict } = reader.end();
    const extracted = { index, placeholder, spelling };
    if ("problem" in verdict) {
      digest?.lose(); // its text may contain a character that is split between two pieces
      images.push({ ...extracted, problem: verdict.problem });
    } else if (stored === options.maxImages) images.push({ ...extracted, problem: "too_many" });
    else {
      const { bytes, type } = verdict;
      const sha256 = options.hashesImages ? await sha256Hex(bytes) : undefined;
      images.push({ ...extracted, bytes: bytes.length, type, sha256, layout });
      stored++;
      await options.store({ bytes, type, index });
    }
  }
}

/** Long URLs are rare and stay in the JSON. Looks only at a fixed number of characters, so that chunk borders do not matter. */
const isUrl = (text: string) => /^\s*https?:/i.test(text.slice(0, SHORT_STRING / 8));

const SETTLE_CHARACTERS = 64 * 1024;

/** The JSON without its images, copied out of the pieces of the body: a slice of a string keeps the whole string in memory. */
class Skeleton {
  readonly #maxBytes: number;
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #text = "";
  #bytes = 0;
  #fresh = "";
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(text: string): void {
    this.#fresh += text;
  }

  /** Called after each piece of the body; copies the collected text when there is enough of it. */
  settle(length: number): void {
    this.#held += length;
    if (this.#held >= SETTLE_CHARACTERS) this.#flush();
  }

  #flush(): void {
    const bytes = this.#encoder.encode(this.#fresh);
    this.#text += this.#decoder.decode(bytes);
    this.#bytes += bytes.length;
    this.#held = 0;
    this.#fresh = "";
    if (this.#bytes > this.#maxBytes) throw new JsonBodyError("too_large");
  }

  text(): string {
    this.#flush();
    return this.#text;
  }

  parse(): unknown {
    const text = this.text();
    this.#text = ""; // freed, because the parsed value needs as much memory
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new JsonBodyError("not_json", { cause });
    }
  }
}
