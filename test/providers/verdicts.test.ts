/** Undocumented answers, tested on the adapters: verdicts stay final, temporary faults stay retryable, nothing crashes. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { fal } from "../../src/providers/fal/index.ts";
import { google } from "../../src/providers/google/index.ts";
import { providerNamed } from "../../src/providers/index.ts";
import { minimax } from "../../src/providers/minimax/index.ts";
import { modelark } from "../../src/providers/modelark/index.ts";
import { openai } from "../../src/providers/openai/index.ts";
import type { Job } from "../../src/providers/provider.ts";
import { xai } from "../../src/providers/xai/index.ts";
import { keep } from "./support.ts";

const answering = (...answers: (() => Response)[]) => {
  let at = 0;
  vi.spyOn(globalThis, "fetch").mockImplementation(() => Promise.resolve(answers[Math.min(at++, answers.length - 1)]!()));
};
const json =
  (body: unknown, status = 200) =>
  () =>
    Response.json(body, { status });
/** A refusal whose body breaks off. */
const cut = (status: number) => () =>
  new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) }), { status });

const image: Job = {
  kind: "image",
  model: "gemini-3-pro-image",
  prompt: "a pier",
  n: 1,
  size: "1:1",
  quality: "standard",
  key: "task_1",
  images: [],
  characters: [],
  keep,
};
const video: Job = { ...image, kind: "video", model: "MiniMax-H3", duration: 10, size: "16:9" };
const gemini = google({ gemini: { key: "key", baseUrl: "https://generativelanguage.googleapis.com" } });
const v2 = minimax({ key: "key", base: "https://api.minimax.io" });
const queue = fal({ key: "key" });
const seedream: Job = { ...image, model: "fal-ai/bytedance/seedream/v4", pixels: [1024, 1024] };
const interaction = JSON.stringify({ part: "omni", name: "interactions-1" });

test.each([
  ["google", gemini, image, 429],
  ["google", gemini, image, 400],
  ["minimax", v2, video, 429],
  ["minimax", v2, video, 400],
  ["fal", queue, seedream, 400],
])("%s: a refusal whose body breaks off is still a refusal", async (_, provider, job, status) => {
  answering(cut(status));
  await expect(provider.start(job, AbortSignal.timeout(5_000))).rejects.toMatchObject({ name: "ProviderError", nothingAccepted: true });
});

test.each([
  ["google", gemini, interaction],
  ["minimax", v2, "v2/1"],
  ["fal", queue, JSON.stringify({ status: "https://queue.fal.run/a/b/requests/1/status" })],
  ["modelark", modelark({ key: "key" }), JSON.stringify({ task: "cgt-1" })],
  ["xai", xai({ key: "key" }), JSON.stringify({ request: "1" })],
])(
  "%s: a poll that is answered with an HTML page is no answer: after a minute of them the next route starts",
  async (_, provider, operation) => {
    answering(() => new Response("<!doctype html><title>One moment</title>", { headers: { "content-type": "text/html" } }));
    await expect(provider.poll(operation)).rejects.toMatchObject({ name: "ProviderError", retryable: true, nothingAccepted: false });
  },
);

test("an answer that does not end is not read into memory: a caller's own input can ask for files inside it", async () => {
  let sent = 0;
  const endless = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull: (controller) => {
          if (sent >= 64) return controller.close();
          sent++;
          controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20));
        },
      }),
    );
  answering(json({ status: "COMPLETED" }), endless);
  const urls = { status: "https://queue.fal.run/a", result: "https://queue.fal.run/b", cancel: "https://queue.fal.run/c", own: true };
  await expect(queue.poll(JSON.stringify(urls))).rejects.toMatchObject({ name: "ProviderError", retryable: true });
  expect(sent).toBeLessThan(20);
});

/** A refusal that asks to wait for this long: with another route it is replaced at once (`task.pure.test.ts`). */
const busy = (retryAfter: string) => () => new Response("{}", { status: 429, headers: { "retry-after": retryAfter } });
const delayed = (retryDelay: string) =>
  json(
    { error: { code: 429, status: "RESOURCE_EXHAUSTED", details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }] } },
    429,
  );

test.each([
  ["fal, two seconds", queue, seedream, busy("2"), 2_000],
  ["fal, an hour", queue, seedream, busy("3600"), 60_000],
  ["fal, a date", queue, seedream, busy("Fri, 01 Jan 2100 00:00:00 GMT"), 60_000],
  ["google, two seconds", gemini, image, delayed("2s"), 2_000],
  ["google, until tomorrow", gemini, image, delayed("40000.5s"), 60_000],
] as const)("%s: what a busy maker asks to wait is followed, at most a minute", async (_, provider, job, answer, retryAfterMs) => {
  answering(answer);
  await expect(provider.start(job, AbortSignal.timeout(5_000))).rejects.toMatchObject({ kind: "busy", retryAfterMs });
});

