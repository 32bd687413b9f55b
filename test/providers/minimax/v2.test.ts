/** MiniMax v2: H3 and H3-Max make videos of all families if they support exactly the requested parameters. */

import { expect, test, vi } from "vitest";
import { alarm, readBalance, call, deliver, holdTime, passToPoll, unique } from "../../support/gateway.ts";
import { expectVideo, video, firstFrame, lastFrame, plain, through, v2, videos } from "./support.ts";
import { asked, readCalls, generate, submitTo } from "../support.ts";
import { pixel as png } from "../../media/images.ts";

holdTime();

const max = through("MiniMax-H3-Max");
const turbo = through("MiniMax-H3-Max-Turbo");
const text = (prompt: string) => ({ type: "text", text: prompt });
const image = (role: string, url: string) => ({ type: "image_url", image_url: { url }, role });

test("vidD-02 by H3: five seconds, which Hailuo cannot make", async () => {
  const prompt = `${unique()} [queued 1] [running 1]`;
  const { account, data, sent } = await video(v2, { model: "vidD-02", prompt });
  expect(sent).toEqual({ model: "MiniMax-H3", content: [text(prompt)], duration: 5, resolution: "768P", ratio: "16:9" });
  await expectVideo(data);
  expect(await readCalls(prompt)).toEqual(["start", "poll", "poll", "poll", "poll", "file"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.25 });
});

test("a route that cannot honour the request is skipped: five seconds go to H3, ten to Hailuo-02", async () => {
  const routes = through("MiniMax-Hailuo-02", "MiniMax-H3");
  expect((await video(routes, { model: "vidD-02", prompt: unique() })).sent["model"]).toBe("MiniMax-H3");
  expect((await video(routes, plain(unique()))).sent["model"]).toBe("MiniMax-Hailuo-02");
});

test("first and last frame keep their roles, and the image decides the ratio", async () => {
  const prompt = unique();
  const metadata = { first_frame_image: firstFrame, last_frame_image: lastFrame, watermark: true, prompt_optimizer: false };
  const { sent } = await video(v2, { model: "vidD-02", prompt, size: "9:16", metadata });
  expect(sent).toEqual({
    model: "MiniMax-H3",
    content: [text(prompt), image("first_frame", firstFrame), image("last_frame", lastFrame)],
    duration: 5,
    resolution: "768P",
    aigc_watermark: true,
  });
});

test.each([
  ["vidA-2", 15, "9:16"],
  ["vidA-2-pro", 10, "1:1"],
  ["vidB-3.1-fast", 8, "9:16"],
  ["vidB-3.1-quality", 8, "16:9"],
])("%s: %i seconds, %s", async (model, duration, size) => {
  const { sent } = await video(v2, { model, prompt: unique(), duration, size });
  expect(sent).toMatchObject({ model: "MiniMax-H3", duration, ratio: size, resolution: "768P" });
});

test("a vidC at 480p is made by Max, with every ratio and its own minimum duration", async () => {
  const body = { model: "vidC-1-0-pro-quality", duration: 5, size: "21:9", metadata: { resolution: "480p" } };
  const { sent } = await video(max, { ...body, prompt: unique() });
  expect(sent).toMatchObject({ model: "MiniMax-H3-Max", duration: 5, ratio: "21:9", resolution: "480P" });
});

test.each([max, turbo])("Max has no watermark, so that none is not asked for either", async (routes) => {
  const { sent } = await video(routes, { model: "vidA-2", prompt: unique(), metadata: { watermark: false } });
  expect(sent).not.toHaveProperty("aigc_watermark");
});

test("guiding images are references, in their order, inline ones within the body; the watermark is as requested", async () => {
  const prompt = unique();
  const images = [firstFrame, `data:image/png;base64,${png}`];
  const { sent } = await video(v2, { model: "vidA-2", prompt, images, metadata: { style: "comic", thumbnail: false } });
  expect(sent).toEqual({
    model: "MiniMax-H3",
    content: [
      text(`${prompt}\n\nStyle: comic.`),
      image("reference_image", firstFrame),
      image("reference_image", `data:image/png;base64,${png}`),
    ],
    duration: 10,
    resolution: "768P",
    ratio: "16:9",
    aigc_watermark: false,
  });
});

