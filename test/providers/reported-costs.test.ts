/** What makers report of their bills is booked: for results, for refused content, and after the end of a task that is not stored. */

import "../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { openStub } from "../support/faults.ts";
import {
  asAdmin,
  call,
  chatsSettled,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  passToPoll,
  submit,
  unique,
  wakeWallet,
} from "../support/gateway.ts";
import { deleteModels } from "../support/models.ts";
import { kling, seedream, speech } from "./own/support.ts";
import { capture } from "./support.ts";

holdTime();
beforeEach(async () => {
  capture();
  await deleteModels();
});

const put = async (id: string, body: object) => expect((await asAdmin(`/models/${id}`, { method: "PUT", body })).status).toBe(201);
const readCost = (taskId: string) => env.DB.prepare("SELECT cost FROM entry WHERE task_id = ?1").bind(taskId).first<number | null>("cost");

/** The booked cost of a task of a model, in millionths. */
async function costOf(path: string, body: object) {
  const account = await newAccount();
  const id = await submit(account, path, body);
  const { data } = (await finish(account, id, 40)).body;
  await wakeWallet(account);
  return { status: data.status as string, cost: await readCost(id) };
}

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const grok = (model: string, cost: object) => ({ routes: [{ provider: "xai", model, cost, bills_failures: true }] });

test.each([
  ["images of one call", { n: 3 }, "", "completed", 250_000],
  ["edits, one call each", { n: 2, images: ["https://images.example/a.png"] }, "", "completed", 500_000],
  ["images of which some pass the check", { n: 3 }, "[only 1]", "completed", 250_000],
  ["images that are refused after they were made", { n: 2 }, "[marked]", "failed", 250_000],
])("Grok: %s cost what it reports", async (_, fields, directive, status, expected) => {
  await put("imgB-4o-image", grok("grok-imagine-image-2.0", { image: 0.01, usd: 1 }));
  const body = { model: "imgB-4o-image", prompt: `${unique()} ${directive}`, ...fields };
  expect(await costOf(images, body)).toEqual({ status, cost: expected });
});

test.each([
  ["a video", "", "completed", 250_000],
  ["a video that is refused after it was made", "[marked]", "failed", 250_000],
  ["a refused prompt", "[moderated-later]", "failed", 250_000],
  ["a failure without a report, by the seconds that were asked for", "[fails]", "failed", 40_000],
])("Grok: %s", async (_, directive, status, expected) => {
  await put("vidC-1-0-pro-quality", grok("grok-imagine-video-1.5", { second: 0.01, usd: 1 }));
  const body = { model: "vidC-1-0-pro-quality", prompt: `${unique()} ${directive}`, duration: 4 };
  expect(await costOf(videos, body)).toEqual({ status, cost: expected });
});

test.each([false, true])("Grok: a chat costs what it reports; streamed: %s", async (stream) => {
  await put("textA-1", { routes: [{ provider: "xai", model: "grok-4.6", cost: { input: 2, output: 6, usd: 1_000_000 } }] });
  const account = await newAccount();
  const body = { model: "textA-1", messages: [{ role: "user", content: unique() }], stream };
  expect((await call("/v1/chat/completions", { key: account.key, body })).status).toBe(200);
  await chatsSettled(account);
  await wakeWallet(account);
  const booked = await env.DB.prepare("SELECT cost FROM entry WHERE account_id = ?1 AND cost IS NOT NULL").bind(account.id).first("cost");
  // 1,000 ticks are a ten-millionth of a dollar.
  expect(booked).toBe(100_000);
});

test.each([
  ["", "completed", 15_000],
  ["[fails]", "failed", 15_000],
  // Its maker has forgotten the work, and with it the time.
  ["[removed]", "failed", null],
])("Replicate: an own input costs the time of its machine %s", async (directive, status, cost) => {
  const route = { provider: "replicate", model: "minimax/speech-02-hd", cost: { run_second: 0.01 }, bills_failures: true };
  await put("narrator", { ...speech, routes: [route] });
  expect(await costOf("/v1/tasks", { model: "narrator", input: { text: `${unique()} ${directive}` } })).toEqual({ status, cost });
});

test.each([-5, "5", null, { total: 5 }])(
  "Replicate: a time of %j is no report: the cost is not known, and no negative one",
  async (time) => {
    const route = { provider: "replicate", model: "minimax/speech-02-hd", cost: { task: 0.01, run_second: 0.01 } };
    await put("narrator", { ...speech, routes: [route] });
    const others = globalThis.fetch;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const response = await others(input, init);
      if (!/\/predictions\/\w+$/.test(input instanceof Request ? input.url : String(input))) return response;
      return Response.json({ ...(await response.json<object>()), metrics: { predict_time: time } });
    });
    const booked = await costOf("/v1/tasks", { model: "narrator", input: { text: unique() } });
    vi.restoreAllMocks();
    expect(booked).toEqual({ status: "completed", cost: null });
  },
);

