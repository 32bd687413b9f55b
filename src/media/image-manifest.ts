/** Where a C2PA manifest is placed in a PNG, JPEG or WebP file, and the hash that it is bound to. C2PA 2.2, appendix A. */

import { crc32 } from "../base/crc32.ts";
import type { FileBinding } from "./file-binding.ts";
import type { ImageType } from "./image-type.ts";
import { fourLetters, toDataView } from "./iso-boxes.ts";

/** The length of every manifest in an image: it is hashed around before it exists. A manifest with a chain of two certificates takes 3 to 4 KB. */
export const imageManifestBytes = 8 * 1024;

export interface Placement {
  binding: FileBinding & { kind: "data" };
  /** The signed file in pieces, with a manifest of `imageManifestBytes`. */
  place(manifest: Uint8Array): Uint8Array[];
}

/** Prepares an image for a manifest; undefined if its structure is not as its format demands. The bytes remain as they are. */
export async function prepareImage(bytes: Uint8Array, type: ImageType): Promise<Placement | undefined> {
  const place = places[type](bytes);
  if (!place) return undefined;
  const { at, wrap, head = new Uint8Array() } = place;
  const digest = new crypto.DigestStream("SHA-256");
  const hash = digest.getWriter();
  const before = [head, bytes.subarray(head.length, at)];
  const after = bytes.subarray(at);
  for (const part of [...before, after]) await hash.write(part);
  await hash.close();
  const { length } = wrap(new Uint8Array(imageManifestBytes));
  return {
    binding: { kind: "data", hash: new Uint8Array(await digest.digest), exclusion: { start: at, length } },
    place: (manifest) => [...before, wrap(manifest), after],
  };
}

/** Where the manifest goes, and what goes around it. */
interface Place {
  at: number;
  wrap: (manifest: Uint8Array) => Uint8Array;
  /** Replaces as many bytes at the start of the file. */
  head?: Uint8Array;
}

const places: Record<ImageType, (bytes: Uint8Array) => Place | undefined> = {
  "image/png": inPng,
  "image/jpeg": inJpeg,
  "image/webp": inWebp,
};

/** Behind the signature and the first chunk, which is IHDR with 13 bytes. */
function inPng(bytes: Uint8Array): Place | undefined {
  const at = 8 + 12 + 13;
  if (bytes.length < at || fourLetters(bytes, 12) !== "IHDR" || toDataView(bytes).getUint32(8) !== 13) return undefined;
  const wrap = (manifest: Uint8Array) => {
    const chunk = new Uint8Array(manifest.length + 12);
    const view = toDataView(chunk);
    view.setUint32(0, manifest.length);
    chunk.set(toLetters("caBX"), 4);
    chunk.set(manifest, 8);
    view.setUint32(8 + manifest.length, crc32(chunk.subarray(4, 8 + manifest.length)));
    return chunk;
  };
  return { at, wrap };
}

/** Behind the segments APP0 and APP1 at the start, whose readers want them there (JFIF, Exif). */
function inJpeg(bytes: Uint8Array): Place | undefined {
  const view = toDataView(bytes);
  let at = 2;
  while (at + 4 <= bytes.length && (view.getUint16(at) === 0xffe0 || view.getUint16(at) === 0xffe1)) at += 2 + view.getUint16(at + 2);
  if (at + 2 > bytes.length || bytes[at] !== 0xff) return undefined;
  // APP11, length, common identifier `JP`, box instance 1, packet 1 (ISO/IEC 19566-5, D.2); a manifest of 8 KB fits into one segment.
  const wrap = (manifest: Uint8Array) => {
    const segment = new Uint8Array(manifest.length + 12);
    segment.set([0xff, 0xeb, 0, 0, 0x4a, 0x50, 0, 1, 0, 0, 0, 1]);
    toDataView(segment).setUint16(2, segment.length - 2);
    segment.set(manifest, 12);
    return segment;
  };
  return { at, wrap };
}

/** At the end; the file's size in the head includes it. */
function inWebp(bytes: Uint8Array): Place | undefined {
  const view = toDataView(bytes);
  if (bytes.length < 20 || bytes.length % 2 > 0 || view.getUint32(4, true) !== bytes.length - 8) return undefined;
  const wrap = (manifest: Uint8Array) => {
    const chunk = new Uint8Array(manifest.length + 8);
    chunk.set(toLetters("C2PA"));
    toDataView(chunk).setUint32(4, manifest.length, true);
    chunk.set(manifest, 8);
    return chunk;
  };
  const head = bytes.slice(0, 12);
  toDataView(head).setUint32(4, bytes.length + imageManifestBytes, true);
  return { at: bytes.length, wrap, head };
}

const toLetters = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
