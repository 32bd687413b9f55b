/** Veo videos on Vertex AI: the service account's tokens, long-running operations, videos in Base64 within the answer. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { readBalance, call, deliver, finish, holdTime, newAccount, pass, unique } from "../../support/gateway.ts";
import { pixel as png } from "../../media/images.ts";
import { endsAs, lastStartOf, model, readStart, videos } from "./support.ts";
import { capture, countAll, generate, submitTo } from "../support.ts";

holdTime();

const veo = (model: string) => ({ provider: "google", model });
const routes = {
  "vidB-3.1-fast": [veo("veo-3.1-fast-generate-001")],
  "vidB-3.1-quality": [veo("veo-3.1-generate-001")],
};

test.each(["vidB-3.1-fast", "vidB-3.1-quality"] as const)("%s: a video is made, polled and stored", async (name) => {
  const prompt = `a river [queued 1] [running 2] ${unique()}`;
  const { account, data } = await generate(routes, videos, { model: name, prompt, size: "9:16" });
  expect(data.status).toBe("completed");
  const video = await call(data.result.videos[0].url[0]);
  expect(video.status).toBe(200);
  expect(video.headers.get("content-type")).toBe("video/mp4");
  expect(video.body.byteLength).toBeGreaterThan(25_000);
  expect(new TextDecoder().decode((video.body as ArrayBuffer).slice(4, 8))).toBe("ftyp");
  const { token, ...body } = await readStart(prompt);
  expect(token).toMatch(/^ya29\./);
  expect(body).toEqual({
    model: routes[name][0]!.model,
    instances: [{ prompt }],
    parameters: { sampleCount: 1, durationSeconds: 8, aspectRatio: "9:16", generateAudio: true },
  });
  expect(await countAll(prompt, "poll")).toBeGreaterThanOrEqual(5);
  expect((await readBalance(account)).reserved).toBe(0);
});

const image = { bytesBase64Encoded: png, mimeType: "image/png" };
const reference = { image, referenceType: "asset" };
test.each([
  [1, { image }],
  [2, { referenceImages: [reference, reference] }],
  [3, { referenceImages: [reference, reference, reference] }],
])("%d images are sent as Base64 in their parts", async (count, expected) => {
  const prompt = unique();
  const images = Array.from({ length: count }, () => `data:image/png;base64,${png}`);
  const { data } = await generate(routes, videos, { model, prompt, images });
  expect(data.status).toBe("completed");
  expect((await readStart(prompt)).instances).toEqual([{ prompt, ...expected }]);
});

test("a video of many megabytes in the answer is stored whole", async () => {
  const prompt = `[large] ${unique()}`;
  const { data } = await generate(routes, videos, { model, prompt });
  const video = await call(data.result.videos[0].url[0]);
  expect(video.body.byteLength).toBeGreaterThan(12_000_000);
  expect(new Uint8Array(video.body as ArrayBuffer).at(-1)).toBe(0x5a);
});

test("an answer that breaks off within the video is fetched again, without a second generation", async () => {
  // Polled twice, then read: the third answer breaks off.
  const prompt = `[truncated 3] ${unique()}`;
  const { data } = await generate(routes, videos, { model, prompt });
  expect(data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
});

test("an expired token gives 401, then one retry with a fresh token", async () => {
  for (const orders of ["[stale 1]", "[stale-poll 1] [running 1]"]) {
    const prompt = `${orders} ${unique()}`;
    const { data } = await generate(routes, videos, { model, prompt });
    expect(data.status).toBe("completed");
    expect(isUnhealthy({ provider: "google", model: "veo-3.1-generate-001" })).toBe(false);
    expect(await countAll(prompt, "start")).toBe(1);
  }
});

test("a token is used until shortly before it expires", async () => {
  const tokenAfter = async (seconds: number) => {
    vi.setSystemTime(Date.now() + seconds * 1000);
    const prompt = unique();
    await generate(routes, videos, { model, prompt });
    return (await readStart(prompt)).token as string;
  };
  const first = await tokenAfter(3600);
  expect(await tokenAfter(3000)).toBe(first);
  expect(await tokenAfter(600)).not.toBe(first);
});

test.each([
  ["moderated", "content_policy_violation", 0],
  ["moderated-later", "content_policy_violation", 1],
  ["filtered", "content_policy_violation", 1],
  ["bad-input-later", "invalid_input", 1],
  ["fails", "provider_error", 1],
  ["empty", "provider_error", 1],
  ["forgotten", "provider_error", 1],
  ["broken", "provider_error", 0],
  ["retired", "provider_error", 0],
  ["drop", "provider_error", 1],
] as const)("[%s] fails as %s, and the money is returned", (word, code, starts) => endsAs(routes, code, `[${word}] ${unique()}`, starts));

test("a rate-limited poll is retried", async () => {
  const { data } = await generate(routes, videos, { model, prompt: `[limit-poll 2] ${unique()}` });
  expect(data.status).toBe("completed");
});

test.each(["[retired 1]", "[limit 2]", "[unavailable 2]", "[fails 1]", "[bad-field-later 1]"])(
  "%s falls back to the next route",
  async (orders) => {
    const prompt = `${orders} ${unique()}`;
    const two = { [model]: [veo("veo-3.1-fast-generate-001"), veo("veo-3.1-generate-001")] };
    const { data } = await generate(two, videos, { model, prompt });
    expect(data.status).toBe("completed");
    expect(await lastStartOf(prompt)).toMatchObject({ model: "veo-3.1-generate-001" });
  },
);

test("fields that Veo cannot honour are refused by name, and nothing is reserved", async () => {
  const veoFor = (id: string) => ({ [id]: [veo("veo-3.1-generate-001")] });
  for (const [id, body, param] of [
    ["vidC-1-0-pro-fast", { duration: 5 }, "duration"],
    ["vidC-1-0-pro-fast", { duration: 8, size: "1:1" }, "size"],
    ["vidC-1-0-pro-fast", { duration: 8, metadata: { resolution: "480p" } }, "metadata.resolution"],
    ["vidC-1-0-pro-fast", { duration: 8, images: Array.from({ length: 4 }, () => `data:image/png;base64,${png}`) }, "images"],
    ["vidC-1-0-pro-fast", { duration: 8, image_with_roles: [{ url: "https://a.example/b.png", role: "last_frame" }] }, "image_with_roles"],
    ["vidA-2", { duration: 10 }, "duration"],
  ] as const) {
    const answer = await submitTo(veoFor(id), videos, { model: id, prompt: "x", ...body });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: "unsupported_parameter", param } } });
    expect(await readBalance(answer.account)).toMatchObject({ reserved: 0, used: 0 });
  }
});

test("without its secret this part is off, although the others are on", async () => {
  const { key } = await newAccount();
  const vars = { ROUTES: routes, GOOGLE_SERVICE_ACCOUNT: "" };
  expect(await call(videos, { key, body: { model, prompt: "x" }, vars })).toMatchObject({
    status: 400,
    body: { error: { code: "model_not_available", param: "model" } },
  });
});

// Last, because it marks the provider unhealthy.
test.each(["another account", "no JSON", "another key"])(
  "a refused service account (%s) marks the provider unhealthy; no log line contains its key",
  async (which) => {
    vi.setSystemTime(Date.now() + 61_000);
    const texts = capture();
    const account = JSON.parse(env.GOOGLE_SERVICE_ACCOUNT!) as Record<string, string>;
    const wrong: Record<string, string> = {
      "another account": JSON.stringify({ ...account, client_email: "stranger@test-project.iam.gserviceaccount.com" }),
      "no JSON": "{",
      "another key": JSON.stringify({ ...account, private_key: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n" }),
    };
    const prompt = unique();
    const submitted = await submitTo(routes, videos, { model, prompt });
    const id = submitted.body.id as string;
    await deliver(id, undefined, { GOOGLE_SERVICE_ACCOUNT: wrong[which]! });
    expect(isUnhealthy({ provider: "google", model: "veo-3.1-generate-001" })).toBe(true);
    // The Gemini key is a separate account.
    expect(isUnhealthy({ provider: "google", model: "gemini-omni-1.2-flash" })).toBe(false);
    await pass(id, 1);
    const { data } = (await finish(submitted.account, id)).body;
    expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
    expect(await readBalance(submitted.account)).toMatchObject({ reserved: 0, used: 0 });
    expect(await countAll(prompt, "start")).toBe(0);
    texts.push(JSON.stringify(data));
    const secret = account["private_key"]!.split("\n")[1]!;
    expect(texts.filter((text) => text.includes(secret) || text.includes("ya29.") || text.includes("PRIVATE KEY"))).toEqual([]);
  },
);
