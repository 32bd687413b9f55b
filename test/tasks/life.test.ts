/** A task's life: faults that pass, faults that do not, deadlines, cancelling, expiry, the end of its record. */

import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { bindings, failOnce, nothingStored, storageOf, stubOf } from "../support/faults.ts";
import {
  alarm,
  books,
  call,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  script,
  submit,
  unique,
  upstreamCalls,
} from "../support/gateway.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

const images = "/v1/images/generations";
const image = (prompt: string) => ({ model: "imgA-4", prompt });

test("a start that is refused with 503 and a poll that is answered 500 pass by", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, starts: [503, 429], polls: [500, 503, { progress: 40 }] });
  const id = await submit(account, images, image(prompt));
  expect((await finish(account, id, 20)).body.data.status).toBe("completed");
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test("progress goes up only, is the provider's, and 100 only when completed", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ progress: 40 }, { progress: 20 }, { progress: 100 }] });
  const id = await submit(account, images, image(prompt));
  const seen: number[] = [];
  const look = async () => seen.push((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.progress as number);
  await look();
  await deliver(id);
  for (let poll = 0; poll < 4; poll++) {
    await pass(id, 2);
    await look();
  }
  await deliver(id);
  await look();
  expect(seen).toEqual([0, 40, 40, 99, 99, 100]);
});

test("a provider that cannot be asked is given up after five more tries, and the money returns", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, starts: Array.from({ length: 20 }, () => 503) });
  const id = await submit(account, images, image(prompt));
  const { body } = await finish(account, id, 40);
  expect(body).toMatchObject({ code: 200, message: expect.any(String), data: { status: "failed", error: { code: "provider_error" } } });
  expect(body.data.error.message).toBe(body.message);
  expect(body.data).not.toHaveProperty("completed_at");
  expect((await upstreamCalls(prompt)).filter((name) => name === "start")).toHaveLength(6);
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each(["content_policy_violation", "invalid_input", "provider_error"])("a verdict of the provider is final: %s", async (failed) => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed }] });
  const id = await submit(account, images, image(prompt));
  const { body } = await finish(account, id);
  expect(body.data).toMatchObject({ status: "failed", error: { code: failed } });
  expect(body.data.progress).toBeLessThan(100);
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("fewer images made, fewer charged", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, images: 1 });
  const id = await submit(account, images, { ...image(prompt), n: 4 });
  expect((await finish(account, id)).body.data.result.images).toHaveLength(1);
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test("a download that breaks off is fetched again without a second generation", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, downloads: ["truncated", 500] });
  const id = await submit(account, images, image(prompt));
  expect((await finish(account, id)).body.data.status).toBe("completed");
  const calls = await upstreamCalls(prompt);
  expect(calls.filter((name) => name === "start")).toHaveLength(1);
  expect(calls.filter((name) => name === "download")).toHaveLength(3);
});

