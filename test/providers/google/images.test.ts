/** Images by the Gemini API: its requests and answers, and the effects on the task and its money. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { readBalance, call, deliver, finish, holdTime, unique } from "../../support/gateway.ts";
import { pixel as png } from "../../media/images.ts";
import { asked, readCalls, capture, generate, submitTo } from "../support.ts";

holdTime();

const id = "imgC-3-pro-image-preview";
const path = "/v1/images/generations";
const google = { provider: "google", model: "gemini-3-pro-image" };
const routes = { [id]: [google] };
const twoRoutes = { [id]: [google, { provider: "google", model: "gemini-3.1-flash-image" }] };

/** Width and height of a stored image. */
async function pixels(url: string): Promise<[number, number]> {
  const { status, body } = await call(url);
  expect(status).toBe(200);
  const view = new DataView(body as ArrayBuffer);
  expect(view.getUint32(0)).toBe(0x89504e47);
  return [view.getUint32(16), view.getUint32(20)];
}

/** Answers requests for the callers' URLs. */
function serve(body: BodyInit): void {
  const real = globalThis.fetch.bind(globalThis);
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) =>
    new Request(input).url.startsWith("https://images.example/") ? new Response(body) : real(input, init),
  );
}

/** The task fails with this code, nothing is charged, and at most `starts` generations were started. */
async function endsAs(code: string, prompt: string, starts: number, body: object = {}) {
  const { account, data } = await generate(routes, path, { model: id, prompt, ...body });
  expect(data).toMatchObject({ status: "failed", error: { code } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await readCalls(prompt)).toEqual(Array.from({ length: starts }, () => "start"));
}

test("an image is generated and stored with the requested ratio and size", async () => {
  const prompt = `a house ${unique()}`;
  const { account, data } = await generate(routes, path, { model: "imgC-alias-pro", prompt, size: "3:2" });
  expect(data.status).toBe("completed");
  expect(await pixels(data.result.images[0].url[0])).toEqual([64, 64]);
  const [start, ...rest] = await asked(prompt);
  expect(rest).toEqual([]);
  expect(start!.body).toEqual({
    model: "gemini-3-pro-image",
    contents: [{ role: "user", parts: [{ text: prompt }] }],
    generationConfig: { responseModalities: ["IMAGE"], imageConfig: { aspectRatio: "3:2", imageSize: "1K" } },
  });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.12 });
});

test("hd is imageSize 2K", async () => {
  const prompt = unique();
  const { data } = await generate(routes, path, { model: id, prompt, quality: "hd" });
  expect(await pixels(data.result.images[0].url[0])).toEqual([128, 128]);
  expect((await asked(prompt))[0]!.body).toMatchObject({ generationConfig: { imageConfig: { imageSize: "2K" } } });
});

test("n images are n calls", async () => {
  const prompt = unique();
  const { data } = await generate(routes, path, { model: id, prompt, n: 3 });
  expect(data.result.images).toHaveLength(3);
  expect(await readCalls(prompt)).toEqual(["start", "start", "start"]);
});

test("if a later image is blocked, the earlier ones are delivered and charged", async () => {
  const prompt = `[first 1] ${unique()}`;
  const { account, data } = await generate(routes, path, { model: id, prompt, n: 3 });
  expect(data.result.images).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.12 });
});

test("callers' images are sent as inlineData, by URL and inline alike, in their order", async () => {
  const prompt = unique();
  serve(Uint8Array.fromBase64(png));
  const images = ["https://images.example/a.png", `data:image/png;base64,${png}`];
  const { data } = await generate(routes, path, { model: id, prompt, images });
  expect(data.status).toBe("completed");
  const inlineData = { mimeType: "image/png", data: png };
  expect((await asked(prompt))[0]!.body).toMatchObject({ contents: [{ parts: [{ text: prompt }, { inlineData }, { inlineData }] }] });
});

test("a file that is not an image fails the task as invalid_input, and the incomplete request has no effect", async () => {
  const prompt = unique();
  serve("no image");
  const { account, data } = await generate(routes, path, { model: id, prompt, images: ["https://images.example/a.png"] });
  expect(data).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  expect(await readCalls(prompt)).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a large image in the answer is decoded while it is read", async () => {
  const { data } = await generate(routes, path, { model: id, prompt: `[large] ${unique()}` });
  expect(await pixels(data.result.images[0].url[0])).toEqual([2048, 1024]);
});

test("draft images among the parts are ignored", async () => {
  const { data } = await generate(routes, path, { model: id, prompt: `[thought] ${unique()}` });
  expect(await pixels(data.result.images[0].url[0])).toEqual([64, 64]);
});

