/** Facts of videos, from files of a real encoder and from hostile files. */

import { expect, test } from "vitest";
import { readVideoFacts } from "../../src/media/mp4.ts";
import { box, change, videoHead, join, letters, set, word } from "./videos.ts";

/** Reads ranges from memory and records them, like a store with range requests. */
function source(bytes: Uint8Array) {
  const ranges: [offset: number, length: number][] = [];
  const read = async (offset: number, length: number) => {
    ranges.push([offset, length]);
    return bytes.slice(offset, offset + length);
  };
  return { ranges, facts: () => readVideoFacts(read, bytes.length) };
}

const readFacts = (bytes: Uint8Array) => source(bytes).facts();

const ftyp = videoHead.slice(0, 32);
const moov = videoHead.slice(32);
const mdat = box("mdat", new Uint8Array(200_000));
const facts = { width: 64, height: 36, seconds: 1.2, hasAudio: true };

/** True if the body is of a video track, false for sound. */
const isVideo = (trak: Uint8Array) => new TextDecoder("latin1").decode(trak).includes("vide");

/** The video with a changed header of its video track. */
const withVideoTrack = (edit: (tkhd: Uint8Array<ArrayBuffer>) => Uint8Array | undefined) =>
  change(videoHead, { "moov/trak": (trak) => (isVideo(trak) ? change(trak, { tkhd: edit }) : trak) });

test("a video with its index in front needs one read", async () => {
  const video = source(join(ftyp, moov, mdat));
  expect(await video.facts()).toEqual(facts);
  expect(video.ranges).toEqual([[0, 65_536]]);
});

test("a video with its index at the end needs two reads", async () => {
  const video = source(join(ftyp, mdat, moov));
  expect(await video.facts()).toEqual(facts);
  expect(video.ranges).toEqual([
    [0, 65_536],
    [ftyp.length + mdat.length, moov.length],
  ]);
});

test("an index larger than one read is read whole", async () => {
  const large = box("moov", box("free", new Uint8Array(100_000)), moov.subarray(8));
  const video = source(join(ftyp, large, mdat));
  expect(await video.facts()).toEqual(facts);
  expect(video.ranges).toEqual([
    [0, 65_536],
    [ftyp.length + 8, large.length - 8],
    // Checks that the boxes after it are read.
    [ftyp.length + large.length, 65_536],
  ]);
});

test("a video cut off after its index is refused; a few extra bytes are ignored", async () => {
  const whole = join(ftyp, moov, mdat);
  expect(await source(whole.slice(0, -1)).facts()).toBeUndefined();
  expect(await source(whole.slice(0, -mdat.length / 2)).facts()).toBeUndefined();
  expect(await source(join(whole, new Uint8Array(5))).facts()).toEqual(facts);
});

test("a video without sound, and sound without a video", async () => {
  expect(await readFacts(change(videoHead, { "moov/trak": (trak) => (isVideo(trak) ? trak : undefined) }))).toEqual({
    ...facts,
    hasAudio: false,
  });
  expect(await readFacts(change(videoHead, { "moov/trak": (trak) => (isVideo(trak) ? undefined : trak) }))).toBeUndefined();
});

/** The facts of the video with these four numbers of the rotation matrix. */
const turned = (a: number, b: number, c: number, d: number) =>
  readFacts(withVideoTrack((tkhd) => set(56, d)(set(52, c)(set(44, b)(set(40, a)(tkhd))))));

test("width and height are those of the displayed video", async () => {
  const one = 0x1_0000;
  const minusOne = 0xffff_0000;
  expect(await turned(0, one, minusOne, 0)).toEqual({ ...facts, width: 36, height: 64 });
  expect(await turned(0, minusOne, one, 0)).toEqual({ ...facts, width: 36, height: 64 });
  expect(await turned(minusOne, 0, 0, minusOne)).toEqual(facts);
});

test("non-square pixels give a fraction, which is rounded", async () => {
  // 720 pixels, each 16/11 times as wide as high.
  expect(await readFacts(withVideoTrack(set(76, Math.floor((720 * 16 * 0x1_0000) / 11))))).toEqual({ ...facts, width: 1047 });
  expect(await readFacts(withVideoTrack(set(76, 0)))).toBeUndefined();
});

/** Rewrites a header to version 1. `times` is the offset of its duration. */
const withLongTimes = (times: number) => (header: Uint8Array) => {
  // Version, two dates, an identity or a scale (a track has four empty bytes too), the duration: in version 1 the dates and the duration have 64 bits.
  const [dates, scale, duration, rest] = [
    header.subarray(4, 12),
    header.subarray(12, times),
    header.subarray(times, times + 4),
    header.subarray(times + 4),
  ];
  return join([1, ...header.subarray(1, 4)], word(0), dates.subarray(0, 4), word(0), dates.subarray(4), scale, word(0), duration, rest);
};

test("headers with 64-bit times are supported", async () => {
  const video = change(videoHead, {
    "moov/mvhd": withLongTimes(16),
    "moov/trak/tkhd": withLongTimes(20),
    "moov/trak/mdia/mdhd": withLongTimes(16),
  });
  expect(video.length).toBe(videoHead.length + 5 * 12);
  expect(await readFacts(video)).toEqual(facts);
  const unknown = change(video, { "moov/mvhd": (body) => set(28, 0xffff_ffff)(set(24, 0xffff_ffff)(body)) });
  expect(await readFacts(unknown)).toEqual(facts);
});