test("a character is named in the prompt, and its image is a reference", async () => {
  const host = new Response("....ftypisom", { headers: { "content-type": "video/mp4" } });
  vi.spyOn(globalThis, "fetch").mockImplementation(() => Promise.resolve(host.clone()));
  const byUrl = { model: "vidA-2", url: "https://videos.example/someone.mp4", timestamps: "0,2" };
  const { account, data } = await generate({ "vidA-2": [{ provider: "media", model: "character" }] }, videos, byUrl);
  vi.restoreAllMocks();
  const { username, display_name: name } = data.result.data.characters[0];
  const prompt = unique();
  const body = { model: "vidA-2", prompt: `${prompt} @${username} waves` };
  const none = await call(videos, { key: account.key, body, vars: { ROUTES: max } });
  expect(none.body.error).toMatchObject({ code: "unsupported_parameter", param: "prompt" });
  const made = await call(videos, { key: account.key, body, vars: { ROUTES: v2 } });
  await deliver(made.body.id as string);
  const [start] = await asked(prompt);
  const imageUrl = expect.stringMatching(/^data:image\/png;base64,/) as string;
  expect(start!.body).toMatchObject({ content: [text(`${prompt} ${name} waves`), image("reference_image", imageUrl)] });
});

test.each([
  ["25 seconds", v2, { model: "vidA-2-pro", duration: 25 }, "duration"],
  ["three seconds", v2, { model: "vidC-1-0-pro-fast", duration: 3, metadata: { resolution: "480p" } }, "duration"],
  ["four seconds of Max", max, { model: "vidC-1-0-pro-fast", duration: 4, metadata: { resolution: "480p" } }, "duration"],
  ["720p", v2, { model: "vidC-1-0-pro-fast" }, "metadata.resolution"],
  ["480p of H3", v2, { model: "vidC-1-0-pro-fast", metadata: { resolution: "480p" } }, "metadata.resolution"],
  ["1080p, for 2K is something else", v2, { metadata: { resolution: "1080p" } }, "metadata.resolution"],
  ["512p", v2, { metadata: { resolution: "512p", first_frame_image: firstFrame } }, "metadata.resolution"],
  ["an optimizer", v2, { metadata: { prompt_optimizer: true } }, "metadata.prompt_optimizer"],
  ["four seconds of Max Turbo", turbo, { model: "vidC-1-0-pro-fast", duration: 4, metadata: { resolution: "480p" } }, "duration"],
  ["references for Max Turbo", turbo, { model: "vidA-2", images: [firstFrame, lastFrame] }, "images"],
  ["a watermark of Max", max, { model: "vidA-2", metadata: { watermark: true } }, "metadata.watermark"],
  ["references for Max", max, { model: "vidA-2", images: [firstFrame, lastFrame] }, "images"],
  [
    "frames beside references",
    max,
    {
      model: "vidC-1-0-pro-fast",
      metadata: { resolution: "480p" },
      image_with_roles: [
        { url: firstFrame, role: "first_frame" },
        { url: lastFrame, role: "reference" },
      ],
    },
    "image_with_roles",
  ],
])("refused before anything is reserved or sent: %s", async (_, routes, change, param) => {
  const request = { model: "vidD-02", prompt: unique(), ...change };
  const { status, body, account } = await submitTo(routes, videos, request);
  expect([status, body.error?.code, body.error?.param], JSON.stringify(body)).toEqual([400, "unsupported_parameter", param]);
  expect(await asked(request.prompt)).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each([
  ["queued is taken back there", "[queued]", v2, ["start", "poll", "poll", "cancel"]],
  ["running goes on there, for it cannot be stopped", "[running]", v2, ["start", "poll", "poll", "cancel"]],
  ["v1 has no way to take it back", "[queued]", through("MiniMax-Hailuo-02"), ["start", "poll"]],
])("cancelled by the caller: %s", async (_, order, routes, calls) => {
  const prompt = `${unique()} ${order}`;
  const { account, body } = await submitTo(routes, videos, plain(prompt));
  const id = body.id as string;
  await deliver(id);
  await passToPoll(id);
  const cancelled = await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  expect(cancelled.status, JSON.stringify(cancelled.body)).toBe(200);
  await alarm(id);
  expect(await readCalls(prompt)).toEqual(calls);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});
