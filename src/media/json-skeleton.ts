/** Reads a JSON body as a stream: large images in it go out one at a time, the small rest is parsed. */

import type { ImageTextProblem } from "./base64-image.ts";
import type { ImageType } from "./image-type.ts";
import { JsonBodyError } from "./json-error.ts";
import { ImageTextReader } from "./json-image.ts";
import { decodeString, type JsonPath, JsonScanner } from "./json-scanner.ts";
import { readText } from "./json-text.ts";

/** An image on its way out of a body. */
export interface InlineImage {
  /** Good until `store` is done: the next image takes the same memory. */
  bytes: Uint8Array<ArrayBuffer>;
  type: ImageType;
  /** Its number among all that were taken out of the body. */
  index: number;
}

export interface SkeletonOptions {
  /** Of the whole body. */
  maxBytes: number;
  /** Of what remains without the images. */
  maxSkeletonBytes: number;
  /** Of one image, decoded. */
  maxImageBytes: number;
  /** As many are stored; what comes after them is `too_many`. */
  maxImages: number;
  /** How deep objects and arrays may be nested. */
  maxDepth: number;
  /** Whether an image may stand at a place. Asked for long strings alone. */
  isImageAt: (path: JsonPath) => boolean;
  /** Takes an image. The body is not read on before it is done; what it throws ends the reading. */
  store: (image: InlineImage) => Promise<void>;
}

/** What was taken out of the body at one place. */
export type ExtractedImage = {
  index: number;
  /** What stands in the value instead. No sender can write it, since a part of it is random. */
  placeholder: string;
  spelling: "data_uri" | "bare";
} & ({ bytes: number; type: ImageType; sha256: string } | { problem: ImageTextProblem | "too_many" });

export interface JsonSkeleton {
  /** The body, a placeholder in the place of each image. */
  value: unknown;
  /** In the order of the text. One whose placeholder is not in the value was overwritten by a later field of the same name. */
  images: ExtractedImage[];
}

/** A string stays where it is up to this many characters as written: the start of an image's text has to be in it, escaped in the longest way. */
const SHORT_STRING = 2048;

/**
 * Reads a body to its end. Every body gets the same answer however it is cut into chunks, and the answer of `JSON.parse` when it has no
 * long image in it. URLs are no images, however long. When this rejects, no `store` is running any more.
 *
 * @throws JsonBodyError, or what `store` throws.
 */
export async function readJsonSkeleton(body: ReadableStream<Uint8Array>, options: SkeletonOptions): Promise<JsonSkeleton> {
  const nonce = crypto.randomUUID();
  const scanner = new JsonScanner(options.maxDepth);
  const skeleton = new Skeleton(options.maxSkeletonBytes);
  const reader = new ImageTextReader(options.maxImageBytes);
  const images: ExtractedImage[] = [];
  let stored = 0;
  /** The start of a string that is still short, as written. */
  let head = "";
  let state: "undecided" | "kept" | "extracted" = "undecided";

  try {
    for await (const text of readText(body, options.maxBytes)) {
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
        }
        if (state === "kept") skeleton.add(written);
        else reader.push(decodeString(written));
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

  async function extract(): Promise<void> {
    const index = images.length;
    const placeholder = `image:${nonce}:${index}`;
    skeleton.add(placeholder);
    const { spelling, ...verdict } = reader.end();
    const extracted = { index, placeholder, spelling };
    if ("problem" in verdict) images.push({ ...extracted, problem: verdict.problem });
    else if (stored === options.maxImages) images.push({ ...extracted, problem: "too_many" });
    else {
      const { bytes, type } = verdict;
      const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
      images.push({ ...extracted, bytes: bytes.length, type, sha256 });
      stored++;
      await options.store({ bytes, type, index });
    }
  }
}

/** Long ones are rare, and go the way of all URLs. What is looked at does not depend on how much of the text is here. */
const isUrl = (text: string) => /^\s*https?:/i.test(text.slice(0, SHORT_STRING / 8));

const SETTLE_CHARACTERS = 64 * 1024;

/** The text that remains. It is kept as bytes: a slice of a string would keep the whole piece that it was cut from. */
class Skeleton {
  readonly #maxBytes: number;
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;
  #fresh = "";
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(text: string): void {
    this.#fresh += text;
  }

  /** After each piece of the body: lets go of it when enough has come together. */
  settle(length: number): void {
    this.#held += length;
    if (this.#held >= SETTLE_CHARACTERS) this.#flush();
  }

  #flush(): void {
    const bytes = new TextEncoder().encode(this.#fresh);
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    this.#held = 0;
    this.#fresh = "";
    if (this.#bytes > this.#maxBytes) throw new JsonBodyError("too_large");
  }

  parse(): unknown {
    this.#flush();
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    try {
      return JSON.parse(this.#parts.map((part) => decoder.decode(part)).join(""));
    } catch (cause) {
      throw new JsonBodyError("not_json", { cause });
    }
  }
}
