/** Videos by the `/v1/videos` format, from the submission to the stored video, with every error on the way. */

import { beforeEach, expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { readBalance, call, deliver, finish, holdTime, passToPoll, unique } from "../../support/gateway.ts";
import { base64 } from "../../media/images.ts";
import { asked, readCalls, countAll, generate, type Routes, submitTo } from "../support.ts";

holdTime();
beforeEach(() => void vi.setSystemTime(Date.now() + 61_000));

const path = "/v1/videos/generations";
const publicModels = ["vidA-2", "vidA-2-pro", "vidB-3.1-fast", "vidB-3.1-quality", "vidC-1-0-pro-fast", "vidC-1-0-pro-quality", "vidD-02"];
const allTo = (...upstream: string[]): Routes =>
  Object.fromEntries(publicModels.map((model) => [model, upstream.map((id) => ({ provider: "openai", model: id }))]));
const routes = allTo("video-1");
const make = (prompt: string, more: object = {}, to = routes) => generate(to, path, { model: "vidB-3.1-fast", prompt, ...more });
const nothingPaid = { reserved: 0, used: 0 };

async function expectVideo(url: string): Promise<void> {
  const { status, headers, body } = await call(url);
  expect([status, headers.get("content-type")]).toEqual([200, "video/mp4"]);
  expect(new TextDecoder().decode(new Uint8Array(body).subarray(4, 8))).toBe("ftyp");
}

test.each([
  ["vidA-2", { duration: 15, size: "9:16" }, { seconds: "15", size: "720x1280" }],
  ["vidA-2-pro", { duration: 25 }, { seconds: "25", size: "1280x720" }],
  ["vidA-2", { size: "1:1" }, { seconds: "10", size: "720x720" }],
  ["vidB-3.1-fast", {}, { seconds: "8", size: "1280x720" }],
  ["vidB-3.1-quality", { size: "9:16" }, { seconds: "8", size: "720x1280" }],
  ["vidC-1-0-pro-fast", { duration: 7, size: "21:9" }, { seconds: "7", size: "1680x720" }],
  ["vidC-1-0-pro-quality", { size: "3:4", metadata: { resolution: "480p" } }, { seconds: "5", size: "480x640" }],
  ["vidD-02", { duration: 10, metadata: { resolution: "1080p" } }, { seconds: "10", size: "1920x1080" }],
])("%s with %j is sent as %j and its video is stored", async (model, more, sent) => {
  const prompt = unique();
  const { account, data } = await make(prompt, { model, ...more });
  expect(data.status).toBe("completed");
  await expectVideo(data.result.videos[0].url[0]);
  const entries = await asked(prompt);
  expect(entries.map((entry) => entry.call)).toEqual(["start", "poll", "poll", "file"]);
  expect(entries[0]!.body).toEqual({ model: "video-1", prompt, ...sent });
  const { reserved, used } = await readBalance(account);
  expect([reserved, used > 0]).toEqual([0, true]);
});

test("Sora takes 4, 8 or 12 seconds, 16:9 and 9:16", async () => {
  const prompt = unique();
  expect((await make(prompt, { size: "9:16" }, allTo("sora-2"))).data.status).toBe("completed");
  expect((await asked(prompt))[0]!.body).toEqual({ model: "sora-2", prompt, seconds: "8", size: "720x1280" });
});

test.each([
  ["sora-2", "vidA-2", {}, "duration"],
  ["sora-2-pro", "vidA-2-pro", { size: "1:1" }, "size"],
  ["sora-2", "vidC-1-0-pro-fast", { duration: 8, metadata: { resolution: "1080p" } }, "metadata.resolution"],
  ["video-1", "vidC-1-0-pro-fast", { metadata: { resolution: "480p" } }, "metadata.resolution"],
  ["video-1", "vidD-02", {}, "metadata.resolution"],
  ["video-1", "vidD-02", { metadata: { resolution: "1080p", prompt_optimizer: true } }, "metadata.prompt_optimizer"],
  ["video-1", "vidA-2", { metadata: { watermark: true } }, "metadata.watermark"],
  ["video-1", "vidA-2", { images: ["https://a.example/1.png", "https://a.example/2.png"] }, "images"],
  ["video-1", "vidC-1-0-pro-fast", { image_with_roles: [{ url: "https://a.example/1.png", role: "last_frame" }] }, "image_with_roles"],
  ["video-1", "vidC-1-0-pro-fast", { image_with_roles: [{ url: "https://a.example/1.png", role: "reference" }] }, "image_with_roles"],
])("%s cannot honour %s with %j: refused by the field %s, nothing reserved", async (upstream, model, more, param) => {
  const prompt = unique();
  const { account, status, body } = await submitTo(allTo(upstream), path, { model, prompt, ...more });
  expect([status, body.error]).toMatchObject([400, { code: "unsupported_parameter", param }]);
  expect(await readCalls(prompt)).toEqual([]);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test("a first frame is sent: a URL unchanged, an inline image as its data URI", async () => {
  for (const url of ["https://images.example/a.png", `data:image/png;base64,${base64.png}`]) {
    const prompt = unique();
    const image_with_roles = [{ url, role: "first_frame" }];
    expect((await make(prompt, { model: "vidC-1-0-pro-fast", image_with_roles })).data.status).toBe("completed");
    expect((await asked(prompt))[0]!.body).toMatchObject({ input_reference: { image_url: url } });
  }
});

test("an image whose size does not match the video is the caller's fault", async () => {
  const { account, data } = await make(`[misfit] ${unique()}`, { images: ["https://images.example/a.png"] });
  expect(data).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test("a style is added to the prompt, a thumbnail is fetched by its variant", async () => {
  const prompt = unique();
  const { data } = await make(prompt, { model: "vidA-2", metadata: { style: "anime", thumbnail: true, storyboard: true } });
  expect(data.status).toBe("completed");
  const thumbnail = await call(data.result.videos[0].thumbnail);
  expect(thumbnail.headers.get("content-type")).toBe("image/webp");
  expect((await asked(prompt))[0]!.body).toMatchObject({ prompt: `${prompt}\n\nStyle: anime.` });
});

test("a missing thumbnail at the upstream does not fail the video", async () => {
  const prompt = `[no-thumbnail] ${unique()}`;
  const { data } = await make(prompt, { model: "vidA-2", metadata: { thumbnail: true } });
  expect(data.status).toBe("completed");
  expect(data.result.videos[0].thumbnail).toBeUndefined();
  expect(await readCalls(prompt)).toEqual(["start", "poll", "poll", "file", "thumbnail"]);
});

test("progress is the upstream's own", async () => {
  const prompt = `[queued 1] [running 1] ${unique()}`;
  const { account, body } = await submitTo(routes, path, { model: "vidB-3.1-fast", prompt });
  const progress = async () => (await call(`/v1/tasks/${body.id}`, { key: account.key })).body.data.progress;
  await deliver(body.id);
  await passToPoll(body.id);
  expect(await progress()).toBe(0);
  await passToPoll(body.id);
  expect(await progress()).toBe(42);
  expect((await finish(account, body.id)).body.data).toMatchObject({ status: "completed", progress: 100 });
});

test.each(["[odd 2]", "[poll-limit 2]", "[poll-broken 2]"])("%s on polls is not final", async (order) => {
  const prompt = `${order} ${unique()}`;
  expect((await make(prompt)).data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
});

test.each([
  ["[moderated]", "content_policy_violation"],
  ["[moderated-later]", "content_policy_violation"],
  ["[fails]", "provider_error"],
  ["[lost]", "provider_error"],
  ["[expired]", "provider_error"],
  ["[wallet]", "provider_error"],
  ["[hard-limit]", "provider_error"],
  ["[retired]", "provider_error"],
])("%s fails as %s and costs nothing", async (order, code) => {
  const prompt = `${order} ${unique()}`;
  const { account, data } = await make(prompt);
  expect(data).toMatchObject({ status: "failed", error: { code } });
  expect(await countAll(prompt, "start")).toBe(1);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test.each(["[retired 1]", "[wallet 1]", "[limit 2]", "[fails 1]"])("%s falls back to the next route", async (order) => {
  const prompt = `${order} ${unique()}`;
  expect((await make(prompt, {}, allTo("video-1", "video-2"))).data.status).toBe("completed");
  const starts = (await asked(prompt)).filter((entry) => entry.call === "start");
  expect(starts.at(-1)!.body).toMatchObject({ model: "video-2" });
});

test("a broken download is repeated without a second generation", async () => {
  const prompt = `[truncated 1] ${unique()}`;
  const { data } = await make(prompt);
  expect(data.status).toBe("completed");
  const names = await readCalls(prompt);
  expect([names.filter((name) => name === "start").length, names.filter((name) => name === "file").length]).toEqual([1, 2]);
});

test("a video in external storage is fetched without the key", async () => {
  const prompt = `[elsewhere] ${unique()}`;
  const { data } = await make(prompt);
  expect(data.status).toBe("completed");
  await expectVideo(data.result.videos[0].url[0]);
});

test.each(["[drop]", "[accepted-500]"])(
  "%s: nothing is generated again, and an equal video of another caller is not adopted",
  async (order) => {
    const prompt = `${order.replace("]", " 1]")} ${unique()}`;
    const { account, data } = await make(prompt, {}, allTo("video-1", "video-2"));
    expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
    expect(await readCalls(prompt)).toEqual(["start"]);
    expect(await readBalance(account)).toMatchObject(nothingPaid);
  },
);

test("wrong credentials on a poll mark the provider unhealthy; the task keeps waiting for the video", async () => {
  const prompt = unique();
  const { account, body } = await submitTo(routes, path, { model: "vidB-3.1-fast", prompt });
  await deliver(body.id);
  await passToPoll(body.id);
  // The object polls with the right key; the consumer that collects has the wrong one.
  const errors = vi.spyOn(console, "error");
  await deliver(body.id, "gateway-dispatch", { OPENAI_API_KEY: "sk-wrong-secret" });
  expect(isUnhealthy({ provider: "openai", model: "" })).toBe(true);
  expect(errors.mock.calls.flat().join("\n")).not.toContain("sk-wrong-secret");
  errors.mockRestore();
  expect((await finish(account, body.id)).body.data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
});
