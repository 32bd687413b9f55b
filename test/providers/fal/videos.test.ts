/** Videos by the fal queue: each family's request, unsupported fields, and delivery. */

import { expect, test, vi } from "vitest";
import { readBalance, call, finish, holdTime, unique } from "../../support/gateway.ts";
import { base64 } from "../../media/images.ts";
import { readFiles, toSubmission } from "./support.ts";
import { asked, countAll, generate, routesTo, submitTo } from "../support.ts";

holdTime();

const videos = "/v1/videos/generations";
const url = "https://images.example/a.png";
const other = "https://images.example/b.png";
const third = "https://images.example/c.png";
const inline = `data:image/png;base64,${base64.png}`;
const first = { url, role: "first_frame" };
const last = { url: other, role: "last_frame" };
const reference = { url: third, role: "reference" };

const veo = "fal-ai/veo3.1";
const seedance = "fal-ai/bytedance/seedance/v1/pro";
const hailuo = "fal-ai/minimax/hailuo-02";
const second = "bytedance/seedance-2.0";
const wan = "alibaba/wan-3.0";
const kling = "fal-ai/kling-video/v3";
const veoInput = { aspect_ratio: "16:9", duration: "8s" };
const seedanceInput = { aspect_ratio: "16:9", duration: "5", resolution: "720p" };
const [vidB, vidC, vidD] = ["vidB-3.1-fast", "vidC-1-0-pro-fast", "vidD-02"];

const cases: [string, string, object, string, object][] = [
  [vidB, `${veo}/fast`, { size: "9:16" }, `${veo}/fast`, { ...veoInput, aspect_ratio: "9:16" }],
  [vidB, `${veo}/fast`, { images: [inline] }, `${veo}/fast/image-to-video`, { ...veoInput, aspect_ratio: "auto", image_url: inline }],
  [
    vidB,
    `${veo}/fast`,
    { image_with_roles: [last, first] },
    `${veo}/fast/first-last-frame-to-video`,
    { ...veoInput, aspect_ratio: "auto", first_frame_url: url, last_frame_url: other },
  ],
  [vidB, `${veo}/fast`, { images: [url, other] }, `${veo}/fast/reference-to-video`, { ...veoInput, image_urls: [url, other] }],
  ["vidB-3.1-quality", veo, { images: [url, other, third] }, `${veo}/reference-to-video`, { ...veoInput, image_urls: [url, other, third] }],
  [
    vidC,
    `${seedance}/fast`,
    { duration: 12, size: "21:9" },
    `${seedance}/fast/text-to-video`,
    { ...seedanceInput, duration: "12", aspect_ratio: "21:9" },
  ],
  [
    vidC,
    `${seedance}/fast`,
    { image_with_roles: [first], metadata: { resolution: "1080p" } },
    `${seedance}/fast/image-to-video`,
    { ...seedanceInput, aspect_ratio: "auto", resolution: "1080p", image_url: url },
  ],
  [
    "vidC-1-0-pro-quality",
    second,
    { image_with_roles: [last, first] },
    `${second}/image-to-video`,
    { ...seedanceInput, aspect_ratio: "auto", image_url: url, end_image_url: other },
  ],
  [
    vidC,
    `${second}/fast`,
    { image_with_roles: [reference], metadata: { resolution: "480p" } },
    `${second}/fast/reference-to-video`,
    { ...seedanceInput, resolution: "480p", image_urls: [third] },
  ],
  [
    vidD,
    hailuo,
    { duration: 10, metadata: { prompt_optimizer: false } },
    `${hailuo}/standard/text-to-video`,
    { duration: "10", prompt_optimizer: false },
  ],
  [
    vidD,
    `${hailuo}/standard`,
    {
      duration: 10,
      size: "9:16",
      metadata: { resolution: "512p", first_frame_image: url, last_frame_image: other, prompt_optimizer: true },
    },
    `${hailuo}/standard/image-to-video`,
    { duration: "10", prompt_optimizer: true, resolution: "512P", image_url: url, end_image_url: other },
  ],
  ["vidA-2", "fal-ai/wan/v2.7", { images: [url] }, "fal-ai/wan/v2.7/image-to-video", { duration: "10", image_url: url }],
  [
    "vidA-2-pro",
    "bytedance/seedance-2.5",
    { duration: 25 },
    "bytedance/seedance-2.5/text-to-video",
    { aspect_ratio: "16:9", duration: "25" },
  ],
  ["vidA-2-pro", wan, { duration: 25, size: "9:16" }, `${wan}/text-to-video`, { aspect_ratio: "9:16", duration: 25, resolution: "720p" }],
  [
    "vidA-2-pro",
    wan,
    { images: [url, other], duration: 15 },
    `${wan}/reference-to-video`,
    { aspect_ratio: "16:9", duration: 15, resolution: "720p", reference_image_urls: [url, other] },
  ],
  [
    vidC,
    wan,
    { image_with_roles: [last, first], metadata: { resolution: "480p" } },
    `${wan}/image-to-video`,
    { duration: 5, resolution: "480p", start_image_url: url, end_image_url: other },
  ],
  ["vidA-2", `${kling}/pro`, { size: "1:1" }, `${kling}/pro/text-to-video`, { aspect_ratio: "1:1", duration: "10" }],
  ["vidA-2", `${kling}/standard`, { images: [url] }, `${kling}/standard/image-to-video`, { duration: "10", start_image_url: url }],
  ["vidA-2", second, { duration: 15, size: "1:1" }, `${second}/text-to-video`, { aspect_ratio: "1:1", duration: "15" }],
];

