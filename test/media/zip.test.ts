/** ZIP archives of stored files: read by another implementation, with right checksums, and broken off where a file is. */

import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { endRecords, zip, type ZipEntry } from "../../src/media/zip.ts";

const at = Date.UTC(2026, 10, 30, 9, 41, 12);
const toBytes = (text: string) => new Uint8Array(new TextEncoder().encode(text));
const entry = (name: string, bytes: Uint8Array<ArrayBuffer>): ZipEntry => ({ name, at, open: async () => new Blob([bytes]).stream() });
const read = async (entries: Parameters<typeof zip>[0]) => new Uint8Array(await new Response(zip(entries)).arrayBuffer());

/** CRC-32 bit by bit. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** The checksum, the size and the time of each file, as the directory at the end names them. */
function directory(archive: Uint8Array): { crc: number; size: number; time: number; day: number }[] {
  const view = new DataView(archive.buffer);
  const end = archive.length - 22;
  expect(view.getUint32(end, true)).toBe(0x06054b50);
  let place = view.getUint32(end + 16, true);
  return Array.from({ length: view.getUint16(end + 10, true) }, () => {
    const number = (offset: number) => view.getUint32(place + offset, true);
    const found = { crc: number(16), size: number(24), time: view.getUint16(place + 12, true), day: view.getUint16(place + 14, true) };
    place += 46 + view.getUint16(place + 28, true) + view.getUint16(place + 30, true);
    return found;
  });
}

test("files of any size and name, with their checksum and time; a file that is gone is left out", async () => {
  const large = crypto.getRandomValues(new Uint8Array(60_000)).toBase64().repeat(9);
  const files: Record<string, Uint8Array<ArrayBuffer>> = {
    "empty.txt": toBytes(""),
    "caf\u00e9 \u6d77.txt": toBytes("123456789"),
    "large.bin": toBytes(large),
  };
  const gone = { name: "gone", at, open: async () => undefined };
  const archive = await read([gone, ...Object.entries(files).map(([name, bytes]) => entry(name, bytes)), gone]);
  expect(unzipSync(archive)).toEqual(files);
  expect(directory(archive)).toEqual(
    Object.values(files).map((bytes) => ({
      crc: crc32(bytes),
      size: bytes.length,
      time: (9 << 11) | (41 << 5) | 6,
      day: (46 << 9) | (11 << 5) | 30,
    })),
  );
  expect(directory(archive)[1]!.crc).toBe(0xcbf43926);
});

test("an archive without files is one, and a time before the format's first is that", async () => {
  expect(unzipSync(await read([]))).toEqual({});
  const [found] = directory(await read([{ ...entry("old", toBytes("x")), at: 0 }]));
  expect(found).toMatchObject({ time: 0, day: (1 << 5) | 1 });
});

test("more files than two bytes can count, and a directory beyond four gigabytes, have the records of Zip64", () => {
  const sizes = (files: number, begin: number, size = 100) => endRecords(files, begin, size).map(({ length }) => length);
  expect([sizes(65_534, 1_000), sizes(65_535, 1_000), sizes(1, 2 ** 32 - 102), sizes(1, 2 ** 32 - 101)]).toEqual([
    [22],
    [56, 20, 22],
    [22],
    [56, 20, 22],
  ]);
  const [record, locator, end] = endRecords(70_000, 2 ** 33, 5_000_000).map(({ buffer }) => new DataView(buffer));
  expect([24, 32, 40, 48].map((at) => Number(record!.getBigUint64(at, true)))).toEqual([70_000, 70_000, 5_000_000, 2 ** 33]);
  expect(Number(locator!.getBigUint64(8, true))).toBe(2 ** 33 + 5_000_000);
  expect([end!.getUint16(10, true), end!.getUint32(12, true), end!.getUint32(16, true)]).toEqual([65_535, 5_000_000, 2 ** 32 - 1]);
});

test("a fault while a file is read breaks the download off, and a reader who goes ends the reading", async () => {
  const broken = { name: "broken", at, open: async () => Promise.reject(new Error("scripted fault")) };
  await expect(read([entry("first", toBytes("x")), broken])).rejects.toThrow();
  let opened = 0;
  function* endless(): Generator<ZipEntry> {
    try {
      for (;;) yield entry(`${++opened}`, toBytes("x".repeat(1_000)));
    } finally {
      opened = -1;
    }
  }
  const reader = zip(endless()).getReader();
  await reader.read();
  await reader.cancel();
  await expect.poll(() => opened).toBe(-1);
});
