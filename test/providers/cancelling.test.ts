/** CANCEL_CHARGE=full: cancelling is free exactly where the provider stops this operation, and costs the price where it makes and bills the work. Contract 4. */

import { runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { openStub } from "../support/faults.ts";
import { type Account, deliver, holdTime, readBalance, unique, cancel } from "../support/gateway.ts";
import { capture, readCalls, type Routes, submitTo } from "./support.ts";

holdTime();

const videos = "/v1/videos/generations";
const to = (model: string, provider: string, id: string): Routes => ({ [model]: [{ provider, model: id }] });
const hailuo = to("vidD-02", "minimax", "MiniMax-Hailuo-02");
const h3 = to("vidD-02", "minimax", "MiniMax-H3");
const seedance = to("vidC-1-0-pro-fast", "modelark", "dreamina-seedance-2-0-fast-260128");
const omni = to("vidB-3.1-fast", "google", "gemini-omni-1.1-flash");
const veo = to("vidB-3.1-fast", "google", "veo-3.1-fast-generate-001");
const onFal = to("vidB-3.1-fast", "fal", "fal-ai/veo3.1/fast");
const onReplicate = to("vidB-3.1-fast", "replicate", "google/veo-3.1-fast");
const onOpenAi = to("vidB-3.1-fast", "openai", "video-1");

/** Submits a video whose prompt directs the emulator, and lets the provider accept it. */
async function accepted(routes: Routes, directive: string): Promise<{ account: Account; id: string; prompt: string; price: number }> {
  const prompt = `${unique()} ${directive}`;
  const model = Object.keys(routes)[0]!;
  const { account, body } = await submitTo(routes, videos, { model, prompt, ...(model === "vidD-02" && { duration: 10 }) });
  expect(body).toMatchObject({ status: "queued" });
  await deliver(body.id);
  await runInDurableObject(openStub(body.id), (object) => {
    const configured = object as unknown as { env: Env };
    configured.env = { ...configured.env, CANCEL_CHARGE: "full" };
  });
  return { account, id: body.id, prompt, price: body.metadata.reserved };
}

test.each([
  ["MiniMax v1, queued: it has no call to cancel", hailuo, "[queued]", "price"],
  ["MiniMax v2, queued", h3, "[queued]", "free"],
  ["MiniMax v2, running: only queued work can be cancelled", h3, "[running]", "price"],
  ["MiniMax v2, made: the same call deletes it", h3, "", "price"],
  ["MiniMax v2, failed there", h3, "[fails]", "free"],
  ["ModelArk, queued", seedance, "[queued]", "free"],
  ["ModelArk, running: only queued work can be cancelled", seedance, "[running]", "price"],
  ["ModelArk, made: the same call deletes it", seedance, "", "price"],
  ["Omni, running", omni, "[running]", "free"],
  ["Veo on Vertex AI: it has no call to cancel", veo, "[running]", "price"],
  ["fal, queued", onFal, "[queued]", "free"],
  ["fal, running: its model decides whether it stops", onFal, "[running]", "price"],
  ["fal, made", onFal, "", "price"],
  ["Replicate, queued", onReplicate, "[queued]", "free"],
  ["OpenAI's videos: they have no call to cancel", onOpenAi, "[running]", "price"],
] as const)("%s", async (_, routes, directive, cost) => {
  const { account, id, price } = await accepted(routes, directive);
  const { body } = await cancel(account, id);
  const charged = cost === "price" ? price : 0;
  expect(body.data).toMatchObject({
    status: "failed",
    error: { code: "cancelled" },
    cost: { reserved: price, charged, returned: price - charged },
  });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: charged });
});

test("a provider that does not answer the cancellation makes the work: it costs the price", async () => {
  const { account, id, price } = await accepted(h3, "[queued]");
  capture();
  vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("network connection lost"));
  const { body } = await cancel(account, id);
  vi.restoreAllMocks();
  expect(body.data.cost).toMatchObject({ charged: price });
});

test("work that ends while the provider is asked is charged once, by its new state", async () => {
  const { account, id, prompt, price } = await accepted(h3, "[queued]");
  const asked = globalThis.fetch;
  let isFirst = true;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (...request) => {
    if (isFirst) {
      isFirst = false;
      expect((await cancel(account, id)).status).toBe(200);
    }
    return asked(...request);
  });
  expect((await cancel(account, id)).status).toBe(409);
  vi.restoreAllMocks();
  expect(await readCalls(prompt)).toContain("cancel");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0, remaining: 100 });
  expect(price).toBeGreaterThan(0);
});
