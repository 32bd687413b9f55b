/** A model that the maker has retired or not opened for the account: an alert names it, and the next route takes over or the task fails at no cost. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { holdTime, readBalance, unique } from "../support/gateway.ts";
import { capture, generate } from "./support.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";

test.each([
  ["openai", "gpt-image-2", "imgB-4o-image", images, "[retired]"],
  ["google", "gemini-3-pro-image", "imgC-3-pro-image-preview", images, "[retired]"],
  ["google", "veo-3.1-fast-generate-001", "vidB-3.1-fast", videos, "[retired]"],
  ["modelark", "dreamina-seedance-2-0-fast-260128", "vidC-1-0-pro-fast", videos, "[retired]"],
  ["modelark", "dreamina-seedance-2-0-fast-260128", "vidC-1-0-pro-fast", videos, "[unopened]"],
  ["minimax", "MiniMax-Hailuo-02", "vidD-02", videos, "[retired]"],
  ["minimax", "MiniMax-H3", "vidD-02", videos, "[retired]"],
  ["fal", "fal-ai/veo3.1/fast", "vidB-3.1-fast", videos, "[retired]"],
  ["replicate", "google/veo-3.1-fast", "vidB-3.1-fast", videos, "[retired]"],
  ["cloudflare", "bytedance/seedance-2.0", "vidC-1-0-pro-fast", videos, "[retired]"],
  ["xai", "grok-imagine-video-1.5", "vidC-1-0-pro-fast", videos, "[retired]"],
] as const)("%s %s", async (provider, id, model, path, directive) => {
  await env.DB.prepare("DELETE FROM incident").run();
  capture();
  const body = { model, prompt: `${unique()} ${directive}`, ...(model === "vidD-02" && { duration: 10 }) };
  const { account, data } = await generate({ [model]: [{ provider, model: id }] }, path, body);
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  const { results } = await env.DB.prepare("SELECT kind, id FROM incident").run();
  expect(results).toEqual([{ kind: "model", id: `${provider} ${id}` }]);
});
