/** Videos are parsed: size, length, codecs, and sound from beginning to end. */

import { BufferSource, Input, MP4 } from "mediabunny";
import { expect, test } from "vitest";
import { download, run, step, useSteppedClock, video } from "./support.ts";

useSteppedClock();

const SIZES: [string, string, number, number][] = [
  ["16:9", "480p", 854, 480],
  ["9:16", "480p", 480, 854],
  ["1:1", "480p", 480, 480],
  ["4:3", "480p", 640, 480],
  ["3:4", "480p", 480, 640],
  ["21:9", "480p", 1120, 480],
  ["16:9", "720p", 1280, 720],
  ["9:16", "720p", 720, 1280],
  ["1:1", "720p", 720, 720],
  ["4:3", "720p", 960, 720],
  ["3:4", "720p", 720, 960],
  ["21:9", "720p", 1680, 720],
  ["16:9", "1080p", 1920, 1080],
  ["9:16", "1080p", 1080, 1920],
  ["1:1", "1080p", 1080, 1080],
  ["4:3", "1080p", 1440, 1080],
  ["3:4", "1080p", 1080, 1440],
  ["21:9", "1080p", 2520, 1080],
  ["16:9", "512p", 910, 512],
  ["9:16", "512p", 512, 910],
  ["16:9", "768p", 1366, 768],
  ["9:16", "768p", 768, 1366],
];

async function read(bytes: Uint8Array<ArrayBuffer>) {
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4] });
  const [track, soundTrack] = [await input.getPrimaryVideoTrack(), await input.getPrimaryAudioTrack()];
  if (!track || !soundTrack) throw new Error("a track is missing");
  return {
    width: await track.getDisplayWidth(),
    height: await track.getDisplayHeight(),
    codecs: [(await track.getDecoderConfig())?.codec.slice(0, 4), (await soundTrack.getDecoderConfig())?.codec],
    duration: await track.computeDuration(),
    sound: await soundTrack.computeDuration(),
    frames: (await track.computePacketStats()).packetCount,
  };
}

test.each(SIZES)("%s at %s is a video of %i by %i", async (size, resolution, width, height) => {
  const { outputs } = await run({ ...video, size, resolution, duration: 2 });
  expect(outputs?.[0]).toMatchObject({ width, height, duration: 2 });
  const facts = await read(await download(outputs?.[0]?.url, "video/mp4"));
  expect(facts).toMatchObject({ width, height, codecs: ["avc1", "mp4a.40.2"], frames: 48 });
});

test.each([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 25])("a video of %i s is that long, with sound to its end", async (duration) => {
  const { outputs } = await run({ ...video, duration });
  const facts = await read(await download(outputs?.[0]?.url, "video/mp4"));
  expect(Math.abs(facts.duration - duration)).toBeLessThan(0.01);
  expect(Math.abs(facts.sound - duration)).toBeLessThan(0.05);
});

test("the index is before the media data, so that a browser can start at once", async () => {
  const { outputs } = await run(video);
  const bytes = await download(outputs?.[0]?.url, "video/mp4");
  const text = new TextDecoder("latin1").decode(bytes);
  expect(text.indexOf("moov")).toBeLessThan(text.indexOf("mdat"));
});

test("a video made again later is the same to the byte", async () => {
  const { outputs } = await run(video);
  const first = await download(outputs?.[0]?.url, "video/mp4");
  step(60_000);
  expect(await download(outputs?.[0]?.url, "video/mp4")).toEqual(first);
  const input = await read(first);
  expect(input).toMatchObject({ width: 1280, height: 720, frames: 240 });
});

test("the prompt is the video's title, also for a remix", async () => {
  const { outputs } = await run({ ...video, kind: "remix", prompt: "make it night 夜", source_sha256: "ab" });
  const bytes = await download(outputs?.[0]?.url, "video/mp4");
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4] });
  expect(await input.getMetadataTags()).toMatchObject({ title: "make it night 夜", comment: "sandbox" });
});
