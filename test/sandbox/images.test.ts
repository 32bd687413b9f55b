/** Images are decoded: size, colours, and that no two are the same. */

import { decode } from "fast-png";
import { expect, test } from "vitest";
import { download, image, run, useSteppedClock, video } from "./support.ts";

useSteppedClock();

async function hash(url: string | undefined): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await download(url, "image/png"))).toHex();
}

const png = async (url: string | undefined) => decode(await download(url, "image/png"), { checkCrc: true });

test.each([
  ["1:1", 1024, 1024],
  ["16:9", 1792, 1024],
  ["9:16", 1024, 1792],
  ["4:3", 1365, 1024],
  ["3:4", 1024, 1365],
  ["3:2", 1536, 1024],
  ["2:3", 1024, 1536],
])("a %s image has the reference pixels", async (size, width, height) => {
  const { outputs } = await run({ ...image, size });
  expect(outputs?.[0]).toMatchObject({ width, height });
  const pixels = await png(outputs?.[0]?.url);
  expect([pixels.width, pixels.height, pixels.palette?.length]).toEqual([width, height, 256]);
  expect(new Set(pixels.data).size).toBeGreaterThan(100);
});

test("hd has twice the width and height", async () => {
  const { outputs } = await run({ ...image, size: "16:9", quality: "hd" });
  const pixels = await png(outputs?.[0]?.url);
  expect([pixels.width, pixels.height]).toEqual([3584, 2048]);
});

test("each of n, each prompt, each model and each reference gives another image; the same operation gives the same", async () => {
  const four = await run({ ...image, n: 4 });
  const prompt = await run({ ...image, prompt: "a blue fox" });
  const model = await run({ ...image, model: "imgB-4o-image" });
  const guided = await run({ ...image, references: [{ sha256: "ab", type: "image/png" }] });
  const urls = [four, prompt, model, guided].flatMap(({ outputs }) => outputs ?? []).map(({ url }) => url);
  const hashes = await Promise.all(urls.map(hash));
  expect(new Set(hashes).size).toBe(7);
  expect(await hash(urls[0])).toBe(hashes[0]);
});

test.each([
  ["Chinese", "一只橘猫坐在窗台上看雨"],
  ["Japanese", "雨の東京の夜、ネオンが映る"],
  ["Korean", "한국의 가을 산사"],
  ["Russian", "Зимний лес на рассвете"],
  ["Arabic", "منارة عند الفجر فوق البحر"],
  ["emoji", "🦊🚀 👩🏽‍🚀"],
  ["a thousand wide letters", "漢".repeat(1000)],
  ["one endless word", "x".repeat(4000)],
])("a prompt with %s is drawn", async (_, prompt) => {
  const { outputs } = await run({ ...image, prompt });
  const pixels = await png(outputs?.[0]?.url);
  // Glyphs use the lightest tone, and the panel behind them does not.
  const panel = Uint8Array.from(pixels.data).subarray(pixels.width * 700, pixels.width * 960);
  expect(panel.reduce((letters, tone) => letters + (tone === 255 ? 1 : 0), 0)).toBeGreaterThan(500);
});

test("a prompt of invisible characters only is accepted", async () => {
  const { outputs } = await run({ ...image, prompt: "\u200b" });
  expect((await png(outputs?.[0]?.url)).width).toBe(1024);
});

test("a video's thumbnail is an image of the video's size, when requested", async () => {
  const { outputs } = await run({ ...video, size: "9:16", thumbnail: true });
  const pixels = await png(outputs?.[0]?.thumbnail_url);
  expect([pixels.width, pixels.height]).toEqual([720, 1280]);
  const plain = await run({ ...video, size: "9:16" });
  expect(plain.outputs?.[0]).not.toHaveProperty("thumbnail_url");
});
