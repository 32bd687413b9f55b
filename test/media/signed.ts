/** Files of tests: with a C2PA manifest, as makers sign theirs, or with a name in them. */

import { jpeg, png, webps } from "./images.ts";

export type SignedType = "png" | "jpeg" | "webp" | "mp4";

const text = (letters: string) => Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
const hex = (digits: string) => Uint8Array.from(digits.match(/../g)!, (pair) => Number.parseInt(pair, 16));
export const uint32 = (value: number, isLittleEndian = false) => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, isLittleEndian);
  return bytes;
};
/** The parts one after the other: bytes, or Latin letters. */
export function joined(...parts: (Uint8Array | string | number[])[]): Uint8Array<ArrayBuffer> {
  const pieces = parts.map((part) => (typeof part === "string" ? text(part) : part));
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** In place of a manifest's content: every byte value, several times, so that any change of the file is noticed. */
const content = Uint8Array.from({ length: 4_096 }, (_, at) => (at * 7 + (at >> 8)) & 255);
/** A box of ISO base media files, also of JUMBF. */
export const box = (type: string, ...parts: (Uint8Array | string)[]) => {
  const body = joined(...parts);
  return joined(uint32(body.length + 8), type, body);
};
/** The description of a manifest store: C2PA's type, "requestable and labelled", the label (C2PA 2.2, 11.1.4.2). */
const description = box("jumd", hex("6332706100110010800000aa00389b7103"), "c2pa\0");
const manifest = box("jumb", description, content);

/** CRC-32 of a PNG's chunk (https://www.w3.org/TR/png-3/#5CRC-algorithm). */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0);
  }
  return ~crc >>> 0;
}

/** A PNG with another chunk after its header. */
function withChunk(plain: Uint8Array, type: string, data: Uint8Array | string) {
  const content = joined(type, data);
  const afterHeader = 33; // the signature, and IHDR with its length and checksum
  return joined(plain.subarray(0, afterHeader), uint32(content.length - 4), content, uint32(crc32(content)), plain.subarray(afterHeader));
}

/** The file with a name in it: as in reality, no two files of tasks have the same bytes. */
export const named = {
  png: (plain: Uint8Array, name: string) => withChunk(plain, "tEXt", `Name\0${name}`),
  mp4: (plain: Uint8Array, name: string) => joined(plain, box("free", name)),
};

/** A chunk `caBX` (C2PA 2.2, appendix A.3). */
const signPng = (plain: Uint8Array, store = manifest) => withChunk(plain, "caBX", store);

/** A segment APP11 after the start of the image: `JP`, the box's number and packet, the manifest. */
function signJpeg(plain: Uint8Array, store = manifest) {
  const segment = joined("JP", [0, 1], uint32(1), store);
  const length = segment.length + 2;
  return joined(plain.subarray(0, 2), [0xff, 0xeb, length >> 8, length & 255], segment, plain.subarray(2));
}

/** A chunk `C2PA` at the end, counted in the size of the RIFF file. */
function signWebp(plain: Uint8Array, store = manifest) {
  const whole = joined(plain, "C2PA", uint32(store.length, true), store, new Uint8Array(store.length % 2));
  whole.set(uint32(whole.length - 8, true), 4);
  return whole;
}

/** A box `uuid` with C2PA's id, version, purpose and an offset (A.5), at the end, so that the offsets of the samples stay right. */
const signMp4 = (plain: Uint8Array, store = manifest) =>
  joined(plain, box("uuid", hex("d8fec3d61b0e483c92975828877ec481"), uint32(0), "manifest\0", new Uint8Array(8), store));

/** The smallest real images with a manifest, and this video with one; the manifest's content is made up where none is given. */
export const signed = {
  png: (_?: unknown, store?: Uint8Array<ArrayBuffer>) => signPng(png, store),
  jpeg: (_?: unknown, store?: Uint8Array<ArrayBuffer>) => signJpeg(jpeg, store),
  webp: (_?: unknown, store?: Uint8Array<ArrayBuffer>) => signWebp(webps[2]!, store),
  mp4: signMp4,
};
