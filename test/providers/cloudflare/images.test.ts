/** Images through Cloudflare: each family's request and its result, through the binding and through REST. */

import { expect, test } from "vitest";
import { readBalance, holdTime, unique } from "../../support/gateway.ts";
import { readCalls } from "../support.ts";
import { doors, generateBy, readHeads, images, inline, png, publicImage, readStarts } from "./support.ts";

holdTime();

const asked: [string, { model: string; [field: string]: unknown }, Record<string, unknown>][] = [
  ["bytedance/seedream-4.0", { model: "imgA-4" }, { aspect_ratio: "1:1", size: "1K" }],
  ["bytedance/seedream-4.0", { model: "imgA-4", size: "4:3", quality: "hd" }, { aspect_ratio: "4:3", size: "2K" }],
  ["bytedance/seedream-4.5", { model: "imgA-4", size: "9:16" }, { aspect_ratio: "9:16", size: "2K" }],
  [
    "bytedance/seedream-4.5",
    { model: "imgA-4", quality: "hd", images: [inline] },
    { aspect_ratio: "1:1", size: "4K", image_input: [inline] },
  ],
  ["bytedance/seedream-5-pro", { model: "imgA-4", size: "16:9", images: [inline] }, { size: "1792x1024", image: [inline] }],
  ["bytedance/seedream-5-pro", { model: "imgA-4", quality: "hd" }, { size: "2K" }],
  ["openai/gpt-image-2", { model: "imgB-4o-image" }, { size: "1024x1024", quality: "medium" }],
  ["openai/gpt-image-2", { model: "imgB-4o-image", size: "3:2", quality: "hd" }, { size: "1536x1024", quality: "high" }],
  [
    "openai/gpt-image-2",
    { model: "imgB-4o-image", size: "2:3", images: [inline] },
    { size: "1024x1536", quality: "medium", images: [inline] },
  ],
  [
    "google/nano-banana-pro",
    { model: "imgC-3-pro-image-preview", size: "16:9", quality: "hd", images: [inline] },
    { aspect_ratio: "16:9", image_size: "2K", output_format: "png", image_input: [inline] },
  ],
  ["@cf/black-forest-labs/flux-1-schnell", { model: "imgA-4" }, {}],
  ["@cf/leonardo/lucid-origin", { model: "imgA-4", size: "3:4" }, { width: 1024, height: 1360 }],
  ["@cf/bytedance/stable-diffusion-xl-lightning", { model: "imgA-4" }, {}],
];

for (const door of doors)
  test.each(asked)(`through the ${door} %s makes %o`, async (model, body, input) => {
    const prompt = unique();
    const { account, data } = await generateBy(door, [model], images, { ...body, prompt } as never);
    expect(data).toMatchObject({ status: "completed", result: { images: [{ url: [expect.any(String)] }] } });
    expect(await readHeads(data.result.images[0].url)).toEqual([png]);
    expect(await readStarts(prompt)).toEqual([{ door, model, input: { prompt, ...input } }]);
    expect((await readBalance(account)).reserved).toBe(0);
    expect((await readBalance(account)).used).toBeGreaterThan(0);
  });

test.each(doors)("through the %s a caller's URL is sent unchanged if the model fetches it, and otherwise as data", async (door) => {
  const url = await publicImage();
  const fetching = unique();
  await generateBy(door, ["bytedance/seedream-4.5"], images, { model: "imgA-4", prompt: fetching, images: [url] } as never);
  expect((await readStarts(fetching))[0]!.input["image_input"]).toEqual([url]);
  const reading = unique();
  const { data } = await generateBy(door, ["openai/gpt-image-2"], images, {
    model: "imgB-4o-image",
    prompt: reading,
    images: [url],
  } as never);
  expect(data.status).toBe("completed");
  expect((await readStarts(reading))[0]!.input["images"]).toEqual([expect.stringMatching(/^data:image\/png;base64,iVBOR/)]);
});

test.each(doors)("through the %s several images are as many calls, none of them answered from the cache", async (door) => {
  const prompt = unique();
  const { data } = await generateBy(door, ["bytedance/seedream-4.5"], images, { model: "imgA-4", prompt, n: 3 } as never);
  expect(data.result.images).toHaveLength(3);
  const calls = await readCalls(prompt);
  expect(new Set((await readStarts(prompt)).map(({ input }) => JSON.stringify(input))).size).toBe(1);
  expect(calls).toEqual(["start", "start", "start", "file", "file", "file"]);
});

test.each(doors)("through the %s fewer images than requested cost less", async (door) => {
  const prompt = `${unique()} [only 1]`;
  const body = { model: "imgC-3-pro-image-preview", prompt, n: 3 };
  const { account, data } = await generateBy(door, ["google/nano-banana-pro"], images, body);
  expect(data.result.images).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.12 });
  expect(await readCalls(prompt)).toEqual(["start", "refused", "file"]);
});