test("a duration missing from the file's header is taken from its video track", async () => {
  for (const unknown of [0, 0xffff_ffff]) expect(await readFacts(change(videoHead, { "moov/mvhd": set(16, unknown) }))).toEqual(facts);
  expect(await readFacts(change(videoHead, { "moov/mvhd": set(16, 0), "moov/trak/mdia/mdhd": set(16, 0) }))).toBeUndefined();
  expect(await readFacts(change(videoHead, { "moov/mvhd": set(12, 0), "moov/trak/mdia/mdhd": set(12, 0) }))).toBeUndefined();
});

test("the duration of a fragmented file comes from the fragments' header", async () => {
  const pieces = change(videoHead, { "moov/mvhd": set(16, 0), "moov/trak/mdia/mdhd": set(16, 0) });
  const withMehd = (mehd: Uint8Array) => change(pieces, { moov: (body) => join(body, box("mvex", mehd)) });
  expect(await readFacts(withMehd(box("mehd", word(0), word(2500))))).toEqual({ ...facts, seconds: 2.5 });
  expect(await readFacts(withMehd(box("mehd", [1, 0, 0, 0], word(0), word(3500))))).toEqual({ ...facts, seconds: 3.5 });
});

const longBox = (type: string, contents: Uint8Array) => join(word(1), letters(type), word(0), word(16 + contents.length), contents);

test("boxes with 64-bit sizes, and a last box without a size, are supported", async () => {
  const body = moov.subarray(8);
  expect(await readFacts(join(ftyp, longBox("mdat", new Uint8Array(4)), longBox("moov", body)))).toEqual(facts);
  expect(await readFacts(join(ftyp, word(0), letters("moov"), body))).toEqual(facts);
});

test("a file that is not a video, or ends too early, has no facts", async () => {
  expect(await readFacts(new Uint8Array())).toBeUndefined();
  expect(await readFacts(new TextEncoder().encode("<!doctype html><title>Not found</title>"))).toBeUndefined();
  expect(await readFacts(ftyp)).toBeUndefined();
  expect(await readFacts(moov)).toBeUndefined();
  expect(await readFacts(join(ftyp, word(0), letters("mdat"), new Uint8Array(100)))).toBeUndefined();
  for (let length = 0; length < videoHead.length; length += 7)
    expect(await readFacts(videoHead.slice(0, length)), String(length)).toBeUndefined();
});

test("wrong box sizes end the reading soon", async () => {
  const tracks = box("trak", box("tkhd", word(0)), box("mdia", box("hdlr", word(0), word(0), letters("vide"))));
  const hostile: Record<string, Uint8Array> = {
    "64 bits of zero": join(ftyp, word(1), letters("free"), word(0), word(0)),
    "64 bits of size below the header": join(ftyp, word(1), letters("free"), word(0), word(15)),
    "size below the header": join(ftyp, word(7), letters("free")),
    "beyond any file": join(ftyp, word(1), letters("mdat"), word(0xffff_ffff), word(0xffff_ffff)),
    "a huge index": join(ftyp, word(0x7fff_ffff), letters("moov"), new Uint8Array(100)),
    "an index without contents": join(ftyp, box("moov")),
    "zero inside": join(ftyp, box("moov", word(1), letters("trak"), word(0), word(0))),
    "fields cut off": join(ftyp, box("moov", box("mvhd", word(0)), tracks)),
  };
  for (const [name, bytes] of Object.entries(hostile)) expect(await readFacts(bytes), name).toBeUndefined();
});

test("an index over 16 MiB is not read", async () => {
  const size = 40 * 1024 * 1024;
  const head = join(ftyp, word(size - ftyp.length), letters("moov"), new Uint8Array(100));
  const lengths: number[] = [];
  const read = async (offset: number, length: number) => {
    lengths.push(length);
    return head.slice(offset, offset + length);
  };
  expect(await readVideoFacts(read, size)).toBeUndefined();
  expect(lengths).toEqual([65_536]);
});

test("reading a file of many boxes stops after a few reads", async () => {
  let reads = 0;
  const piece = join(word(32 * 1024), letters("free"), new Uint8Array(32 * 1024 - 8));
  const first = join(box("ftyp", new Uint8Array(32 * 1024 - 8)), piece);
  const read = async (offset: number, length: number) => {
    reads++;
    return (offset === 0 ? first : join(piece, piece)).slice(0, length);
  };
  expect(await readVideoFacts(read, 2 ** 40)).toBeUndefined();
  expect(reads).toBe(16);
});

test("an error of the store is passed on", async () => {
  await expect(readVideoFacts(() => Promise.reject(new Error("store")), 1000)).rejects.toThrow("store");
});

test("random and damaged bytes never throw and always end", async () => {
  // Mulberry32: the same numbers in every run.
  let seed = 42;
  const random = (below: number) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
  const oneOf = <T>(...choices: [T, ...T[]]) => choices[random(choices.length)] ?? choices[0];
  let told = 0;
  for (let run = 0; run < 500; run++) {
    const noise = Uint8Array.from({ length: random(200) }, () => random(256));
    const boxes = join(ftyp, word(random(64)), letters(oneOf("moov", "trak", "free", "mdat")), noise);
    const damaged = videoHead.slice(0, oneOf(videoHead.length, random(videoHead.length) + 1));
    for (let hits = random(8); hits >= 0; hits--) damaged[random(damaged.length)] = oneOf(0, 1, 8, 255, random(256));
    for (const bytes of [noise, boxes, damaged]) {
      const result = await readFacts(bytes);
      if (!result) continue;
      told++;
      expect(result.width > 0 && result.height > 0 && result.seconds > 0 && Number.isFinite(result.seconds)).toBe(true);
    }
  }
  expect(told).toBeGreaterThan(50);
});