test.each([
  [
    "openai",
    openai({ key: "key" }),
    { ...image, model: "gpt-image-2" },
    {
      error: {
        message: "Invalid value: 'must be verified to use'.",
        type: "invalid_request_error",
        param: "prompt",
        code: "invalid_value",
      },
    },
  ],
  [
    "xai",
    xai({ key: "key" }),
    { ...image, model: "grok-imagine-image" },
    { code: "Client specified an invalid argument", error: "Cannot fetch https://a.example/spending limit" },
  ],
])("%s: a refusal that repeats what a caller wrote is not about the model or the account", async (_, provider, job, body) => {
  answering(json(body, 400));
  await expect(provider.start(job, AbortSignal.timeout(5_000))).rejects.toMatchObject({ kind: "refused" });
});

test.each([
  [
    "openai",
    openai({ key: "key" }),
    { ...image, model: "gpt-image-2" },
    { error: { code: "unknown_parameter", param: "image" } },
    400,
    "refused",
  ],
  [
    "openai",
    openai({ key: "key" }),
    { ...image, model: "gpt-image-2" },
    { error: { code: "unsupported_value", param: "images" } },
    400,
    "refused",
  ],
  ["minimax, a plan without the model", v2, { ...video, model: "MiniMax-Hailuo-02" }, { base_resp: { status_code: 2061 } }, 200, "model"],
  [
    "minimax, a plan without the model",
    v2,
    video,
    { error: { message: "your current token plan not support model (2061)" } },
    500,
    "model",
  ],
  ["minimax, overloaded", v2, { ...video, model: "MiniMax-Hailuo-02" }, { base_resp: { status_code: 2064 } }, 200, "busy"],
] as const)("%s: what the maker's model or plan does not take is no fault of the caller", async (_, provider, job, body, status, kind) => {
  answering(json(body, status));
  await expect(provider.start(job as Job, AbortSignal.timeout(5_000))).rejects.toMatchObject({ kind, nothingAccepted: true });
});

test("google: details that are not a list are ignored", async () => {
  answering(json({ error: { code: 429, status: "RESOURCE_EXHAUSTED", details: { "@type": 1 } } }, 429));
  await expect(gemini.start(image, AbortSignal.timeout(5_000))).rejects.toMatchObject({ name: "ProviderError", nothingAccepted: true });
});

test.each([
  ["modelark, a code that is a number", modelark({ key: "key" }), '{"task":"cgt-1"}', [json({ status: "failed", error: { code: 500 } })]],
  ["google, errors that are no list", gemini, interaction, [json({ status: "failed", errors: { code: "oops" } })]],
  [
    "google, content that is no list",
    gemini,
    interaction,
    [json({ status: "completed", steps: [{ type: "model_output", content: "no" }] })],
  ],
  [
    "fal, images that are no list",
    queue,
    JSON.stringify({ status: "https://queue.fal.run/a", result: "https://queue.fal.run/b", cancel: "https://queue.fal.run/c" }),
    [json({ status: "COMPLETED" }), json({ images: 5 })],
  ],
])("%s: the failure is final", async (_, provider, operation, answers) => {
  answering(...answers);
  expect(await provider.poll(operation)).toMatchObject({ status: "failed" });
});

test("google: a key refused while a video is read from its answer is not final", async () => {
  const ftyp = new TextEncoder().encode("\0\0\0\u0018ftypisom\0\0\0\0").toBase64();
  const steps = [{ type: "model_output", content: [{ type: "video", data: ftyp }] }];
  answering(json({ status: "completed", steps }), json({ error: { code: 403, status: "PERMISSION_DENIED" } }, 403));
  const made = await gemini.poll(interaction);
  if (made.status !== "succeeded") throw new Error(made.status);
  await expect(made.outputs[0]!.open()).rejects.toMatchObject({ name: "ProviderError", retryable: true, account: true });
});

test("google: a service account refused while a video is polled is not final", async () => {
  const vertex = google({ vertex: { serviceAccount: "{}", baseUrl: "https://aiplatform.googleapis.com/v1/projects/p/locations/l" } });
  const poll = vertex.poll(JSON.stringify({ part: "veo", name: "operations/1", model: "veo-3.1" }));
  await expect(poll).rejects.toMatchObject({ name: "ProviderError", retryable: true, account: true });
});

/** The environment in the middle of a rotation: the new secret is not valid yet, the previous one is. */
const rotating = (
  secret: "FAL_KEY" | (`${string}_${"API_KEY" | "API_TOKEN" | "SERVICE_ACCOUNT"}` & keyof Env),
  old = env[secret],
): Env => ({
  ...env,
  AI: undefined as never,
  [secret]: "not-valid-yet",
  [`${secret}_OLD`]: old,
});
const signal = new AbortController().signal;

