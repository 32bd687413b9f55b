/** A task's life: temporary faults, permanent faults, deadlines, dead-letter messages. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import type { Task } from "../../src/tasks/record.ts";
import { bindings, crash, failOnce, failWalletOnce, openStub } from "../support/faults.ts";
import { alarmAt, readBalance, call, deliver, finish, holdTime, pass, upstreamCalls, newTask } from "../support/gateway.ts";

holdTime();

test("a start refused with 503 and a poll answered 500 are retried", async () => {
  const { account, id } = await newTask({ starts: [503, 429], polls: [500, 503, { progress: 40 }] });
  expect((await finish(account, id, 20)).body.data.status).toBe("completed");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test("progress never decreases, is the provider's, and is 100 only when completed", async () => {
  const { account, id } = await newTask({ polls: [{ progress: 40 }, { progress: 20 }, { progress: 100 }] });
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

test("after five more attempts a provider that cannot be reached fails the task, and the money is returned", async () => {
  const { account, prompt, id } = await newTask({ starts: Array.from({ length: 20 }, () => 503) });
  const { body } = await finish(account, id, 40);
  expect(body).toMatchObject({ code: 200, message: expect.any(String), data: { status: "failed", error: { code: "provider_error" } } });
  expect(body.data.error.message).toBe(body.message);
  expect(body.data).not.toHaveProperty("completed_at");
  expect((await upstreamCalls(prompt)).filter((name) => name === "start")).toHaveLength(6);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each(["content_policy_violation", "invalid_input", "provider_error"])("a verdict of the provider is final: %s", async (failed) => {
  const { account, id } = await newTask({ polls: [{ failed }] });
  const { body } = await finish(account, id);
  expect(body.data).toMatchObject({ status: "failed", error: { code: failed } });
  expect(body.data.progress).toBeLessThan(100);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("fewer images than requested are charged as that many", async () => {
  const { account, id } = await newTask({ images: 1 }, { model: "imgA-4", n: 4 });
  expect((await finish(account, id)).body.data.result.images).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test("a broken download is repeated without a second generation", async () => {
  const { account, prompt, id } = await newTask({ downloads: ["truncated", 500] });
  expect((await finish(account, id)).body.data.status).toBe("completed");
  const calls = await upstreamCalls(prompt);
  expect(calls.filter((name) => name === "start")).toHaveLength(1);
  expect(calls.filter((name) => name === "download")).toHaveLength(3);
});

test("an output that is not an image the third time fails the task and costs nothing", async () => {
  const { account, id } = await newTask({ downloads: ["garbage", "garbage", "garbage", "garbage"] });
  expect((await finish(account, id)).body.data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a short failure of R2 only delays the task", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  failOnce(bindings.bucket(), "put");
  await deliver(id);
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test("a step that keeps failing is repeated less and less often, also by an object that leaves memory meanwhile", async () => {
  const { account, id } = await newTask();
  await finish(account, id);
  failOnce(bindings.bucket(), "delete", false, 400);
  await pass(id, 86_400);
  const delays: number[] = [];
  for (let left = 86_400; left > 0; left -= delays.at(-1)!) {
    await crash(openStub(id));
    delays.push(((await alarmAt(id))! - Date.now()) / 1000);
    await pass(id, delays.at(-1)!);
  }
  expect([delays[0], Math.max(...delays)]).toEqual([5, 600]);
  expect(delays.length).toBeLessThan(250);
  vi.restoreAllMocks();
  await pass(id, 600);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
});

test("a settlement is retried until the wallet answers", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  failWalletOnce(account, "settle");
  await deliver(id);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("completed");
  expect(await readBalance(account)).toMatchObject({ reserved: 0.03, used: 0 });
  await pass(id, 2);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test.each([
  ["image", { model: "imgA-4" }, 120],
  ["video", { model: "vidB-3.1-fast" }, 600],
])("%s: at its deadline a task fails, whatever the provider does", async (_, body, seconds) => {
  const { account, prompt, id } = await newTask({ polls: Array.from({ length: 1000 }, () => ({ progress: 10 })) }, body);
  await deliver(id);
  await pass(id, seconds - 1);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("in_progress");
  await pass(id, 1);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({
    status: "failed",
    error: { code: "deadline_exceeded" },
  });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await upstreamCalls(prompt)).toContain("cancel");
});

test("a task whose messages are never delivered fails at its deadline too", async () => {
  const { account, id } = await newTask({ polls: Array.from({ length: 1000 }, () => ({ progress: 10 })) });
  for (let minute = 0; minute < 3; minute++) await pass(id, 60);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({
    status: "failed",
    error: { code: "deadline_exceeded" },
  });
});

test("a message in the dead-letter queue ends its task, and the money is returned", async () => {
  const { account, id } = await newTask();
  await deliver(id, "gateway-dead");
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({
    status: "failed",
    error: { code: "provider_error" },
  });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("finished work is collected although the message of its collection is in the dead-letter queue", async () => {
  const { account, prompt, id } = await newTask();
  await deliver(id);
  await pass(id, 2); // the provider has generated it: it waits to be collected
  await deliver(id, "gateway-dead");
  await crash(openStub(id));
  await deliver(id, "gateway-dead");
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect((await upstreamCalls(prompt)).filter((name) => name === "start")).toHaveLength(1);
});

test("a start that waits for a busy maker goes on although a message of an earlier start is in the dead-letter queue", async () => {
  const { account, prompt, id } = await newTask({ starts: [429] });
  await deliver(id);
  await deliver(id, "gateway-dead");
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect((await upstreamCalls(prompt)).filter((name) => name === "start")).toHaveLength(2);
});

test("a late dead-letter message does not affect a task that has continued", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  await deliver(id, "gateway-dead");
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

/** Changes the stored task, as if the operator had removed the secret of a provider: `fal` has none here. */
async function change(taskId: string, providers: string[], more: Partial<Pick<Task, "step">> = {}): Promise<void> {
  await runInDurableObject(openStub(taskId), (_, ctx) => {
    const task = ctx.storage.kv.get<Task>("task")!;
    const routes = providers.map((provider) => ({ ...task.submission.routes[0]!, provider }));
    ctx.storage.kv.put("task", { ...task, ...more, submission: { ...task.submission, routes } });
  });
  await crash(openStub(taskId));
}

test("a task whose provider is switched off before it starts goes on to the next route", async () => {
  const { account, id } = await newTask();
  await change(id, ["fal", "sandbox"]);
  expect(await deliver(id)).toBe("ack");
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test("a finished result whose provider is switched off waits, also if the message comes again and again", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  await change(id, ["fal"], { step: { do: "collect", at: Date.now(), sent: 1 } });
  expect(await deliver(id)).toBe("ack");
  await change(id, ["sandbox"]);
  expect((await finish(account, id)).body.data.status).toBe("completed");
});
