/** Reads width, height, duration and sound of an MP4 file with as few reads as possible. */

import { boxAt, boxesIn, findBox, fourLetters, toDataView } from "./iso-boxes.ts";

export interface VideoFacts {
  /** Pixels as displayed, after the file's rotation. */
  width: number;
  height: number;
  seconds: number;
  hasAudio: boolean;
}

/** Reads `length` bytes at `offset`. Its errors pass through. */
export type ReadRange = (offset: number, length: number) => Promise<Uint8Array>;

/** The length of the first read. */
export const VIDEO_WINDOW_BYTES = 64 * 1024;
// Files from cameras and encoders need one or two reads; a file with more scattered top-level boxes is refused.
const MAX_READS = 16;
const MAX_MOOV_BYTES = 16 * 1024 * 1024;

/**
 * Reads the facts of an MP4 (or QuickTime) file of `size` bytes: one read of 64 KiB when its index comes first, two when it comes last, one
 * more when the index is larger than that.
 *
 * @returns undefined if the bytes are not such a file, have no video track, end before the index does, or have no duration (a
 * fragmented file without `mehd`).
 */
export async function readVideoFacts(read: ReadRange, size: number): Promise<VideoFacts | undefined> {
  const moov = await readMoov(read, size);
  if (!moov) return undefined;
  try {
    return parseFacts(moov);
  } catch (error) {
    // A field lies outside its box.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Returns the contents of the `moov` box, which describes the tracks. The boxes behind it are
 * checked too: a download that broke off ends inside one.
 */
async function readMoov(read: ReadRange, size: number): Promise<Uint8Array | undefined> {
  let start = 0;
  let bytes = await read(0, Math.min(VIDEO_WINDOW_BYTES, size));
  let reads = 1;
  let moov: Uint8Array | undefined;
  for (let position = 0; position < size;) {
    const headerEnd = Math.min(position + 16, size);
    if (headerEnd > start + bytes.length) {
      if (++reads > MAX_READS) return undefined;
      start = position;
      bytes = await read(position, Math.min(VIDEO_WINDOW_BYTES, size - position));
    }
    const box = boxAt(bytes, position - start, size - start);
    // Fewer bytes than a box header behind the last box are ignored.
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

// The offsets below are those of ISO/IEC 14496-12, part 8. Version 1 of a box has 64-bit times instead of 32-bit ones.

function parseFacts(moov: Uint8Array): VideoFacts | undefined {
  let track: { width: number; height: number; seconds: number | undefined } | undefined;
  let hasAudio = false;
  for (const { type, body } of boxesIn(moov)) {
    if (type !== "trak") continue;
    const mdia = findBox(body, "mdia");
    const hdlr = mdia && findBox(mdia, "hdlr");
    const handler = hdlr && fourLetters(hdlr, 8);
    if (handler === "soun") hasAudio = true;
    if (handler === "vide") track ??= parsePixels(body, mdia);
  }
  const seconds = movieSeconds(moov) ?? track?.seconds;
  return track && seconds ? { width: track.width, height: track.height, seconds, hasAudio } : undefined;
}

function parsePixels(trak: Uint8Array, mdia: Uint8Array | undefined) {
  const tkhd = findBox(trak, "tkhd");
  if (!tkhd) return undefined;
  const view = toDataView(tkhd);
  const matrix = view.getUint8(0) === 1 ? 52 : 40;
  // The matrix a b u c d v x y w, four bytes each. If a and d are zero, the video is turned by 90 degrees: swap width and height.
  const turned = view.getInt32(matrix) === 0 && view.getInt32(matrix + 16) === 0;
  // 16.16 fixed point: pixels that are not square leave a fraction.
  const width = Math.round(view.getUint32(matrix + 36) / 0x1_0000);
  const height = Math.round(view.getUint32(matrix + 40) / 0x1_0000);
  if (width === 0 || height === 0) return undefined;
  const mdhd = mdia && findBox(mdia, "mdhd");
  return { width: turned ? height : width, height: turned ? width : height, seconds: mdhd && toSeconds(parseClock(mdhd)) };
}

/** Duration of the whole video, from its header or, for a fragmented file, from the fragments' header. */
function movieSeconds(moov: Uint8Array): number | undefined {
  const mvhd = findBox(moov, "mvhd");
  if (!mvhd) return undefined;
  const clock = parseClock(mvhd);
  const mvex = findBox(moov, "mvex");
  const mehd = mvex && findBox(mvex, "mehd");
  return toSeconds(clock) ?? (mehd && toSeconds({ timescale: clock.timescale, duration: durationAt(mehd, 4, 4) }));
}

interface Clock {
  /** Units per second. */
  timescale: number;
  /** In units; undefined if the file does not state it. */
  duration: number | undefined;
}

/** Timescale and duration of `mvhd` or `mdhd`, which start with the same fields. */
function parseClock(header: Uint8Array): Clock {
  const view = toDataView(header);
  return { timescale: view.getUint32(view.getUint8(0) === 1 ? 20 : 12), duration: durationAt(header, 16, 24) };
}

/** A duration at an offset that depends on the box's version. Zero and all ones both mean unknown. */
function durationAt(header: Uint8Array, offset: number, offsetOfVersion1: number): number | undefined {
  const view = toDataView(header);
  const long = view.getUint8(0) === 1;
  const duration = long ? Number(view.getBigUint64(offsetOfVersion1)) : view.getUint32(offset);
  return duration === 0 || duration === (long ? 2 ** 64 : 0xffff_ffff) ? undefined : duration;
}

const toSeconds = ({ timescale, duration }: Clock) => (timescale > 0 && duration !== undefined ? duration / timescale : undefined);
