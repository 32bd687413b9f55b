/** A variable that becomes wrong by a deployment, after tasks were accepted: nothing is sent to a provider, and the tasks wait for the correction. */

import { expect, test, vi } from "vitest";
import { deliver, finish, holdTime, pass, unique } from "../support/gateway.ts";
import { capture, readCalls, submitTo } from "./support.ts";

holdTime();

test.each<[string, Partial<Env>]>([
  ["HEDGE", { HEDGE: "yes" }],
  ["UPSTREAM_CALLBACKS", { UPSTREAM_CALLBACKS: "yes" }],
  ["ALLOW_PRIVATE_NETWORK", { ALLOW_PRIVATE_NETWORK: "yes" }],
  ["ASSET_BASE_URL", { ASSET_BASE_URL: "assets.example" }],
  ["LOG", { LOG: "verbose" }],
])("a wrong %s in the consumer", async (name, vars) => {
  const prompt = unique();
  const routes = { "vidB-3.1-fast": [{ provider: "fal", model: "fal-ai/veo3.1/fast" }] };
  const { account, body } = await submitTo(routes, "/v1/videos/generations", { model: "vidB-3.1-fast", prompt });
  const lines = capture();
  expect(await deliver(body.id, undefined, vars)).toBe("ack");
  expect(lines.some((line) => line.includes(name))).toBe(true);
  if (name !== "LOG") expect(await readCalls(prompt)).toEqual([]);
  vi.restoreAllMocks();
  await pass(body.id, 5);
  expect((await finish(account, body.id as string)).body.data.status).toBe("completed");
});
