/** Replicate's errors, and their effects on the task and its money. */

import { expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { readBalance, call, deliver, finish, holdTime, passToPoll, unique } from "../../support/gateway.ts";
import { readCalls, capture, countAll, generate, routesTo, sent, submitTo } from "../support.ts";

holdTime();

const images = "/v1/images/generations";
const seedream = "bytedance/seedream-4.5";
const secondSeedream = "bytedance/seedream-4";
const to = (...ids: string[]) => routesTo("replicate", "imgA-4", ...ids);
const make = (prompt: string, ...ids: string[]) => generate(to(...ids), images, { model: "imgA-4", prompt });

const readModels = async (match: string) => (await sent(match)).map((body) => body.model as string);

const ends: [why: string, order: string, code: string][] = [
  ["a failure whose text says flagged as sensitive and E005", "[moderated-later]", "content_policy_violation"],
  ["a failure of its own", "[fails]", "provider_error"],
  ["a prediction that was cancelled at Replicate", "[canceled]", "provider_error"],
  ["aborted: its deadline before it started", "[aborted]", "provider_error"],
  ["404 after data removal", "[removed]", "provider_error"],
  ["a success without output after data removal", "[emptied]", "provider_error"],
  ["no money there", "[wallet]", "provider_error"],
  ["a model that is gone", "[retired]", "provider_error"],
  ["a result URL that expired", "[expired]", "provider_error"],
];

test.each(ends)("%s fails the task and returns its money", async (_, order, code) => {
  const prompt = `${unique()} ${order}`;
  const { account, data } = await make(prompt, seedream);
  expect(data).toMatchObject({ status: "failed", error: { code } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await countAll(prompt, "start")).toBe(1);
  // Longer than a provider stays unhealthy.
  vi.setSystemTime(Date.now() + 61_000);
});

const passing: [why: string, order: string, polls: number][] = [
  ["a poll that is throttled", "[poll-limit 2]", 4],
  ["a poll that breaks", "[poll-broken 2]", 4],
  ["a poll that is denied", "[poll-denied 2]", 4],
  ["an unknown status", "[odd 2]", 4],
];

test.each(passing)("%s does not end the task", async (_, order, polls) => {
  const prompt = `${unique()} ${order}`;
  const { account, data } = await make(prompt, seedream);
  expect(data.status, JSON.stringify(data)).toBe("completed");
  // Other code may read the list in the meantime.
  const calls = (await readCalls(prompt)).filter((name) => name !== "list");
  expect(calls).toEqual(["start", ...Array.from({ length: polls }, () => "poll"), "file"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
  vi.setSystemTime(Date.now() + 61_000);
});

test("429 without Retry-After: its text says that waiting is useless", async () => {
  const prompt = `${unique()} [limit-long 1]`;
  expect((await make(prompt, seedream, secondSeedream)).data.status).toBe("completed");
  expect(await readModels(prompt)).toEqual([seedream, secondSeedream]);
});

test("429 without Retry-After: the only route is retried", async () => {
  const prompt = `${unique()} [limit-long 1]`;
  const { account, data } = await make(prompt, seedream);
  expect(data.status).toBe("completed");
  expect(await readModels(prompt)).toEqual([seedream, seedream]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test.each(["[wallet 1]", "[retired 1]", "[unavailable 2]"])("%s falls back to the next route", async (order) => {
  const prompt = `${unique()} ${order}`;
  const { account, data } = await make(prompt, seedream, secondSeedream);
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect((await readModels(prompt)).at(-1)).toBe(secondSeedream);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
  vi.setSystemTime(Date.now() + 61_000);
});

test("a later failure of its own falls back to the next route, refused content does not", async () => {
  const failing = `${unique()} [fails 1]`;
  expect((await make(failing, seedream, secondSeedream)).data.status).toBe("completed");
  expect(await readModels(failing)).toEqual([seedream, secondSeedream]);
  const flagged = `${unique()} [moderated-later 1]`;
  const { data } = await make(flagged, seedream, secondSeedream);
  expect(data).toMatchObject({ status: "failed", error: { code: "content_policy_violation" } });
  expect(await readModels(flagged)).toEqual([seedream]);
});

test("a short throttle is waited for", async () => {
  const prompt = `${unique()} [limit 1]`;
  const { data } = await make(prompt, seedream, secondSeedream);
  expect(data.status).toBe("completed");
  expect(await readModels(prompt)).toEqual([seedream, seedream]);
});

test("a broken download is repeated without a second generation", async () => {
  const prompt = `${unique()} [truncated 1]`;
  const { account, data } = await make(prompt, seedream);
  expect(data.status, JSON.stringify(data)).toBe("completed");
  const calls = await readCalls(prompt);
  expect(calls.filter((name) => name === "file")).toHaveLength(2);
  expect(calls.filter((name) => name === "start")).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test("a video without a declared length is stored", async () => {
  const video = { model: "vidB-3.1-fast", prompt: `${unique()} [unknown-length]` };
  const { data } = await generate(
    { "vidB-3.1-fast": [{ provider: "replicate", model: "google/veo-3.1-fast" }] },
    "/v1/videos/generations",
    video,
  );
  expect(data.status).toBe("completed");
});

test("a wrong token marks the provider unhealthy and alerts", async () => {
  const lines = capture();
  const prompt = unique();
  const { account, body } = await submitTo(to(seedream), images, { model: "imgA-4", prompt });
  expect(isUnhealthy({ provider: "replicate", model: "" })).toBe(false);
  await deliver(body.id, "gateway-dispatch", { REPLICATE_API_TOKEN: "a-wrong-token" });
  expect(isUnhealthy({ provider: "replicate", model: "" })).toBe(true);
  const { data } = (await call(`/v1/tasks/${body.id}`, { key: account.key })).body;
  vi.restoreAllMocks();
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(lines.filter((line) => line.includes("account_fault"))).toEqual([expect.stringContaining('"provider":"replicate"')]);
  expect(lines.filter((line) => line.includes("a-wrong-token"))).toEqual([]);
  expect(await readCalls(prompt)).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a result is not lost when the token is refused while it is fetched", async () => {
  const prompt = unique();
  const { account, body: made } = await submitTo(to(seedream), images, { model: "imgA-4", prompt });
  await deliver(made.id);
  await passToPoll(made.id);
  await deliver(made.id, "gateway-dispatch", { REPLICATE_API_TOKEN: "wrong-token" });
  const { data } = (await finish(account, made.id)).body;
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
  vi.setSystemTime(Date.now() + 61_000);
});
