/** Detects the type of a caller's file from its first bytes: images, videos, and JSON lines. */

import { detectImageType, type ImageType } from "./image-type.ts";
import { fourLetters } from "./iso-boxes.ts";

export type FileType = ImageType | "video/mp4" | "video/quicktime" | "application/jsonl";

/** How many bytes from the start `detectFileType` reads. */
export const FILE_TYPE_BYTES = 64;

/**
 * The type by the first bytes: an image's signature, a first box `ftyp` (ISO/IEC 14496-12, 4.3; brand `qt  ` is QuickTime), or the brace of a
 * JSON object, after a byte order mark or white space. undefined for everything else.
 */
export function detectFileType(bytes: Uint8Array): FileType | undefined {
  const image = detectImageType(bytes);
  if (image) return image;
  if (bytes.length >= 12 && fourLetters(bytes, 4) === "ftyp") return fourLetters(bytes, 8) === "qt  " ? "video/quicktime" : "video/mp4";
  return /^\uFEFF?[ \t\r\n]*\{/.test(new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes.subarray(0, FILE_TYPE_BYTES)))
    ? "application/jsonl"
    : undefined;
}
