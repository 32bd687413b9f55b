/** Omni videos by interactions: in the background, as a file behind the key or within the answer, and changed by a further interaction. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { readBalance, call, deliver, finish, holdTime, newAccount, passToPoll, unique, type Account } from "../../support/gateway.ts";
import { pixel as png } from "../../media/images.ts";
import { endsAs, lastStartOf, model, readStart, videos } from "./support.ts";
import { readCalls, capture, countAll, generate, submitTo } from "../support.ts";

holdTime();

const omni = (model = "gemini-omni-1.2-flash") => [{ provider: "google", model }];
const routes = { "vidA-2": omni(), "vidA-2-pro": omni(), "vidB-3.1-fast": omni("gemini-omni-1.1-flash"), "vidB-3.1-quality": omni() };

/** The stored bytes, checked to be the emulator's video. */
async function readVideo(data: { status: string; result: { videos: { url: string[] }[] } }): Promise<ArrayBuffer> {
  expect(data.status).toBe("completed");
  const video = await call(data.result.videos[0]!.url[0]!);
  expect(video.status).toBe(200);
  expect(new TextDecoder().decode((video.body as ArrayBuffer).slice(4, 8))).toBe("ftyp");
  expect(video.body.byteLength).toBe(25_272);
  return video.body as ArrayBuffer;
}

test("of the built-in routes of vidB, Omni makes what has no images, and Veo the rest", async () => {
  const ask = async (body: object) => {
    const prompt = unique();
    const account = await newAccount();
    const { body: made } = await call(videos, { key: account.key, body: { model: "vidB-3.1-quality", prompt, ...body } });
    await deliver(made.id as string);
    return (await readStart(prompt)) as { model?: string };
  };
  expect((await ask({})).model).toBe("gemini-omni-1.2-flash");
  const withImage = await ask({ images: [`data:image/png;base64,${png}`] });
  expect(withImage).toMatchObject({ instances: [{ image: {} }] });
});

test.each([
  ["vidB-3.1-fast", { size: "9:16" }, "9:16", "8s", "gemini-omni-1.1-flash"],
  ["vidB-3.1-quality", {}, "16:9", "8s", "gemini-omni-1.2-flash"],
  ["vidA-2", { duration: 15 }, "16:9", "15s", "gemini-omni-1.2-flash"],
  ["vidA-2-pro", { duration: 10, size: "9:16" }, "9:16", "10s", "gemini-omni-1.2-flash"],
] as const)("%s: ratio and seconds are sent, the duration as text, and the video is stored", async (name, body, ratio, duration, id) => {
  const prompt = `[queued 1] [running 1] [processing 1] ${unique()}`;
  const { account, data } = await generate(routes, videos, { model: name, prompt, ...body });
  await readVideo(data);
  expect(await readStart(prompt)).toEqual({
    model: id,
    input: prompt,
    background: true,
    store: true,
    response_format: { type: "video", delivery: "uri", aspect_ratio: ratio, duration },
    generation_config: { video_config: { task: "text_to_video" } },
  });
  expect((await readBalance(account)).reserved).toBe(0);
});

test.each([
  [1, "image_to_video"],
  [3, "reference_to_video"],
])("%d images are sent inline before the prompt", async (count, task) => {
  const prompt = unique();
  const images = Array.from({ length: count }, () => `data:image/png;base64,${png}`);
  const { data } = await generate(routes, videos, { model, prompt, images });
  await readVideo(data);
  expect(await readStart(prompt)).toMatchObject({
    input: [...images.map(() => ({ type: "image", data: png, mime_type: "image/png" })), { type: "text", text: prompt }],
    generation_config: { video_config: { task } },
  });
});

test("the caller's style follows the prompt", async () => {
  const prompt = unique();
  await readVideo((await generate(routes, videos, { model: "vidA-2", prompt, metadata: { style: "anime" } })).data);
  expect(await readStart(prompt)).toMatchObject({ input: `${prompt}\n\nStyle: anime.` });
});

test("the video may be inline although a file was requested", async () => {
  const prompt = `[inline] ${unique()}`;
  await readVideo((await generate(routes, videos, { model, prompt })).data);
  expect(await readCalls(prompt)).not.toContain("file");
});

test.each(["[truncated 1]", "[inline] [truncated 3]"])("%s: a broken download is repeated without a second generation", async (orders) => {
  const prompt = `${orders} ${unique()}`;
  await readVideo((await generate(routes, videos, { model, prompt })).data);
  expect(await countAll(prompt, "start")).toBe(1);
});

test.each(["[redirect]", "[foreign]"])("%s: a file on another host is fetched without the key", async (orders) => {
  const prompt = `${orders} ${unique()}`;
  await readVideo((await generate(routes, videos, { model, prompt })).data);
  expect(await readCalls(prompt)).toContain("file");
});

test("an answer that has neither an output nor a usage says nothing of the content: it is polled again", async () => {
  const prompt = `[hollow 2] ${unique()}`;
  await readVideo((await generate(routes, videos, { model, prompt })).data);
  expect(await countAll(prompt, "start")).toBe(1);
});

test("an unknown status counts as pending", async () => {
  await readVideo((await generate(routes, videos, { model, prompt: `[new-word 2] ${unique()}` })).data);
});

