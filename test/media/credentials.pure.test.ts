/** The search for a manifest in files that arrive in pieces: every format, every split, and files that are made to mislead or to be slow. */

import { expect, test } from "vitest";
import { credentialReader } from "../../src/media/credentials.ts";
import { jpeg, png, webps } from "./images.ts";
import { box, joined, signed, type SignedType, uint32 } from "./signed.ts";

const media = { png: "image/png", jpeg: "image/jpeg", webp: "image/webp", mp4: "video/mp4" };
const types = Object.keys(media) as SignedType[];
/** The signed file of this type. The video is only its outer boxes. */
const signedFile = (type: SignedType) => signed[type](joined(box("ftyp", "isom"), box("mdat", new Uint8Array(500)), box("moov", "")));

/** Whether a manifest is found when the file arrives in pieces of this size. */
function search(type: string, bytes: Uint8Array, pieceBytes = bytes.length || 1): boolean {
  const reader = credentialReader(type);
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.push(bytes.slice(at, at + pieceBytes));
  return reader.found;
}

/** The same bytes, many times. */
const times = (count: number, part: Uint8Array) => joined(...Array<Uint8Array>(count).fill(part));
/** Where the manifest begins: at the type of its box. */
const manifestAt = (file: Uint8Array) => file.findIndex((_, at) => String.fromCharCode(...file.subarray(at, at + 4)) === "jumb");

test.each(types)("a signed %s is found, however it is cut into pieces", (type) => {
  const file = signedFile(type);
  for (const size of [1, 2, 3, 5, 7, 8, 13, 31, 33, 64, 1_000, file.length]) expect(search(media[type], file, size), `${size}`).toBe(true);
});

test.each(types)("the reader says where the manifest of a signed %s is, however it is cut into pieces", (type) => {
  const file = signedFile(type);
  const start = manifestAt(file) - 4;
  for (const size of [1, 7, 33, file.length]) {
    const reader = credentialReader(media[type]);
    for (let at = 0; at < file.length; at += size) reader.push(file.slice(at, at + size));
    expect(reader.place).toEqual({ start, length: new DataView(file.buffer, file.byteOffset).getUint32(start) });
  }
});

test("files without a manifest, and of other types, carry none", () => {
  expect(search("image/png", png)).toBe(false);
  expect(search("image/jpeg", jpeg)).toBe(false);
  for (const webp of webps) expect(search("image/webp", webp)).toBe(false);
  expect(search("application/octet-stream", signedFile("png"))).toBe(false);
  expect(search("image/jpeg", signedFile("png"))).toBe(false);
  expect(search("image/png", new Uint8Array())).toBe(false);
});

test.each(types)(
  "a %s that is cut off before its manifest carries none, and one with another content in the manifest's place neither",
  (type) => {
    const file = signedFile(type);
    const at = manifestAt(file);
    expect(search(media[type], file.subarray(0, at))).toBe(false);
    const other = file.slice();
    other[at + 12] = 0x64; // the type of the description box
    expect(search(media[type], other)).toBe(false);
    expect(search(media[type], other, 7)).toBe(false);
  },
);

test("an APP11 segment or a `uuid` box for something else is no manifest, and does not hide one that follows", () => {
  const jpegFile = signedFile("jpeg");
  // The same segment as a second packet: only the first packet of a box has its head.
  const later = jpegFile.slice();
  later[13] = 2;
  expect(search("image/jpeg", later)).toBe(false);
  const app11 = joined([0xff, 0xeb, 0, 60], "JP", [0, 1], uint32(1), new Uint8Array(50));
  expect(search("image/jpeg", joined([0xff, 0xd8], app11, jpegFile.subarray(2)))).toBe(true);
  const other = box("uuid", new Uint8Array(192).fill(9));
  const id = Uint8Array.of(0xd8, 0xfe, 0xc3, 0xd6, 0x1b, 0x0e, 0x48, 0x3c, 0x92, 0x97, 0x58, 0x28, 0x87, 0x7e, 0xc4, 0x81);
  const merkle = box("uuid", id, uint32(0), "merkle\0", new Uint8Array(165));
  const unnamed = box("uuid", id, uint32(0), "x".repeat(165));
  expect(search("video/mp4", joined(other, merkle, unnamed))).toBe(false);
  expect(search("video/mp4", joined(other, merkle, unnamed, signedFile("mp4")), 11)).toBe(true);
});

test("64-bit box sizes are followed, and a box to the end of the file is the last", () => {
  const file = signedFile("mp4");
  expect(search("video/mp4", joined(uint32(1), "free", uint32(0), uint32(20), uint32(0), file))).toBe(true);
  expect(search("video/mp4", joined(uint32(0), "mdat", file))).toBe(false);
  for (const size of [2, 7]) expect(search("video/mp4", joined(uint32(size), "free", file))).toBe(false);
  expect(search("video/mp4", joined(uint32(1), "free", uint32(0), uint32(15), file))).toBe(false);
  // 2^64 - 1 bytes
  expect(search("video/mp4", joined(uint32(1), "free", uint32(0xffff_ffff), uint32(0xffff_ffff), file))).toBe(false);
});

const tiny: [SignedType, start: number, part: Uint8Array][] = [
  ["png", 8, joined(uint32(0), "tEXt", uint32(0))],
  ["jpeg", 2, Uint8Array.of(0xff, 0xe0, 0, 2)],
  ["jpeg", 2, Uint8Array.of(0xff)],
  ["webp", 12, joined("ABCD", uint32(0))],
  ["mp4", 0, box("free", "")],
];

test.each(tiny)("a %s of a hundred thousand tiny parts is not read further", (type, start, part) => {
  const file = signedFile(type);
  const searchAfter = (count: number) => search(media[type], joined(file.subarray(0, start), times(count, part), file.subarray(start)));
  expect(searchAfter(1_000)).toBe(true);
  expect(searchAfter(100_001)).toBe(false);
});

test("nothing that arrives makes it throw", () => {
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647);
  for (const type of types)
    for (let round = 0; round < 500; round++) {
      const file = signedFile(type).slice(0, 6_000);
      for (let at = 0; at < 1 + (random() % 8); at++) file[random() % Math.min(file.length, 200)] = random() % 256;
      expect(() => search(media[type], file, 1 + (random() % 100))).not.toThrow();
    }
});