test.each([
  [
    "seconds with a factor",
    kling,
    { second: 0.05, seconds: "duration", factors: { generate_audio: { true: 3, false: 1 } } },
    { duration: "10", generate_audio: true },
    1_500_000,
  ],
  ["a default that only the cost reads", { ...kling, price: { task: 1 } }, { second: 0.05, seconds: "duration" }, {}, 250_000],
  ["images", seedream, { image: 0.01, count: "num_images" }, { num_images: 3, image_urls: ["https://images.example/a.png"] }, 30_000],
] as const)("work of an own input that its maker did not stop is booked without the input: %s", async (_, model, own, input, expected) => {
  await put("made", { ...model, aliases: [], routes: [{ ...model.routes[0], cost: own }] });
  const account = await newAccount();
  const prompt = `${unique()} [running 3] [unstoppable]`;
  const id = await submit(account, "/v1/tasks", { model: "made", prompt, input, store: false });
  await deliver(id);
  const cancelled = await call(`/v1/tasks/${id}/cancel`, { key: account.key, body: {} });
  expect(cancelled.body.data).toMatchObject({ status: "failed", cost: { charged: 0 } });
  expect(JSON.stringify(cancelled.body)).not.toContain(prompt);
  for (let round = 0; round < 8; round++) await pass(id, 40);
  await wakeWallet(account);
  expect(await readCost(id)).toBe(expected);
});

test.each([
  ["fal", "bytedance/seedance-2.0/fast", "", 400_000],
  ["fal", "bytedance/seedance-2.0/fast", "[running 2]", 400_000],
  ["fal", "bytedance/seedance-2.0/fast", "[queued]", 0],
  ["google", "gemini-omni-1.2-flash", "", 400_000],
  ["google", "gemini-omni-1.2-flash", "[running]", 0],
  ["minimax", "MiniMax-H3", "", 400_000],
  ["minimax", "MiniMax-H3", "[fails]", 0],
  ["minimax", "MiniMax-H3", "[queued]", 0],
  ["modelark", "dreamina-seedance-2-0-fast-260128", "", 400_000],
  ["modelark", "dreamina-seedance-2-0-fast-260128", "[fails]", 0],
  ["modelark", "dreamina-seedance-2-0-fast-260128", "[queued]", 0],
])(
  "a cancelled task at %s, %s %s: what was made, or is made nevertheless, is billed, also if the call that cancels deletes it",
  async (...row) => {
    const [provider, model, directive, expected] = row;
    await put("vidA-2", { routes: [{ provider, model, cost: { second: 0.04 } }] });
    const account = await newAccount();
    const id = await submit(account, videos, { model: "vidA-2", prompt: `${unique()} ${directive}`, duration: 10 });
    await deliver(id);
    const cancelled = await call(`/v1/tasks/${id}/cancel`, { key: account.key, body: {} });
    expect(cancelled.body.data).toMatchObject({ status: "failed", cost: { charged: 0 } });
    for (let round = 0; round < 8; round++) await pass(id, 40);
    await wakeWallet(account);
    expect(await readCost(id)).toBe(expected);
  },
);

const onReplicate = { routes: [{ provider: "replicate", model: "google/veo-3.1-fast", cost: { second: 0.04, run_second: 0.01 } }] };

test.each([
  ["none", "[queued]", 0],
  ["none", "[running]", 15_000],
  ["full", "[queued]", 0],
  ["full", "[running]", 15_000],
])("Replicate bills the time for which cancelled work ran; CANCEL_CHARGE=%s, %s", async (CANCEL_CHARGE, directive, expected) => {
  await put("vidB-3.1-fast", onReplicate);
  const account = await newAccount();
  const id = await submit(account, videos, { model: "vidB-3.1-fast", prompt: `${unique()} ${directive}` });
  await deliver(id);
  await runInDurableObject(openStub(id), (object) => {
    const configured = object as unknown as { env: Env };
    configured.env = { ...configured.env, CANCEL_CHARGE };
  });
  // The emulator begins when it is polled.
  if (directive === "[running]") await passToPoll(id);
  const cancelled = await call(`/v1/tasks/${id}/cancel`, { key: account.key, body: {} });
  expect(cancelled.body.data).toMatchObject({ status: "failed", cost: { charged: 0 } });
  for (let round = 0; round < 8; round++) await pass(id, 40);
  await wakeWallet(account);
  expect(await readCost(id)).toBe(expected);
});

test.each([
  ["it ran", "[running 1] [canceled]", 15_000],
  ["it had not begun", "[canceled]", 0],
  ["it had not begun at its deadline", "[aborted]", 0],
])("Replicate stopped the work by itself: %s", async (_, directive, cost) => {
  await put("vidB-3.1-fast", onReplicate);
  expect(await costOf(videos, { model: "vidB-3.1-fast", prompt: `${unique()} ${directive}` })).toEqual({ status: "failed", cost });
});

test.each([
  ["[flagged]", "failed"],
  ["[half-flagged]", "completed"],
])("fal bills images that its safety checker has blackened: %s", async (directive, status) => {
  const route = { provider: "fal", model: "fal-ai/bytedance/seedream/v4", cost: { image: 0.01 } };
  await put("imgA-4", { routes: [route] });
  expect(await costOf(images, { model: "imgA-4", prompt: `${unique()} ${directive}`, n: 2 })).toEqual({ status, cost: 20_000 });
  await put("seedream-own", { ...seedream, aliases: [], routes: [{ ...seedream.routes[0], cost: { image: 0.01, count: "num_images" } }] });
  const input = { num_images: 2, image_urls: ["https://images.example/a.png"] };
  expect(await costOf(images, { model: "seedream-own", prompt: `${unique()} ${directive}`, input })).toEqual({ status, cost: 20_000 });
});
