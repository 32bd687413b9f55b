/** Decodes a file given as a data URI: an image, a video, audio or a 3D model. */

import { detectAnyType } from "./any-type.ts";

/** RFC 2397 in Base64; the label is not read, because the bytes tell what the file is. */
const start = /^\s*data:[\w.+/-]*(?:;[\w.+-]+=[\w.+-]*)*;base64,/i;

/** The bytes and their type; undefined for other texts and for files that are none of these. */
export function decodeDataUri(text: string, maxBytes: number): { bytes: Uint8Array<ArrayBuffer>; type: string } | "too_large" | undefined {
  const begin = start.exec(text.slice(0, 256))?.[0].length;
  if (begin === undefined) return undefined;
  if (((text.length - begin) / 4) * 3 > maxBytes + 3) return "too_large";
  try {
    const bytes = Uint8Array.fromBase64(text.slice(begin), { lastChunkHandling: "strict" });
    const { type } = detectAnyType(bytes);
    return /^(?:image|video|audio|model)\//.test(type) ? { bytes, type } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
