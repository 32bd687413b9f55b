/** Stored files as one ZIP archive, written while it is sent: images and videos are compressed already, so nothing is compressed again. */

import { concat } from "./concat.ts";
import { largeReads } from "./large-reads.ts";

export interface ZipEntry {
  name: string;
  /** Milliseconds since the epoch. */
  at: number;
  open: () => Promise<ReadableStream<Uint8Array> | undefined>;
}

type Entries = Iterable<ZipEntry> | AsyncIterable<ZipEntry>;
type Send = (bytes: Uint8Array) => Promise<void>;

/**
 * Files that can no longer be opened are left out. If reading a file fails, so does the download, so that no archive is incomplete without an
 * error.
 */
export function zip(entries: Entries): ReadableStream<Uint8Array> {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const written = writeArchive(entries, (bytes) => writer.write(bytes)).then(
    () => writer.close(),
    (error: unknown) => writer.abort(error),
  );
  written.catch(() => undefined); // the reader has gone
  return readable;
}

// The records of the format (PKWARE, APPNOTE.TXT). Places above four bytes, and more than 65,534 files, are in the records of "Zip64".

type Field = [bytes: 2 | 4 | 8, value: number];

/** The numbers one after the other, each with its least significant byte first. */
function record(...fields: Field[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [bytes]) => sum + bytes, 0)));
  let at = 0;
  for (const [bytes, value] of fields) {
    if (bytes === 8) view.setBigUint64(at, BigInt(value), true);
    else if (bytes === 4) view.setUint32(at, value, true);
    else view.setUint16(at, value, true);
    at += bytes;
  }
  return new Uint8Array(view.buffer);
}

const [max16, max32] = [0xffff, 0xffffffff];
/** The version of the format that a reader needs, without and with Zip64; and the one that wrote the archive, on Unix. */
const [plain, large, madeBy] = [20, 45, 0x031e];
/** The checksum and the size follow the file's bytes, because they are not known before; names are UTF-8. */
const flags = 0x0808;
/** A file that its owner may write and others may read. */
const mode = 0o100644 * 0x10000;

/** The time (UTC) in two numbers, to two seconds, from 1980 on. */
function toTime(at: number): Field[] {
  const date = new Date(Math.max(at, Date.UTC(1980)));
  const time = (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1);
  const day = ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate();
  return [
    [2, time],
    [2, day],
  ];
}

/** Parts of the directory that are sent together. */
const partsAtOnce = 1_000;

async function writeArchive(entries: Entries, send: Send): Promise<void> {
  let place = 0;
  const write = async (...parts: Uint8Array[]) => {
    const bytes = parts.length === 1 ? parts[0]! : concat(parts);
    place += bytes.length;
    await send(bytes);
  };
  const directory: Uint8Array[] = [];
  let files = 0;
  for await (const { name: text, at, open } of entries) {
    const body = await open();
    if (!body) continue;
    const start = place;
    const name = new TextEncoder().encode(text);
    const common: Field[] = [[2, flags], [2, 0], ...toTime(at)];
    await write(record([4, 0x04034b50], [2, plain], ...common, [4, 0], [4, 0], [4, 0], [2, name.length], [2, 0]), name);
    const { crc, size } = await writeBytes(body, write);
    const sums: Field[] = [
      [4, crc],
      [4, size],
      [4, size],
    ];
    await write(record([4, 0x08074b50], ...sums));
    const isFar = start >= max32;
    directory.push(
      record(
        ...([[4, 0x02014b50], [2, madeBy], [2, isFar ? large : plain], ...common, ...sums] satisfies Field[]),
        ...([
          [2, name.length],
          [2, isFar ? 12 : 0],
          [2, 0],
          [2, 0],
          [2, 0],
          [4, mode],
          [4, isFar ? max32 : start],
        ] satisfies Field[]),
      ),
      name,
      ...(isFar ? [record([2, 1], [2, 8], [8, start])] : []),
    );
    files++;
  }
  const begin = place;
  for (let at = 0; at < directory.length; at += partsAtOnce) await write(...directory.slice(at, at + partsAtOnce));
  await write(...endRecords(files, begin, place - begin));
}

/** The records at the end of an archive with this many files: where its directory begins, and its size in bytes. */
export function endRecords(files: number, begin: number, size: number): Uint8Array[] {
  const end = begin + size;
  const count = Math.min(files, max16);
  const last = record([4, 0x06054b50], [4, 0], [2, count], [2, count], [4, Math.min(size, max32)], [4, Math.min(begin, max32)], [2, 0]);
  if (files < max16 && end < max32) return [last];
  return [
    record([4, 0x06064b50], [8, 44], [2, madeBy], [2, large], [4, 0], [4, 0], [8, files], [8, files], [8, size], [8, begin]),
    record([4, 0x07064b50], [4, 0], [8, end], [4, 1]),
    last,
  ];
}

/** Writes a file's bytes. The runtime computes the checksum: in JavaScript that takes twenty times the CPU of all else. */
async function writeBytes(body: ReadableStream<Uint8Array>, write: Send): Promise<{ crc: number; size: number }> {
  const digest = new crypto.DigestStream("crc32");
  const checked = digest.getWriter();
  let size = 0;
  for await (const piece of largeReads(body)) {
    size += piece.length;
    await Promise.all([checked.write(piece), write(piece)]);
  }
  await checked.close();
  if (size >= max32) throw new Error("a file above 4 GiB");
  return { crc: new DataView(await digest.digest).getUint32(0), size };
}