test("an output that is no picture the third time fails the task and costs nothing", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, downloads: ["garbage", "garbage", "garbage", "garbage"] });
  const id = await submit(account, images, image(prompt));
  expect((await finish(account, id)).body.data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("R2 that fails for a moment delays the task only", async () => {
  const account = await newAccount();
  const id = await submit(account, images, image(unique()));
  await deliver(id);
  await pass(id, 2);
  failOnce(bindings.bucket(), "put");
  await deliver(id);
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test("D1 that fails when the books are to be closed is asked until it says yes", async () => {
  const account = await newAccount();
  const id = await submit(account, images, image(unique()));
  await deliver(id);
  await pass(id, 2);
  failOnce(bindings.database(), "batch");
  await deliver(id);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("completed");
  expect(await books(account)).toMatchObject({ reserved: 0.03, used: 0 });
  await pass(id, 2);
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test.each([
  ["image", images, { model: "imgA-4", prompt: "" }, 120],
  ["video", "/v1/videos/generations", { model: "vidB-3.1-fast", prompt: "" }, 600],
])("%s: at its deadline a task fails, whatever the provider does", async (_, path, body, seconds) => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: Array.from({ length: 1000 }, () => ({ progress: 10 })) });
  const id = await submit(account, path, { ...body, prompt });
  await deliver(id);
  await pass(id, seconds - 1);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("in_progress");
  await pass(id, 1);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({
    status: "failed",
    error: { code: "deadline_exceeded" },
  });
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await upstreamCalls(prompt)).toContain("cancel");
});

test("a task that nobody delivers ends at its deadline too", async () => {
  const account = await newAccount();
  const id = await submit(account, images, image(unique()));
  for (let minute = 0; minute < 3; minute++) await pass(id, 60);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({
    status: "failed",
    error: { code: "deadline_exceeded" },
  });
});

test("a dead letter ends its task, and the money returns", async () => {
  const account = await newAccount();
  const id = await submit(account, images, image(unique()));
  await deliver(id, "gateway-dead");
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({
    status: "failed",
    error: { code: "provider_error" },
  });
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a dead letter that comes late does no harm to a task that went on", async () => {
  const account = await newAccount();
  const id = await submit(account, images, image(unique()));
  await deliver(id);
  await deliver(id, "gateway-dead");
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test("cancelling returns everything and tells the provider; the second time it is final", async () => {
  const account = await newAccount();
  const prompt = unique();
  const id = await submit(account, images, image(prompt));
  await deliver(id);
  const cancelled = await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  expect(cancelled.status).toBe(200);
  expect(cancelled.body).toMatchObject({ code: 200, data: { id, status: "failed", error: { code: "cancelled" } } });
  expect(await upstreamCalls(prompt)).toContain("cancel");
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
  const again = await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST", body: {} });
  expect(again.status).toBe(409);
  expect(again.body).toMatchObject({ code: 409, error: { type: "invalid_request", code: "task_already_final" } });
  await deliver(id);
  await pass(id, 5);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("failed");
});

test("a task cancelled while its outputs are stored stays cancelled, and they are removed", async () => {
  const account = await newAccount();
  const id = await submit(account, images, image(unique()));
  await deliver(id);
  await pass(id, 2);
  const original = bindings.bucket()["put"]!;
  vi.spyOn(bindings.bucket(), "put").mockImplementationOnce(async function (this: unknown, ...values: unknown[]) {
    const stored = await original.apply(this, values);
    expect((await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" })).status).toBe(200);
    return stored;
  });
  await deliver(id);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.error.code).toBe("cancelled");
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("never asked for again, a task finishes, its assets expire to the second, its record ends, nothing stays", async () => {
  const account = await newAccount();
  const id = await submit(account, images, image(unique()));
  const { body } = await finish(account, id);
  const url = body.data.result.images[0].url[0] as string;
  const expiresAt = body.data.expires_at as number;
  vi.setSystemTime(expiresAt * 1000 - 1);
  expect((await call(url)).status).toBe(200);
  await alarm(id);
  expect((await call(url)).status).toBe(200);
  vi.setSystemTime(expiresAt * 1000);
  expect(await call(url)).toMatchObject({ status: 410, body: { error: { code: "asset_expired", type: "invalid_request" } } });
  await alarm(id);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("completed");
  vi.setSystemTime((body.data.completed_at + 604_800) * 1000);
  await alarm(id);
  expect(await storageOf(stubOf(id))).toEqual(nothingStored);
  expect(await call(`/v1/tasks/${id}`, { key: account.key })).toMatchObject({
    status: 404,
    body: { code: 404, error: { code: "task_not_found" } },
  });
});

test("inline images are removed when their task ends", async () => {
  const account = await newAccount();
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const id = await submit(account, images, { ...image(unique()), images: [`data:image/png;base64,${png}`] });
  expect((await env.ASSETS.list({ prefix: `inputs/${id}/` })).objects).toHaveLength(1);
  const { body } = await finish(account, id);
  expect(body.data).toMatchObject({ status: "completed", metadata: { images: ["inline"] } });
  expect((await env.ASSETS.list({ prefix: `inputs/${id}/` })).objects).toEqual([]);
});

test("a refused submission leaves nothing: no record, no input, no row", async () => {
  const account = await newAccount(0.01);
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const before = (await env.ASSETS.list({ prefix: "inputs/" })).objects.length;
  const answer = await call(images, { key: account.key, body: { ...image(unique()), images: [`data:image/png;base64,${png}`] } });
  expect(answer).toMatchObject({ status: 402, body: { error: { type: "insufficient_quota", code: "insufficient_quota", param: null } } });
  expect((await env.ASSETS.list({ prefix: "inputs/" })).objects).toHaveLength(before);
  expect((await call("/v1/tasks", { key: account.key })).body).toEqual({ object: "list", data: [], has_more: false });
  expect(await books(account)).toEqual({ quota: 0.01, reserved: 0, used: 0, remaining: 0.01 });
});