test.each(["moderated", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "RECITATION"])(
  "blocked with HTTP 200 (%s) is a verdict on the content",
  (word) => endsAs("content_policy_violation", `[${word}] ${unique()}`, 1),
);

test.each(["NO_IMAGE", "words", "broken", "drop"])("%s fails as provider_error, and nothing is generated again", (word) =>
  endsAs("provider_error", `[${word}] ${unique()}`, word === "broken" ? 0 : 1),
);

test("an image that Google cannot process fails as the caller's input", () =>
  endsAs("invalid_input", `[bad-image] ${unique()}`, 0, { images: [`data:image/png;base64,${png}`] }));

test.each(["[limit 1]", "[limit 1] [wrapped]", "[unavailable 1]"])("%s: retried, because nothing was accepted", async (orders) => {
  const prompt = `${orders} ${unique()}`;
  const { data } = await generate(routes, path, { model: id, prompt });
  expect(data.status).toBe("completed");
  expect(await readCalls(prompt)).toEqual(["start"]);
});

test("RetryInfo is read also from an error that is wrapped in an array", async () => {
  const { account, body } = await submitTo(routes, path, { model: id, prompt: `[limit 1] [wrapped] ${unique()}` });
  const lines = vi.spyOn(console, "error").mockImplementation(() => undefined);
  await deliver(body.id as string);
  expect(lines.mock.calls.flat().join()).toContain("RESOURCE_EXHAUSTED");
  expect(lines.mock.calls.flat().join()).not.toContain("account_fault");
  expect((await finish(account, body.id as string)).body.data.status).toBe("completed");
});

test.each(["[retired 1]", "[limit 2]", "[unavailable 2]", "[NO_IMAGE 1]"])("%s falls back to the next route", async (orders) => {
  const prompt = `${orders} ${unique()}`;
  const { data } = await generate(twoRoutes, path, { model: id, prompt });
  expect(data.status).toBe("completed");
  expect((await asked(prompt)).at(-1)!.body).toMatchObject({ model: "gemini-3.1-flash-image" });
});

test("a verdict on the content has no fallback", async () => {
  const prompt = `[moderated] ${unique()}`;
  const { data } = await generate(twoRoutes, path, { model: id, prompt });
  expect(data.error.code).toBe("content_policy_violation");
  expect(await readCalls(prompt)).toEqual(["start"]);
});

test("hd is refused for a model with a single size, and a route to a video model is unsupported", async () => {
  for (const [model, code, param] of [
    ["gemini-2.5-flash-image", "unsupported_parameter", "quality"],
    ["veo-3.1-generate-001", "model_not_available", "model"],
    ["gemini-omni-1.2-flash", "model_not_available", "model"],
  ]) {
    const answer = await submitTo({ [id]: [{ provider: "google", model: model! }] }, path, { model: id, prompt: "x", quality: "hd" });
    expect(answer).toMatchObject({ status: 400, body: { error: { code, param } } });
    expect(await readBalance(answer.account)).toMatchObject({ reserved: 0, used: 0 });
  }
});

// Last, because these mark the provider unhealthy for a minute of held time.
test.each(["[wallet]", "[region]"])("%s marks the provider unhealthy and alerts the operator", async (orders) => {
  const { account, body } = await submitTo(routes, path, { model: id, prompt: `${orders} ${unique()}` });
  vi.setSystemTime(Date.now() + 61_000);
  expect(isUnhealthy({ provider: "google", model: "gemini-3-pro-image" })).toBe(false);
  const lines = vi.spyOn(console, "error").mockImplementation(() => undefined);
  await deliver(body.id as string);
  expect(isUnhealthy({ provider: "google", model: "gemini-3-pro-image" })).toBe(true);
  // The Vertex account is a separate one.
  expect(isUnhealthy({ provider: "google", model: "veo-3.1-generate-001" })).toBe(false);
  expect(lines.mock.calls.flat().join()).toContain(`"unit":"provider","provider":"google","outcome":"account_fault"`);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a wrong key, which is 400 INVALID_ARGUMENT, marks the provider unhealthy; no log line contains a key", async () => {
  vi.setSystemTime(Date.now() + 61_000);
  const texts = capture();
  const prompt = unique();
  const { account, body } = await submitTo(routes, path, { model: id, prompt });
  await deliver(body.id as string, undefined, { GEMINI_API_KEY: "wrong-key" });
  expect(isUnhealthy({ provider: "google", model: "gemini-3-pro-image" })).toBe(true);
  const { data } = (await finish(account, body.id as string)).body;
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await readCalls(prompt)).toEqual([]);
  texts.push(JSON.stringify(data));
  expect(texts.filter((text) => text.includes("wrong-key") || text.includes(env.GEMINI_API_KEY!))).toEqual([]);
});
