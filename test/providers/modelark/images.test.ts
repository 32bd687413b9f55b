/** Seedream images through the whole gateway. */

import { expect, test } from "vitest";
import { books, call, holdTime, unique } from "../../support/gateway.ts";
import { jpeg } from "../../media/images.ts";
import { images, inlineImage, imageUrl, routes, routeTo } from "./support.ts";
import { callsOf, countOf, generate, sent } from "../support.ts";

holdTime();

const urlsOf = (data: { result: { images: { url: string[] }[] } }) => data.result.images.map(({ url }) => url[0]!);
const isPng = (bytes: ArrayBuffer) => new Uint8Array(bytes).toHex().startsWith("89504e47");

test("an image: asked for at once, without a watermark, stored and handed out", async () => {
  const prompt = unique();
  const { account, data } = await generate(routes, images, { model: "imgA-4", prompt });
  expect(data.status).toBe("completed");
  const asset = await call(urlsOf(data)[0]!);
  expect(asset.status).toBe(200);
  expect(isPng(asset.body)).toBe(true);
  expect(await sent(prompt)).toEqual([
    { model: "seedream-4-5-251128", prompt, size: "2048x2048", response_format: "url", watermark: false },
  ]);
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test("n is asked for by n calls: there is no parameter for it", async () => {
  const prompt = unique();
  const { account, data } = await generate(routes, images, { model: "imgA-4", prompt, n: 3 });
  expect(urlsOf(data)).toHaveLength(3);
  expect(await sent(prompt)).toHaveLength(3);
  for (const body of await sent(prompt)) expect(body).not.toHaveProperty("n");
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0.09 });
});

test.each([
  [
    "seedream-4-5-251128",
    "standard",
    { "1:1": "2048x2048", "16:9": "2560x1440", "9:16": "1440x2560", "4:3": "2304x1728", "2:3": "1664x2496" },
  ],
  ["seedream-5-0-260128", "hd", { "1:1": "3072x3072", "16:9": "3840x2160", "3:4": "2592x3456", "3:2": "3744x2496" }],
  [
    "seedream-4-0-250828",
    "standard",
    { "1:1": "1024x1024", "16:9": "1792x1024", "4:3": "1365x1024", "3:4": "1024x1365", "2:3": "1024x1536" },
  ],
  ["seedream-4-0-250828", "hd", { "1:1": "2048x2048", "16:9": "2560x1440" }],
  ["dola-seedream-5-0-pro-260628", "standard", { "16:9": "1792x1024", "9:16": "1024x1792" }],
  ["dola-seedream-5-0-pro-260628", "hd", { "1:1": "2048x2048", "3:2": "2496x1664" }],
])("%s at %s is asked for pixels within its limits", async (model, quality, sizes) => {
  for (const [size, pixels] of Object.entries(sizes)) {
    const prompt = unique();
    const { data } = await generate(routeTo("imgA-4", model), images, { model: "imgA-4", prompt, size, quality });
    expect(data.status).toBe("completed");
    expect(await sent(prompt)).toEqual([expect.objectContaining({ model, size: pixels })]);
  }
});

test("images of callers go along: URLs as they are, inline ones as data URIs, in their order", async () => {
  const prompt = `${unique()} with "quotes"`;
  const inlineJpeg = `data:image/jpeg;base64,${jpeg.toBase64()}`;
  const { data } = await generate(routes, images, { model: "imgA-4", prompt, n: 2, images: [inlineImage, imageUrl, inlineJpeg] });
  expect(data.status).toBe("completed");
  const image = [inlineImage, imageUrl, inlineJpeg];
  expect(await sent(prompt.split(" ")[0]!)).toEqual([
    expect.objectContaining({ prompt, image }),
    expect.objectContaining({ prompt, image }),
  ]);
});

test("large inline images arrive whole", { timeout: 20_000 }, async () => {
  const large = new Uint8Array(5 * 1024 * 1024 + 1);
  large.set(Uint8Array.fromBase64(inlineImage.split(",")[1]!));
  const inline = `data:image/png;base64,${large.toBase64()}`;
  const prompt = unique();
  const { data } = await generate(routes, images, { model: "imgA-4", prompt, images: [inline, inline, inline] });
  expect(data.status).toBe("completed");
  const [{ image }] = await sent(prompt);
  expect(image.map((url: string) => url === inline)).toEqual([true, true, true]);
});

test("a per-image error inside data[] of a 200 is a failure: of the content, or the upstream's own", async () => {
  const first = `${unique()} [moderated-later 1]`;
  const { account, data } = await generate(routes, images, { model: "imgA-4", prompt: first, n: 2 });
  expect(data).toMatchObject({ status: "failed", error: { code: "content_policy_violation" } });
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await callsOf(first)).toEqual(["start"]);

  const own = `${unique()} [fails]`;
  expect((await generate(routes, images, { model: "imgA-4", prompt: own })).data).toMatchObject({
    status: "failed",
    error: { code: "provider_error" },
  });
});

test("of several images those are paid for that were made", async () => {
  const prompt = `${unique()} [only 1]`;
  const { account, data } = await generate(routes, images, { model: "imgA-4", prompt, n: 3 });
  expect(urlsOf(data)).toHaveLength(1);
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test("a download that breaks off is fetched again, and nothing is made again", async () => {
  const prompt = `${unique()} [truncated 2]`;
  const { account, data } = await generate(routes, images, { model: "imgA-4", prompt, n: 2 });
  expect(data.status).toBe("completed");
  for (const url of urlsOf(data)) expect(isPng((await call(url)).body)).toBe(true);
  const calls = await callsOf(prompt);
  expect(calls.filter((name) => name === "start")).toHaveLength(2);
  expect(calls.filter((name) => name === "file").length).toBeGreaterThan(2);
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0.06 });
});

test("result URLs that have expired end the task as provider_error, and the money returns", async () => {
  const prompt = `${unique()} [expired]`;
  const { account, data } = await generate(routes, images, { model: "imgA-4", prompt });
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await countOf(prompt, "start")).toBe(1);
});

test("a refusal without the usual envelope is read too", async () => {
  const prompt = `${unique()} [bare]`;
  const { data } = await generate(routes, images, { model: "imgA-4", prompt });
  expect(data).toMatchObject({ status: "failed", error: { code: "content_policy_violation" } });
});