test.each([
  ["modelark", "ARK_API_KEY", { ...image, model: "seedream-4-5-251128" }],
  ["modelark", "ARK_API_KEY", { ...video, model: "dreamina-seedance-2-0-fast-260128" }],
  ["minimax", "MINIMAX_API_KEY", video],
  ["google", "GEMINI_API_KEY", image],
  ["google", "GOOGLE_SERVICE_ACCOUNT", { ...video, model: "veo-3.1-fast-generate-001", duration: 8 }],
  ["openai", "OPENAI_API_KEY", { ...image, model: "gpt-image-2" }],
  ["openai", "OPENAI_API_KEY", { ...video, model: "video-1" }],
  ["fal", "FAL_KEY", { ...image, model: "fal-ai/nano-banana-pro", pixels: [1024, 1024] }],
  ["replicate", "REPLICATE_API_TOKEN", { ...image, model: "bytedance/seedream-4.5" }],
  ["cloudflare", "WORKERS_AI_API_TOKEN", { ...image, model: "bytedance/seedream-4.5" }],
  ["xai", "XAI_API_KEY", { ...image, model: "grok-imagine-image" }],
  ["xai", "XAI_API_KEY", { ...video, model: "grok-imagine-video" }],
] as const)("%s: while %s does not work yet, the previous one starts and polls", async (name, secret, job) => {
  const provider = providerNamed(rotating(secret), name);
  const key = `task_${crypto.randomUUID()}`;
  const started = await provider.start({ ...job, key, prompt: `a pier ${key}` }, signal);
  expect(started.status).toMatch(/accepted|succeeded/);
  if (started.status === "accepted") expect((await provider.poll(started.operation)).status).toMatch(/pending|succeeded/);
  const refused = providerNamed(rotating(secret, "revoked"), name).start({ ...job, key, prompt: `a pier ${key}` }, signal);
  await expect(refused).rejects.toMatchObject({ name: "ProviderError", account: true });
});

test("after a fault that is not about the secret the previous one is not tried", async () => {
  answering(json({ error: { code: 429 } }, 429));
  const started = providerNamed(rotating("FAL_KEY"), "fal").start(
    { ...image, model: "fal-ai/nano-banana-pro", pixels: [1024, 1024] },
    signal,
  );
  await expect(started).rejects.toMatchObject({ name: "ProviderError", account: false });
  expect(globalThis.fetch).toHaveBeenCalledOnce();
});

/** Answers calls with the new secret of a rotation like this, and all others as the emulators do. */
const answeringNew = (answer: () => Response, others = globalThis.fetch) =>
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const headers = new Headers(init?.headers);
    const secret = headers.get("authorization") ?? headers.get("x-goog-api-key") ?? "";
    return secret.includes("not-valid-yet") ? answer() : others(input, init);
  });

test.each([
  ["modelark", "ARK_API_KEY", { ...video, model: "dreamina-seedance-2-0-fast-260128" }],
  ["minimax", "MINIMAX_API_KEY", video],
  ["minimax", "MINIMAX_API_KEY", { ...video, model: "MiniMax-Hailuo-02" }],
  ["google", "GEMINI_API_KEY", { ...video, model: "gemini-omni-1.2-flash" }],
  ["openai", "OPENAI_API_KEY", { ...video, model: "video-1" }],
  ["fal", "FAL_KEY", { ...image, model: "fal-ai/nano-banana-pro", pixels: [1024, 1024] }],
  ["replicate", "REPLICATE_API_TOKEN", { ...image, model: "bytedance/seedream-4.5" }],
  ["xai", "XAI_API_KEY", { ...video, model: "grok-imagine-video" }],
] as const)("%s: with %s of another account, work is polled with the previous one, which started it", async (name, secret, job) => {
  const key = `task_${crypto.randomUUID()}`;
  const started = await providerNamed(env, name).start({ ...job, key, prompt: `a pier ${key}` }, signal);
  if (started.status !== "accepted") throw new Error(started.status);
  const rotated = providerNamed(rotating(secret), name);
  const lines = vi.spyOn(console, "error").mockImplementation(() => undefined);
  answeringNew(json({ error: { code: 404, status: "NOT_FOUND" } }, 404));
  expect((await rotated.poll(started.operation)).status).toMatch(/pending|succeeded/);
  // It is not to be revoked yet.
  expect(lines.mock.calls.flat().join()).toContain("old_secret");
  // A previous one that is revoked can show nothing: the work is lost.
  expect(await providerNamed(rotating(secret, "revoked"), name).poll(started.operation)).toMatchObject({ status: "failed" });
});

test("work that the previous secret does not know, while the new one is refused, is not lost", async () => {
  answeringNew(json({ detail: "no" }, 401), () => Promise.resolve(Response.json({ detail: "Request not found" }, { status: 404 })));
  const urls = { status: "https://queue.fal.run/a", result: "https://queue.fal.run/b", cancel: "https://queue.fal.run/c" };
  const poll = providerNamed(rotating("FAL_KEY"), "fal").poll(JSON.stringify(urls));
  await expect(poll).rejects.toMatchObject({ name: "ProviderError", retryable: true, account: true });
});

test("work of the previous secret's account is cancelled with it", async () => {
  const key = `task_${crypto.randomUUID()}`;
  const started = await providerNamed(env, "fal").start({ ...seedream, key, prompt: `a pier [queued] ${key}` }, signal);
  if (started.status !== "accepted") throw new Error(started.status);
  const rotated = providerNamed(rotating("FAL_KEY"), "fal");
  await rotated.poll(started.operation);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  answeringNew(json({ detail: "Request not found" }, 404));
  expect(await rotated.cancel!(started.operation)).toBe(true);
});
