/** Tells of an MP4 file how large its picture is, how long it runs and whether it has sound, reading as little of it as possible. */

import { boxAt, boxesIn, findBox, fourLetters, toDataView } from "./iso-boxes.ts";

export interface VideoFacts {
  /** Pixels as shown, after the file's own rotation. */
  width: number;
  height: number;
  seconds: number;
  hasAudio: boolean;
}

/** Reads `length` bytes at `offset`; what it throws passes through. */
export type ReadRange = (offset: number, length: number) => Promise<Uint8Array>;

const WINDOW_BYTES = 64 * 1024;
// Files from cameras and encoders need one or two; a file that scatters more top-level boxes than this is no film to us.
const MAX_READS = 16;
const MAX_MOOV_BYTES = 16 * 1024 * 1024;

/**
 * Reads the facts of an MP4 (or QuickTime) file of `size` bytes: one read of 64 KiB when its index comes first, two when it comes last, one
 * more when the index is larger than that.
 *
 * @returns undefined when it is no such file, has no video track, is cut off before its index ends, or does not tell its length (a
 * fragmented file without `mehd`).
 */
export async function readVideoFacts(read: ReadRange, size: number): Promise<VideoFacts | undefined> {
  const moov = await readMoov(read, size);
  if (!moov) return undefined;
  try {
    return parseFacts(moov);
  } catch (error) {
    // A field lies behind the end of its box.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * The contents of the `moov` box, which holds everything about the file but its pictures and sounds. The boxes behind it are
 * looked at too: a download that broke off ends in the middle of one.
 */
async function readMoov(read: ReadRange, size: number): Promise<Uint8Array | undefined> {
  let start = 0;
  let bytes = await read(0, Math.min(WINDOW_BYTES, size));
  let reads = 1;
  let moov: Uint8Array | undefined;
  for (let position = 0; position < size;) {
    const headerEnd = Math.min(position + 16, size);
    if (headerEnd > start + bytes.length) {
      if (++reads > MAX_READS) return undefined;
      start = position;
      bytes = await read(position, Math.min(WINDOW_BYTES, size - position));
    }
    const box = boxAt(bytes, position - start, size - start);
    // Less than a header behind the last box is nobody's.
    if (!box && moov && size - position < 8) break;
    if (!box || (position === 0 && box.type !== "ftyp")) return undefined;
    if (box.type === "moov" && !moov) {
      const length = box.end - box.body;
      if (length > MAX_MOOV_BYTES) return undefined;
      const body = box.end <= bytes.length ? bytes.subarray(box.body, box.end) : await read(start + box.body, length);
      if (body.length !== length) return undefined;
      moov = body;
    }
    position = start + box.end;
  }
  return moov;
}

// Below, the fields' places are those of ISO/IEC 14496-12, part 8. Version 1 of a box has times of 64 bits in place of 32.

function parseFacts(moov: Uint8Array): VideoFacts | undefined {
  let picture: { width: number; height: number; seconds: number | undefined } | undefined;
  let hasAudio = false;
  for (const { type, body } of boxesIn(moov)) {
    if (type !== "trak") continue;
    const mdia = findBox(body, "mdia");
    const hdlr = mdia && findBox(mdia, "hdlr");
    const handler = hdlr && fourLetters(hdlr, 8);
    if (handler === "soun") hasAudio = true;
    if (handler === "vide") picture ??= parsePixels(body, mdia);
  }
  const seconds = movieSeconds(moov) ?? picture?.seconds;
  return picture && seconds ? { width: picture.width, height: picture.height, seconds, hasAudio } : undefined;
}

function parsePixels(trak: Uint8Array, mdia: Uint8Array | undefined) {
  const tkhd = findBox(trak, "tkhd");
  if (!tkhd) return undefined;
  const view = toDataView(tkhd);
  const matrix = view.getUint8(0) === 1 ? 52 : 40;
  // The matrix a b u c d v x y w, four bytes each: where a and d are zero, across and down change places, a quarter turn to either side.
  const turned = view.getInt32(matrix) === 0 && view.getInt32(matrix + 16) === 0;
  // Fixed point, 16 bits each side: pixels that are not square leave a fraction.
  const width = Math.round(view.getUint32(matrix + 36) / 0x1_0000);
  const height = Math.round(view.getUint32(matrix + 40) / 0x1_0000);
  if (width === 0 || height === 0) return undefined;
  const mdhd = mdia && findBox(mdia, "mdhd");
  return { width: turned ? height : width, height: turned ? width : height, seconds: mdhd && toSeconds(parseClock(mdhd)) };
}

/** How long the whole film runs: as its header says, or, where the film is in fragments, the header of these. */
function movieSeconds(moov: Uint8Array): number | undefined {
  const mvhd = findBox(moov, "mvhd");
  if (!mvhd) return undefined;
  const clock = parseClock(mvhd);
  const mvex = findBox(moov, "mvex");
  const mehd = mvex && findBox(mvex, "mehd");
  return toSeconds(clock) ?? (mehd && toSeconds({ timescale: clock.timescale, duration: durationAt(mehd, 4, 4) }));
}

interface Clock {
  /** Units a second. */
  timescale: number;
  /** In units, undefined where the file does not know it. */
  duration: number | undefined;
}

/** The clock of `mvhd` and `mdhd`, which begin alike. */
function parseClock(header: Uint8Array): Clock {
  const view = toDataView(header);
  return { timescale: view.getUint32(view.getUint8(0) === 1 ? 20 : 12), duration: durationAt(header, 16, 24) };
}

/** A duration whose place depends on the box's version. Zero and all ones both mean that it is not known. */
function durationAt(header: Uint8Array, offset: number, offsetOfVersion1: number): number | undefined {
  const view = toDataView(header);
  const long = view.getUint8(0) === 1;
  const duration = long ? Number(view.getBigUint64(offsetOfVersion1)) : view.getUint32(offset);
  return duration === 0 || duration === (long ? 2 ** 64 : 0xffff_ffff) ? undefined : duration;
}

const toSeconds = ({ timescale, duration }: Clock) => (timescale > 0 && duration !== undefined ? duration / timescale : undefined);