test.each(cases)("%s by %s: %o", async (publicModel, model, request, endpoint, input) => {
  const prompt = `a quay [queued 1] [odd 1] ${unique()}`;
  const { account, data } = await generate(routesTo("fal", publicModel, model), videos, { model: publicModel, prompt, ...request });
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await toSubmission(prompt)).toEqual({ endpoint, input: { prompt, ...input }, lifecycle: { expiration_duration_seconds: 86_400 } });
  const file = await call(data.result.videos[0].url[0]);
  expect(new Uint8Array(file.body)).toEqual((await readFiles(prompt))[0]);
  const { reserved, used } = await readBalance(account);
  expect(reserved).toBe(0);
  expect(used).toBeGreaterThan(0);
  expect(await countAll(prompt, "start")).toBe(1);
});

test("a character's image is a reference, and its display name is in the prompt", async () => {
  const routes = { "vidA-2": [{ provider: "media", model: "character" }, ...routesTo("fal", "vidA-2", second)["vidA-2"]!] };
  vi.spyOn(globalThis, "fetch").mockImplementation(() => Promise.resolve(new Response("....ftypisom")));
  const clip = { model: "vidA-2", url: "https://videos.example/a.mp4", timestamps: "0,2" };
  const { account, data: made } = await generate(routes, videos, clip);
  vi.restoreAllMocks();
  const [character] = made.result.data.characters;
  const word = unique();
  const body = { model: "vidA-2", prompt: `${word} @${character.username} waves`, image_with_roles: [reference] };
  const submitted = await call(videos, { key: account.key, body, vars: { ROUTES: routesTo("fal", "vidA-2", `${second}/fast`) } });
  const { data } = (await finish(account, submitted.body.id, 20)).body;
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await toSubmission(word)).toMatchObject({
    endpoint: `${second}/fast/reference-to-video`,
    input: { prompt: `${word} ${character.display_name} waves`, image_urls: [third, expect.stringMatching(/^data:image\/png;base64,/)] },
  });
  const refused = await call(videos, {
    key: account.key,
    body: { ...body, image_with_roles: [] },
    vars: { ROUTES: routesTo("fal", "vidA-2", "fal-ai/wan/v2.7") },
  });
  expect(refused.body.error).toMatchObject({ code: "unsupported_parameter", param: "prompt" });
});