test.each([
  ["moderated", "content_policy_violation", 0],
  ["moderated-later", "content_policy_violation", 1],
  ["empty", "provider_error", 1],
  ["fails", "provider_error", 1],
  ["incomplete", "provider_error", 1],
  ["file-fails", "provider_error", 1],
  ["expired", "provider_error", 1],
  ["gone", "provider_error", 1],
  ["forgotten", "provider_error", 1],
  ["broken", "provider_error", 0],
  ["retired", "provider_error", 0],
  ["drop", "provider_error", 1],
] as const)("[%s] fails as %s, and the money is returned", (word, code, starts) => endsAs(routes, code, `[${word}] ${unique()}`, starts));

test.each(["[retired 1]", "[limit 2]", "[fails 1]"])("%s falls back to the next route", async (orders) => {
  const prompt = `${orders} ${unique()}`;
  const two = { [model]: [...omni(), ...omni("gemini-omni-1.1-flash")] };
  await readVideo((await generate(two, videos, { model, prompt })).data);
  expect(await lastStartOf(prompt)).toMatchObject({ model: "gemini-omni-1.1-flash" });
});

async function remix(account: Account, video: string, body: object) {
  return call(`/v1/videos/${video}/remix`, { key: account.key, body: { model: "vidA-2", ...body }, vars: { ROUTES: routes } });
}

test("a remix is a further interaction after the one that made the video", async () => {
  const first = unique();
  const { account, id } = await generate(routes, videos, { model: "vidA-2", prompt: first });
  const prompt = `now at night ${unique()}`;
  const made = await remix(account, id, { prompt, size: "9:16", duration: 15 });
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  await readVideo((await finish(account, made.body.id as string, 40)).body.data);
  const body = await readStart(prompt);
  expect(body).toMatchObject({
    input: prompt,
    previous_interaction_id: expect.stringMatching(/^v1_/),
    response_format: { aspect_ratio: "9:16", duration: "15s" },
  });
  expect(body).not.toHaveProperty("generation_config");
});

test("a remix of a video that Omni did not make is refused, and reserves nothing", async () => {
  const veo = { "vidB-3.1-fast": [{ provider: "google", model: "veo-3.1-fast-generate-001" }] };
  const { account, id } = await generate(veo, videos, { model, prompt: unique() });
  const { used } = await readBalance(account);
  const answer = await remix(account, id, { prompt: "x" });
  expect(answer).toMatchObject({ status: 400, body: { error: { code: "unsupported_parameter", param: "video_id" } } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used });
});

test("cancelling a task cancels its interaction", async () => {
  const prompt = `[running] ${unique()}`;
  const { account, body } = await submitTo(routes, videos, { model, prompt });
  const id = body.id as string;
  await deliver(id);
  await passToPoll(id);
  const answer = await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(await readCalls(prompt)).toContain("cancel");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("fields that Omni cannot honour are refused by name, and nothing is reserved", async () => {
  const to = (name: string, id?: string) => ({ [name]: omni(id) });
  const url = "https://a.example/b.png";
  for (const [name, body, param, id] of [
    ["vidA-2-pro", { duration: 25 }, "duration"],
    ["vidA-2", { duration: 15 }, "duration", "gemini-omni-1.1-flash"],
    ["vidA-2", { duration: 15 }, "duration", "gemini-omni-flash-preview"],
    ["vidA-2", { size: "1:1" }, "size"],
    ["vidA-2", { metadata: { watermark: true } }, "metadata.watermark"],
    ["vidC-1-0-pro-fast", { duration: 2 }, "duration"],
    ["vidC-1-0-pro-fast", { metadata: { resolution: "480p" } }, "metadata.resolution"],
    ["vidD-02", { metadata: { resolution: "1080p", prompt_optimizer: true } }, "metadata.prompt_optimizer"],
    ["vidC-1-0-pro-fast", { image_with_roles: [{ url, role: "last_frame" }] }, "image_with_roles"],
  ] as const) {
    const answer = await submitTo(to(name, id), videos, { model: name, prompt: "x", ...body });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: "unsupported_parameter", param } } });
    expect(await readBalance(answer.account)).toMatchObject({ reserved: 0, used: 0 });
  }
});

test("without its secret this part is off, although the others are on", async () => {
  const { key } = await newAccount();
  const answer = await call(videos, { key, body: { model, prompt: "x" }, vars: { ROUTES: routes, GEMINI_API_KEY: "" } });
  expect(answer).toMatchObject({ status: 400, body: { error: { code: "model_not_available", param: "model" } } });
});

// Last, because it marks the provider unhealthy.
test("a wrong key marks the provider unhealthy; no log line and no answer contains a key", async () => {
  vi.setSystemTime(Date.now() + 61_000);
  const texts = capture();
  const prompt = unique();
  const { account, body } = await submitTo(routes, videos, { model, prompt });
  await deliver(body.id as string, undefined, { GEMINI_API_KEY: "wrong-key" });
  expect(isUnhealthy({ provider: "google", model: "gemini-3-pro-image" })).toBe(true);
  const { data } = (await finish(account, body.id as string)).body;
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  texts.push(JSON.stringify(data), JSON.stringify((await generate(routes, videos, { model, prompt: `[redirect] ${unique()}` })).data));
  expect(texts.filter((text) => text.includes("wrong-key") || text.includes(env.GEMINI_API_KEY!))).toEqual([]);
});
