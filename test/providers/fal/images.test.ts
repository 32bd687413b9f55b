/** Images by the fal queue: each family's request, and its delivery. */

import { expect, test } from "vitest";
import { readBalance, call, holdTime, unique } from "../../support/gateway.ts";
import { base64, png } from "../../media/images.ts";
import { readFiles, toSubmission } from "./support.ts";
import { asked, readCalls, generate, routesTo, submitTo } from "../support.ts";

holdTime();

const images = "/v1/images/generations";
const url = "https://images.example/a.png";
const inline = `data:image/png;base64,${base64.png}`;

const seedream = "fal-ai/bytedance/seedream/v4";
const hd = { quality: "hd" };
const made = { num_images: 1 };
const cases: [string, string, object, string, object][] = [
  ["imgA-4", seedream, { size: "16:9", n: 2 }, `${seedream}/text-to-image`, { num_images: 2, image_size: { width: 1792, height: 1024 } }],
  ["imgA-4", seedream, { size: "4:3", ...hd }, `${seedream}/text-to-image`, { ...made, image_size: { width: 2730, height: 2048 } }],
  [
    "imgA-4",
    `${seedream}/edit`,
    { images: [url] },
    `${seedream}/edit`,
    { ...made, image_size: { width: 1024, height: 1024 }, image_urls: [url] },
  ],
  ["imgA-4", `${seedream}.5`, { size: "16:9" }, `${seedream}.5/text-to-image`, { ...made, image_size: { width: 2560, height: 1440 } }],
  ["imgA-4", `${seedream}.5`, { size: "4:3" }, `${seedream}.5/text-to-image`, { ...made, image_size: { width: 2218, height: 1664 } }],
  [
    "imgA-4",
    "fal-ai/bytedance/seedream/v5/lite",
    { size: "2:3", ...hd },
    "fal-ai/bytedance/seedream/v5/lite/text-to-image",
    { ...made, image_size: { width: 2508, height: 3762 } },
  ],
  [
    "imgA-4",
    "bytedance/seedream/v5/pro",
    { size: "4:3" },
    "bytedance/seedream/v5/pro/text-to-image",
    { ...made, image_size: { width: 1365, height: 1024 } },
  ],
  [
    "imgA-4",
    "bytedance/seedream/v5/pro",
    { size: "4:3", images: [url], ...hd },
    "bytedance/seedream/v5/pro/edit",
    { ...made, image_size: { width: 2364, height: 1772 }, image_urls: [url] },
  ],
  [
    "imgB-4o-image",
    "fal-ai/gpt-image-1.5",
    { size: "3:2" },
    "fal-ai/gpt-image-1.5",
    { ...made, image_size: "1536x1024", quality: "medium" },
  ],
  [
    "imgB-4o-image",
    "openai/gpt-image-2",
    { size: "4:3", images: [url, inline], ...hd },
    "openai/gpt-image-2/edit",
    { ...made, image_size: { width: 1360, height: 1024 }, quality: "high", image_urls: [url, inline] },
  ],
  [
    "imgC-3-pro-image-preview",
    "fal-ai/nano-banana-pro",
    { size: "2:3", n: 4, ...hd },
    "fal-ai/nano-banana-pro",
    { num_images: 4, aspect_ratio: "2:3", resolution: "2K" },
  ],
  [
    "imgC-3-pro-image-preview",
    "fal-ai/nano-banana-pro",
    { images: [inline] },
    "fal-ai/nano-banana-pro/edit",
    { ...made, aspect_ratio: "1:1", resolution: "1K", image_urls: [inline] },
  ],
  ["imgC-3-pro-image-preview", "fal-ai/nano-banana", {}, "fal-ai/nano-banana", { ...made, aspect_ratio: "1:1" }],
];

test.each(cases)("%s by %s: %o", async (publicModel, model, request, endpoint, input) => {
  const prompt = `a quay [queued 1] [running 1] ${unique()}`;
  const { account, data } = await generate(routesTo("fal", publicModel, model), images, { model: publicModel, prompt, ...request });
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await toSubmission(prompt)).toEqual({ endpoint, input: { prompt, ...input }, lifecycle: { expiration_duration_seconds: 86_400 } });
  const { length } = data.result.images;
  expect(length).toBe((input as { num_images: number }).num_images);
  const file = await call(data.result.images[length - 1].url[0]);
  expect(new Uint8Array(file.body)).toEqual((await readFiles(prompt))[length - 1]);
  const { reserved, used } = await readBalance(account);
  expect(reserved).toBe(0);
  expect(used).toBeGreaterThan(0);
  const calls = await readCalls(prompt);
  expect(calls.filter((name) => name === "start")).toHaveLength(1);
  expect(calls.slice(0, 6)).toEqual(["start", "poll", "poll", "poll", "result", "made"]);
});

test.each([
  ["imgB-4o-image", "fal-ai/gpt-image-1.5", { size: "16:9" }, "size"],
  ["imgC-3-pro-image-preview", "fal-ai/nano-banana", { quality: "hd" }, "quality"],
  ["imgA-4", "fal-ai/flux/dev", { quality: "hd" }, "quality"],
])("%s by %s cannot honour %o", async (publicModel, model, request, param) => {
  const prompt = unique();
  const { account, status, body } = await submitTo(routesTo("fal", publicModel, model), images, { model: publicModel, prompt, ...request });
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ code: "unsupported_parameter", param });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await asked(prompt)).toEqual([]);
});

test("a family of video models is refused for images", async () => {
  const { status, body } = await submitTo(routesTo("fal", "imgA-4", "fal-ai/veo3.1"), images, { model: "imgA-4", prompt: unique() });
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ code: "model_not_available", param: "model" });
});

test("large inline images arrive complete, in their order among URLs", async () => {
  const prompt = unique();
  const large = (fill: number) => {
    const bytes = new Uint8Array(3 * 1024 * 1024).fill(fill);
    bytes.set(png);
    return `data:image/png;base64,${bytes.toBase64()}`;
  };
  const given = [large(1), url, large(2)];
  const { data } = await generate(routesTo("fal", "imgA-4", seedream), images, { model: "imgA-4", prompt, images: given });
  expect(data.status, JSON.stringify(data)).toBe("completed");
  const { image_urls } = (await toSubmission(prompt)).input as { image_urls: string[] };
  // Compared as a boolean: megabytes in the text of a failed assertion would not help.
  expect(given.map((text, at) => text === image_urls[at])).toEqual([true, true, true]);
});
