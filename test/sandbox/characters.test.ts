/** Characters: the source video is parsed and checked. */

import { decode } from "fast-png";
import { BufferSource, BufferTarget, EncodedPacketSink, EncodedVideoPacketSource, Input, MP4, Mp4OutputFormat, Output } from "mediabunny";
import { expect, test } from "vitest";
import { download, readError, request, run, step, useSteppedClock, video, view, type View } from "./support.ts";

useSteppedClock();

async function makeVideo(): Promise<Uint8Array<ArrayBuffer>> {
  const { outputs } = await run({ ...video, duration: 5, resolution: "480p" });
  return download(outputs?.[0]?.url, "video/mp4");
}

/** The video track of a video in a new file: without sound, with its index at the end or in fragments. */
async function silent(bytes: Uint8Array<ArrayBuffer>, fastStart: false | "fragmented" = false): Promise<Uint8Array<ArrayBuffer>> {
  const track = await new Input({ source: new BufferSource(bytes), formats: [MP4] }).getPrimaryVideoTrack();
  const decoderConfig = await track?.getDecoderConfig();
  if (!track || !decoderConfig) throw new Error("no images");
  const output = new Output({ format: new Mp4OutputFormat({ fastStart }), target: new BufferTarget() });
  const source = new EncodedVideoPacketSource("avc");
  output.addVideoTrack(source);
  await output.start();
  for await (const packet of new EncodedPacketSink(track).packets()) await source.add(packet, { decoderConfig });
  await output.finalize();
  return new Uint8Array(output.target.buffer ?? new ArrayBuffer());
}

/** A body of unknown length, in small chunks. */
function toStream(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      controller.enqueue(bytes.slice(at, (at += 10_000)));
      if (at >= bytes.length) controller.close();
    },
  });
}

function create(body: BodyInit | null, query = "start=1.0&end=3.0", key: string = crypto.randomUUID()): Promise<Response> {
  return request(`/v1/characters?key=${key}&model=vidA-2&${query}`, { method: "POST", body });
}

async function outcome(body: BodyInit, query?: string): Promise<View> {
  const response = await create(body, query);
  expect(response.status).toBe(202);
  const { id } = await response.json<View>();
  step(2999);
  expect((await view(id)).status).toBe("running");
  step(1);
  return view(id);
}

test("a character has a portrait and a name after three seconds", async () => {
  const { id, outputs, character, ...rest } = await outcome(await makeVideo());
  expect(rest).toEqual({ status: "succeeded", progress: 100 });
  expect(outputs).toEqual([{ url: `/v1/operations/${id}/outputs/0`, type: "image/png", width: 512, height: 512 }]);
  expect(character?.username).toMatch(/^[a-z][a-z0-9]*(?:\.[a-z0-9]+)?$/);
  expect(character?.display_name).toMatch(/^[A-Z][a-z]+ [A-Z][a-z]+$/);
  const portrait = decode(await download(outputs?.[0]?.url, "image/png"));
  expect([portrait.width, portrait.height]).toEqual([512, 512]);
});

test("another creation gives another character", async () => {
  const source = await makeVideo();
  const [one, other] = [await outcome(source), await outcome(source)];
  expect(one.character?.username).not.toBe(other.character?.username);
});

test("a video may be a stream of unknown length", async () => {
  expect((await outcome(toStream(await makeVideo()))).status).toBe("succeeded");
});

test.each([
  ["its index at the end", false],
  ["fragments", "fragmented"],
] as const)("a video with %s is read too, and has no sound", async (_, fastStart) => {
  const { status, error } = await outcome(await silent(await makeVideo(), fastStart));
  expect({ status, ...error }).toEqual({ status: "failed", code: "invalid_input", message: "the video has no sound track" });
});

test.each(["start=4&end=6", "start=60&end=62"])("a range outside the video fails: %s", async (query) => {
  const { status, error } = await outcome(await makeVideo(), query);
  expect({ status, ...error }).toEqual({ status: "failed", code: "invalid_input", message: "the range lies outside of the video" });
});

test("a range up to the end of the video is accepted", async () => {
  expect((await outcome(await makeVideo(), "start=2&end=5")).status).toBe("succeeded");
});

test.each([
  ["text", new TextEncoder().encode("this is no video"), "the file is not a readable video"],
  ["zeroes", new Uint8Array(300_000), "the file is not a readable video"],
  ["a video's first bytes", Uint8Array.fromHex("000000186674797069736f6d0000020069736f6d6d703432"), "the file has no images"],
])("%s fails", async (_, body, message) => {
  const { status, error } = await outcome(body);
  expect({ status, ...error }).toEqual({ status: "failed", code: "invalid_input", message });
});

test("a truncated video fails", async () => {
  const whole = await silent(await makeVideo());
  expect((await outcome(whole.slice(0, whole.length / 2))).error?.code).toBe("invalid_input");
});

test("more than 64 MiB are refused, and nothing is stored", async () => {
  const piece = new Uint8Array(1024 * 1024);
  let pieces = 0;
  const endless = new ReadableStream({
    type: "bytes",
    pull(controller) {
      pieces++;
      controller.enqueue(piece.slice());
    },
  });
  expect(await readError(await create(endless))).toEqual({ status: 413, code: "too_large" });
  expect(pieces).toBeLessThan(70);
});

test("the same key gives the same character without reading the video again", async () => {
  const first = await (await create(await makeVideo(), "start=1&end=2", "twice")).json<View>();
  const second = await create(new TextEncoder().encode("not read"), "start=1&end=2", "twice");
  expect(second.status).toBe(202);
  expect((await second.json<View>()).id).toBe(first.id);
  step(3000);
  expect((await view(first.id)).status).toBe("succeeded");
});

test.each(["start=1", "start=3&end=1", "start=a&end=b", "start=-1&end=1", "end=2"])("a bad range is refused: %s", async (query) => {
  expect(await readError(await create(new Uint8Array(10), query))).toEqual({ status: 400, code: "invalid_request" });
});
