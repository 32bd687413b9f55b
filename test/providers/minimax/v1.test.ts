/** MiniMax v1: Hailuo-02 and 2.3, from the submission to the caller's file. */

import { expect, test } from "vitest";
import { readBalance, holdTime, unique } from "../../support/gateway.ts";
import { expectVideo, video, firstFrame, lastFrame, plain, through, v1, videos } from "./support.ts";
import { asked, readCalls, submitTo } from "../support.ts";
import { pixel as png } from "../../media/images.ts";

holdTime();

test("vidD-02 is made by Hailuo-02: created, polled until it is done, retrieved, stored", async () => {
  const prompt = `${unique()} a harbour [queued 1] [running 1]`;
  const { account, data, sent } = await video(v1, plain(prompt));
  expect(sent).toEqual({ model: "MiniMax-Hailuo-02", prompt, duration: 10, resolution: "768P" });
  await expectVideo(data);
  expect(await readCalls(prompt)).toEqual(["start", "poll", "poll", "poll", "poll", "retrieve", "file"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.5 });
});

test("the route's model id is sent unchanged: Hailuo-2.3", async () => {
  const { sent } = await video(through("MiniMax-Hailuo-2.3"), plain(unique()));
  expect(sent).toMatchObject({ model: "MiniMax-Hailuo-2.3", duration: 10, resolution: "768P" });
});

test("first and last frame are sent as URLs, with the requested optimizer and watermark", async () => {
  const prompt = unique();
  const metadata = { first_frame_image: firstFrame, last_frame_image: lastFrame, prompt_optimizer: false, watermark: true };
  const { sent, data } = await video(v1, { ...plain(prompt), metadata });
  const frames = { first_frame_image: firstFrame, last_frame_image: lastFrame };
  expect(sent).toEqual({
    model: "MiniMax-Hailuo-02",
    prompt,
    duration: 10,
    resolution: "768P",
    ...frames,
    prompt_optimizer: false,
    aigc_watermark: true,
  });
  expect(data.metadata).toMatchObject(frames);
});

test("trap: the file id is an int64, kept to its last digit whether it arrives as a number or as text", async () => {
  for (const order of ["", " [text-id]"]) {
    const prompt = unique() + order;
    const { data } = await video(v1, plain(prompt));
    expect(data.status).toBe("completed");
    expect(await readCalls(prompt)).toContain("retrieve");
  }
});

test("trap: resolutions are spelt with a capital P; 512P is made with a first frame", async () => {
  const { sent } = await video(v1, { ...plain(unique()), metadata: { resolution: "512p", first_frame_image: firstFrame } });
  expect(sent).toMatchObject({ resolution: "512P", first_frame_image: firstFrame });
});

test("trap: there is no aspect ratio parameter; 9:16 with a first frame follows the image", async () => {
  const { sent } = await video(v1, { ...plain(unique()), size: "9:16", metadata: { first_frame_image: firstFrame } });
  expect(Object.keys(sent).sort()).toEqual(["duration", "first_frame_image", "model", "prompt", "resolution"]);
});

test("a vidC of six seconds at 1080p is made, with its inline first frame", async () => {
  const { sent } = await video(v1, {
    model: "vidC-1-0-pro-fast",
    prompt: unique(),
    duration: 6,
    image_with_roles: [{ url: `data:image/png;base64,${png}`, role: "first_frame" }],
    metadata: { resolution: "1080p" },
  });
  expect(sent).toMatchObject({ resolution: "1080P", duration: 6, first_frame_image: `data:image/png;base64,${png}` });
});

test("a style is added to the prompt where it fits into 2000 characters", async () => {
  const metadata = { style: "anime" };
  const short = unique();
  expect((await video(v1, { model: "vidA-2", prompt: short, metadata })).sent["prompt"]).toBe(`${short}\n\nStyle: anime.`);
  const long = unique().padEnd(1999, "x");
  expect((await video(v1, { model: "vidA-2", prompt: long, metadata })).sent["prompt"]).toBe(long);
});

const frames = { first_frame_image: firstFrame, last_frame_image: lastFrame };
const hailuo23 = through("MiniMax-Hailuo-2.3");
test.each([
  ["trap: five seconds cannot be made", v1, { duration: 5 }, "duration"],
  ["trap: 9:16 without a first frame", v1, { size: "9:16" }, "size"],
  ["trap: ten seconds at 1080p", v1, { metadata: { resolution: "1080p" } }, "metadata.resolution"],
  ["trap: 512p without a first frame", v1, { metadata: { resolution: "512p" } }, "metadata.resolution"],
  ["trap: 512p with a last frame", v1, { metadata: { resolution: "512p", ...frames } }, "metadata.resolution"],
  ["trap: a last frame without a first", v1, { metadata: { last_frame_image: lastFrame } }, "metadata.last_frame_image"],
  ["trap: a prompt of more than 2000 characters", v1, { prompt: `${unique()}-long`.padEnd(2001, "x") }, "prompt"],
  ["2.3 knows no last frame", hailuo23, { metadata: frames }, "metadata.last_frame_image"],
  ["2.3 knows no 512p", hailuo23, { metadata: { resolution: "512p", first_frame_image: firstFrame } }, "metadata.resolution"],
  ["2.3-Fast needs a first frame", through("MiniMax-Hailuo-2.3-Fast"), {}, "metadata.first_frame_image"],
  ["720p of vidC", v1, { model: "vidC-1-0-pro-fast", duration: 6 }, "metadata.resolution"],
  ["several images, which are references", v1, { model: "vidA-2", images: [firstFrame, lastFrame] }, "images"],
  [
    "images for reference",
    v1,
    { model: "vidC-1-0-pro-fast", duration: 6, image_with_roles: [{ url: firstFrame, role: "reference" }] },
    "image_with_roles",
  ],
])("refused before anything is reserved or sent: %s", async (_, routes, change, param) => {
  const request = { ...plain(unique()), ...change };
  const { status, body, account } = await submitTo(routes, videos, request);
  expect([status, body.error?.code, body.error?.param], JSON.stringify(body)).toEqual([400, "unsupported_parameter", param]);
  expect(await asked(request.prompt.slice(0, 100))).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a prompt of 2000 code points is accepted, though JavaScript counts more", async () => {
  const prompt = unique() + "🦊".repeat(1987);
  expect((await video(v1, plain(prompt))).sent["prompt"]).toBe(prompt);
});

test("characters and remixes are refused", async () => {
  const character = { model: "vidA-2", url: "https://videos.example/a.mp4", timestamps: "0,2" };
  const { status, body } = await submitTo(v1, videos, character);
  expect([status, body.error?.code, body.error?.param], JSON.stringify(body)).toEqual([400, "model_not_available", "model"]);
});
