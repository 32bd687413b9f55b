/** Cloudflare's errors and their effects: the task's error, the money, the next route. */

import { expect, test, vi } from "vitest";
import { cloudflare } from "../../../src/providers/cloudflare/index.ts";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { readBalance, holdTime, unique } from "../../support/gateway.ts";
import { readCalls, capture, keep } from "../support.ts";
import { doors, generateBy, readHeads, images, readStarts, readVars, videos } from "./support.ts";

holdTime();

const model = "imgA-4";
const seedream = "bytedance/seedream-4.5";
const flux = "@cf/black-forest-labs/flux-1-schnell";
const video = { model: "vidD-02", duration: 10 };

/** The prompt's directive, the model, the task's error code, and the recorded calls. */
const ends: [string, string, string, string[]][] = [
  ["[moderated]", seedream, "content_policy_violation", ["refused"]],
  ["[moderated-later]", seedream, "content_policy_violation", ["start"]],
  ["[guarded]", flux, "content_policy_violation", ["refused"]],
  ["[classified]", flux, "content_policy_violation", ["refused"]],
  ["[flagged]", flux, "content_policy_violation", ["refused"]],
  ["[fails]", seedream, "provider_error", ["start"]],
  ["[retired]", flux, "provider_error", ["refused"]],
  ["[wallet]", flux, "provider_error", ["refused"]],
  ["[wallet]", seedream, "provider_error", ["refused"]],
  ["[broken]", seedream, "provider_error", ["refused"]],
  ["[slow]", seedream, "provider_error", ["refused"]],
  ["[drop]", seedream, "provider_error", ["start"]],
  ["[unfinished]", seedream, "provider_error", ["start"]],
  ["[expired]", seedream, "provider_error", ["start", "file", "file"]],
];

for (const door of doors)
  test.each(ends)(`through the ${door} %s of %s is %s, and costs nothing`, async (order, one, code, calls) => {
    const prompt = `${unique()} ${order}`;
    const { account, data } = await generateBy(door, [one], images, { model, prompt } as never);
    expect(data).toMatchObject({ status: "failed", error: { code } });
    expect(await readCalls(prompt)).toEqual(calls);
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  });

