/** Decodes an image given as text: a data URL or bare Base64. */

import { detectImageType, type ImageType } from "./image-type.ts";

/**
 * - `not_an_image_url` neither `data:image/...;base64,` nor, where allowed, text without `data:`
 * - `empty` no data
 * - `too_large` more than `maxBytes` after decoding
 * - `invalid_base64` a character outside the standard alphabet, a missing `=`, bits left over
 * - `unsupported_format` decoded, but not PNG, JPEG or WebP
 */
export type ImageTextProblem = "not_an_image_url" | "empty" | "too_large" | "invalid_base64" | "unsupported_format";

export interface DecodedImage {
  bytes: Uint8Array<ArrayBuffer>;
  /** Detected from the first bytes; the label of a data URL is ignored. */
  type: ImageType;
}

// RFC 2397, images in Base64 only. Parameters other than `base64` are accepted and ignored.
export const dataUrlStart = /^data:image\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]*)*;base64,/i;
export const LONGEST_START = 256;

/**
 * Decodes an image from text. The standard Base64 alphabet with its padding is required; white space is skipped, since tools break lines.
 * Text that is too long is refused before anything is decoded.
 *
 * @param options.allowBare whether Base64 without `data:...,` in front is accepted.
 * @param options.maxBytes limit of the decoded image.
 */
export function decodeImage(text: string, options: { allowBare: boolean; maxBytes: number }): DecodedImage | { problem: ImageTextProblem } {
  const start = dataUrlStart.exec(text.slice(0, LONGEST_START))?.[0].length ?? (options.allowBare ? 0 : undefined);
  if (start === undefined || (start === 0 && /^\s*data:/i.test(text.slice(0, LONGEST_START)))) return { problem: "not_an_image_url" };
  if (text.length - start > longestText(options.maxBytes)) return { problem: "too_large" };
  const bytes = decode(text.slice(start));
  if (!bytes) return { problem: "invalid_base64" };
  if (bytes.length === 0) return { problem: "empty" };
  if (bytes.length > options.maxBytes) return { problem: "too_large" };
  const type = detectImageType(bytes);
  return type ? { bytes, type } : { problem: "unsupported_format" };
}

/** Four characters for three bytes, and a line break of two after every 76 (MIME, RFC 2045), at most that much white space. */
export const longestText = (bytes: number) => {
  const characters = Math.ceil(bytes / 3) * 4;
  return characters + 2 * Math.ceil(characters / 76);
};

function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
