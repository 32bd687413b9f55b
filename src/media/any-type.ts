/** Detects the type of any file that an upstream may make, from its first bytes. */

import { detectImageType, type ImageType } from "./image-type.ts";
import { fourLetters } from "./iso-boxes.ts";

/** A type, and the ending of names of such files. */
export interface AnyType {
  type: string;
  extension: string;
}

const images: Record<ImageType, string> = { "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp" };

/** First four letters of a file -> its type. RIFF and `ftyp` files say more behind them. */
const byLetters: Record<string, [type: string, extension: string]> = {
  GIF8: ["image/gif", "gif"],
  OggS: ["audio/ogg", "ogg"],
  fLaC: ["audio/flac", "flac"],
  glTF: ["model/gltf-binary", "glb"],
  "PK\u0003\u0004": ["application/zip", "zip"],
  "%PDF": ["application/pdf", "pdf"],
};

/** ISO files by their main brand: audio, AVIF images, QuickTime; every other one is taken for MP4. */
const byBrand: Record<string, [type: string, extension: string]> = {
  "M4A ": ["audio/mp4", "m4a"],
  "M4B ": ["audio/mp4", "m4a"],
  avif: ["image/avif", "avif"],
  "qt  ": ["video/quicktime", "mov"],
};

/** Every type that this file names. */
export const anyTypes = (): string[] => [
  ...new Set([
    ...Object.keys(images),
    ...[...Object.values(byLetters), ...Object.values(byBrand)].map(([type]) => type),
    ...framed,
    "application/octet-stream",
  ]),
];
const framed = ["video/mp4", "video/webm", "audio/wav", "audio/mpeg", "audio/aac"];

/** Endings of names that are kept for files whose bytes do not tell what they are: none that a browser would run. */
const plainExtensions = /\.(obj|ply|stl|fbx|usdz|mtl|srt|vtt|txt|csv|json|npz|safetensors|splat|mid|aac)$/i;

/**
 * The type by the first bytes. `application/octet-stream` for everything else, whatever it is called: a page or a drawing with a script
 * must not be shown by a browser on the gateway's host.
 */
export function detectAnyType(bytes: Uint8Array, name = ""): AnyType {
  const image = detectImageType(bytes);
  if (image) return { type: image, extension: images[image] };
  const found = bytes.length >= 4 ? (byLetters[fourLetters(bytes, 0)] ?? ofContainer(bytes) ?? ofFrames(bytes)) : undefined;
  if (found) return { type: found[0], extension: found[1] };
  return { type: "application/octet-stream", extension: plainExtensions.exec(name)?.[1]?.toLowerCase() ?? "bin" };
}

function ofContainer(bytes: Uint8Array): [string, string] | undefined {
  if (bytes.length < 12) return undefined;
  if (fourLetters(bytes, 4) === "ftyp") return byBrand[fourLetters(bytes, 8)] ?? ["video/mp4", "mp4"];
  return fourLetters(bytes, 0) === "RIFF" && fourLetters(bytes, 8) === "WAVE" ? ["audio/wav", "wav"] : undefined;
}

/** MP3 by its tag or its first frame (ISO/IEC 11172-3, layer III), and AAC in ADTS frames (ISO/IEC 13818-7). */
function ofFrames([first = 0, second = 0, third = 0]: Uint8Array): [string, string] | undefined {
  if (first === 0x49 && second === 0x44 && third === 0x33) return ["audio/mpeg", "mp3"];
  if (first === 0x1a && second === 0x45) return ["video/webm", "webm"];
  if (first !== 0xff) return undefined;
  if ((second & 0xf6) === 0xf0) return ["audio/aac", "aac"];
  return (second & 0xe6) === 0xe2 ? ["audio/mpeg", "mp3"] : undefined;
}