test.each(doors)("through the %s a failure that the maker reports fails the task", async (door) => {
  const prompt = `${unique()} [maker-fails]`;
  const { account, data } = await generateBy(door, ["minimax/hailuo-2.3"], videos, { ...video, prompt } as never);
  expect(data.error.code).toBe("provider_error");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

/** Directives that apply until the next route is used: nothing was accepted before. */
for (const door of doors)
  test.each([
    ["[limit 2]", ["refused", "refused", "start", "file"]],
    ["[retired 1]", ["refused", "start", "file"]],
    ["[agreement 1]", ["refused", "start", "file"]],
    ["[private 1]", ["refused", "start", "file"]],
    ["[misfit 1]", ["refused", "start", "file"]],
    ["[incomplete 1]", ["refused", "start", "file"]],
    ["[wallet 1]", ["refused", "start", "file"]],
    ["[user-error 1]", ["refused", "start", "file"]],
    ["[unlisted 1]", ["refused", "start", "file"]],
    ["[http-number 1]", ["refused", "start", "file"]],
    ["[fails 1]", ["start", "start", "file"]],
  ])(`through the ${door} %s falls back to the next route`, async (order, calls) => {
    const prompt = `${unique()} ${order}`;
    const { account, data } = await generateBy(door, [seedream, "bytedance/seedream-4.0"], images, { model, prompt } as never);
    expect(data.status).toBe("completed");
    expect(await readCalls(prompt)).toEqual(calls);
    expect((await readStarts(prompt)).at(-1)!.model).toBe("bytedance/seedream-4.0");
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
    vi.setSystemTime(Date.now() + 61_000);
  });

for (const door of doors)
  test.each([
    ["[agreement 1]", false],
    ["[private 1]", false],
    ["[wallet 1]", true],
  ])(`through the ${door} %s is about the account and all of its models: %s`, async (order, isAccount) => {
    vi.setSystemTime(Date.now() + 61_000);
    const prompt = `${unique()} ${order}`;
    const { data } = await generateBy(door, [seedream, "bytedance/seedream-4.0"], images, { model, prompt } as never);
    expect(data.status).toBe("completed");
    expect(isUnhealthy({ provider: "cloudflare", model: "" })).toBe(isAccount);
    vi.setSystemTime(Date.now() + 61_000);
  });

test("through REST a 503 means that nothing was accepted; the binding has no status, so the outcome is unknown", async () => {
  const prompt = `${unique()} [unavailable 2]`;
  const rest = await generateBy("rest", [seedream, "bytedance/seedream-4.0"], images, { model, prompt } as never);
  expect(rest.data.status).toBe("completed");
  const again = `${unique()} [unavailable 2]`;
  const binding = await generateBy("binding", [seedream, "bytedance/seedream-4.0"], images, { model, prompt: again } as never);
  expect(binding.data.error.code).toBe("provider_error");
  expect(await readCalls(again)).toEqual(["refused"]);
});

test.each(doors)("through the %s a broken connection causes no second generation, even with another route", async (door) => {
  const prompt = `${unique()} [drop]`;
  const { account, data } = await generateBy(door, ["minimax/hailuo-2.3", "minimax/h3"], videos, { ...video, prompt } as never);
  expect(data.error.code).toBe("provider_error");
  expect(await readCalls(prompt)).toEqual(["start"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each(doors)("through the %s a video whose download broke is downloaded again, not generated again", async (door) => {
  const prompt = `${unique()} [truncated 1]`;
  const { data } = await generateBy(door, ["minimax/hailuo-2.3"], videos, { ...video, prompt } as never);
  expect(data.status).toBe("completed");
  expect(await readHeads(data.result.videos[0].url)).toEqual([expect.stringContaining("ftyp")]);
  expect(await readCalls(prompt)).toEqual(["start", "file", "file"]);
});

for (const door of doors)
  test.each(["[bare]", "[nested]", "[unknown-length]"])(`through the ${door} a result in the form %s is read too`, async (order) => {
    const prompt = `${unique()} ${order}`;
    const { data } = await generateBy(door, ["google/veo-3.1"], videos, { model: "vidB-3.1-quality", prompt } as never);
    expect(data.status).toBe("completed");
  });

test("the outcome of a call that times out is unknown", async () => {
  const never = () => new Promise<never>(() => undefined);
  const provider = cloudflare({ AI: { run: never, models: never } })!;
  const job = { kind: "image", model: seedream, prompt: "x", n: 2, key: "k", size: "1:1" } as const;
  const fault = { retryable: true, nothingAccepted: false, account: false };
  await expect(provider.start({ ...job, images: [], characters: [], keep }, AbortSignal.abort())).rejects.toMatchObject(fault);
  expect([provider.startTimeoutMs("image"), provider.startTimeoutMs("video")]).toEqual([100_000, 540_000]);
});

test("the provider is on with the binding, or with an account and its token", () => {
  const AI = { run: () => Promise.reject(new Error()), models: () => Promise.reject(new Error()) };
  expect(cloudflare({ AI })?.name).toBe("cloudflare");
  expect(cloudflare({ WORKERS_AI_ACCOUNT_ID: "a", WORKERS_AI_API_TOKEN: "t" })?.name).toBe("cloudflare");
  expect(cloudflare({ WORKERS_AI_ACCOUNT_ID: "a" })).toBeUndefined();
  expect(cloudflare({ WORKERS_AI_API_TOKEN: "t" })).toBeUndefined();
});

test("wrong credentials mark the provider unhealthy and alert the operator, and appear nowhere", async () => {
  const texts = capture();
  const prompt = unique();
  const vars = { ...readVars("rest"), WORKERS_AI_API_TOKEN: "wrong-token" };
  const { account, data } = await generateBy(vars, [seedream], images, { model, prompt } as never);
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(isUnhealthy({ provider: "cloudflare", model: "" })).toBe(true);
  expect(texts.map((text) => JSON.parse(text) as object)).toContainEqual({
    unit: "provider",
    provider: "cloudflare",
    outcome: "account_fault",
  });
  const ok = await generateBy("rest", [seedream], images, { model, prompt: unique() } as never);
  for (const secret of ["wrong-token", "test-cloudflare-token", prompt]) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
  expect(JSON.stringify([data, ok.data])).not.toContain("token");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});
