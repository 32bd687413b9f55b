/** How a task ends: cancelled, or expired with nothing left stored; and a refused submission stores nothing. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { bindings, nothingStored, openStorage, openStub } from "../support/faults.ts";
import {
  alarm,
  readBalance,
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
  newTask,
} from "../support/gateway.ts";
import { pixel as png } from "../media/images.ts";

holdTime();

const images = "/v1/images/generations";
const image = (prompt: string) => ({ model: "imgA-4", prompt });

test("cancelling returns everything and cancels at the provider; a second cancel is refused", async () => {
  const { account, prompt, id } = await newTask();
  await deliver(id);
  const cancelled = await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  expect(cancelled.status).toBe(200);
  expect(cancelled.body).toMatchObject({ code: 200, data: { id, status: "failed", error: { code: "cancelled" } } });
  expect(await upstreamCalls(prompt)).toContain("cancel");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  const again = await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST", body: {} });
  expect(again.status).toBe(409);
  expect(again.body).toMatchObject({ code: 409, error: { type: "invalid_request", code: "task_already_final" } });
  await deliver(id);
  await pass(id, 5);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("failed");
});

test("a task cancelled while its outputs are stored stays cancelled, and they are deleted", async () => {
  const { account, id } = await newTask();
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
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a task that is never queried completes, its assets expire to the second, its record is deleted, nothing stays stored", async () => {
  const { account, id } = await newTask();
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
  expect(await openStorage(openStub(id))).toEqual(nothingStored);
  expect(await call(`/v1/tasks/${id}`, { key: account.key })).toMatchObject({
    status: 404,
    body: { code: 404, error: { code: "task_not_found" } },
  });
});

test("inline images are deleted when their task ends", async () => {
  const account = await newAccount();
  const id = await submit(account, images, { ...image(unique()), images: [`data:image/png;base64,${png}`] });
  expect((await env.ASSETS.list({ prefix: `inputs/${id}/` })).objects).toHaveLength(1);
  const { body } = await finish(account, id);
  expect(body.data).toMatchObject({ status: "completed", metadata: { images: ["inline"] } });
  expect((await env.ASSETS.list({ prefix: `inputs/${id}/` })).objects).toEqual([]);
});

test("a refused submission leaves nothing: no record, no input, no row", async () => {
  const account = await newAccount(0.01);
  const before = (await env.ASSETS.list({ prefix: "inputs/" })).objects.length;
  const answer = await call(images, { key: account.key, body: { ...image(unique()), images: [`data:image/png;base64,${png}`] } });
  expect(answer).toMatchObject({ status: 402, body: { error: { type: "insufficient_quota", code: "insufficient_quota", param: null } } });
  expect((await env.ASSETS.list({ prefix: "inputs/" })).objects).toHaveLength(before);
  expect((await call("/v1/tasks", { key: account.key })).body).toEqual({ object: "list", data: [], has_more: false });
  expect(await readBalance(account)).toEqual({ quota: 0.01, reserved: 0, used: 0, remaining: 0.01 });
});

test.each(["completed", "failed", "cancelled", "over its deadline"])(
  "the provider's record of a task that is %s is erased with its prompt",
  async (end) => {
    const account = await newAccount();
    const prompt = unique();
    if (end === "failed") await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
    const id = await submit(account, images, image(prompt));
    await deliver(id);
    expect(await remaining(prompt)).toBe(1);
    if (end === "cancelled") await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
    else if (end === "over its deadline") await pass(id, 3_600);
    else await finish(account, id);
    expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe(end === "completed" ? end : "failed");
    expect(await remaining(prompt)).toBe(0);
  },
);

/** The number of operations with this word in their prompt that the provider keeps. */
async function remaining(word: string): Promise<number> {
  const response = await env.SANDBOX!.fetch(`http://sandbox/__operations?match=${word}`);
  return (await response.json<unknown[]>()).length;
}