test("a style is added to the prompt", async () => {
  const prompt = unique();
  await generate(routesTo("fal", "vidA-2", second), videos, { model: "vidA-2", prompt, metadata: { style: "comic", storyboard: true } });
  expect(await toSubmission(prompt)).toMatchObject({ input: { prompt: `${prompt}\n\nStyle: comic.` } });
});

const small = { metadata: { resolution: "512p" } };
const large = { metadata: { resolution: "1080p" } };
test.each<[string, string, object, string]>([
  [vidC, wan, { size: "21:9" }, "size"],
  [vidC, wan, { images: [url], size: "9:16" }, "size"],
  [vidC, wan, { image_with_roles: [last] }, "image_with_roles"],
  [vidC, wan, { prompt: "x".repeat(2501) }, "prompt"],
  ["vidA-2-pro", `${kling}/pro`, { duration: 25 }, "duration"],
  ["vidA-2", `${kling}/pro`, { images: [url, other] }, "images"],
  ["vidA-2", `${kling}/pro`, { prompt: "x".repeat(2501) }, "prompt"],
  [vidC, `${kling}/pro`, {}, "metadata.resolution"],
  ["vidA-2", veo, {}, "duration"],
  ["vidA-2", second, { metadata: { watermark: true } }, "metadata.watermark"],
  [vidB, `${veo}/lite`, { images: [url, other, third] }, "images"],
  [vidC, seedance, { images: [url] }, "images"],
  [vidC, seedance, { image_with_roles: [first, last] }, "image_with_roles"],
  ["vidD-02", hailuo, { duration: 10, prompt: "x".repeat(2001) }, "prompt"],
  [vidC, `${seedance}/fast`, { image_with_roles: [first, last] }, "image_with_roles"],
  [vidC, seedance, { image_with_roles: [last] }, "image_with_roles"],
  [vidC, seedance, { image_with_roles: [reference] }, "image_with_roles"],
  [vidC, `${second}/fast`, { image_with_roles: [first, reference] }, "image_with_roles"],
  [vidC, "fal-ai/bytedance/seedance/v1.5/pro", { duration: 3 }, "duration"],
  [vidC, `${second}/fast`, large, "metadata.resolution"],
  [vidD, hailuo, {}, "duration"],
  [vidD, hailuo, { duration: 10, ...large }, "duration"],
  [vidD, hailuo, { duration: 10, size: "9:16" }, "size"],
  [vidD, hailuo, { duration: 10, ...small }, "metadata.resolution"],
  [vidD, `${hailuo}/standard`, { duration: 10, ...large }, "metadata.resolution"],
  [vidD, hailuo, { duration: 10, metadata: { watermark: true } }, "metadata.watermark"],
  [vidD, hailuo, { duration: 10, metadata: { last_frame_image: url } }, "metadata.last_frame_image"],
  [
    vidD,
    "fal-ai/minimax/hailuo-2.3",
    { duration: 10, metadata: { first_frame_image: url, last_frame_image: url } },
    "metadata.last_frame_image",
  ],
])("%s by %s cannot honour %o", async (publicModel, model, request, param) => {
  const prompt = unique();
  const { account, status, body } = await submitTo(routesTo("fal", publicModel, model), videos, { model: publicModel, prompt, ...request });
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ code: "unsupported_parameter", param });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await asked(prompt)).toEqual([]);
});

test("characters are refused, and so is a family of image models for videos", async () => {
  const character = { model: "vidA-2", url: "https://videos.example/a.mp4", timestamps: "0,2" };
  for (const [model, body] of [
    [second, character],
    ["fal-ai/nano-banana-pro", { model: "vidA-2", prompt: unique() }],
  ] as const) {
    const answer = await submitTo(routesTo("fal", "vidA-2", model), videos, body);
    expect(answer.body.error).toMatchObject({ code: "model_not_available", param: "model" });
  }
});
