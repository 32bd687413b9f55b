/** Cancelling during a start: a task that is cancelled while its inputs are opened is not submitted, and work that was accepted too late is cancelled at the provider. Contract 4. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { TaskObject } from "../../src/tasks/object/task-object.ts";
import type { Work } from "../../src/tasks/work.ts";
import { bindings, duringPoll, openStub } from "../support/faults.ts";
import {
  type Account,
  readBalance,
  call,
  deliver,
  holdTime,
  newAccount,
  pass,
  script,
  submit,
  unique,
  upstreamCalls,
  cancel,
  newTask,
} from "../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";
const image = (prompt: string) => ({ model: "imgA-4", prompt });

/** The log lines of one kind that this test's task wrote. */
function alerts(unit: string): () => Record<string, unknown>[] {
  const spy = vi.spyOn(console, "error");
  return () => spy.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>).filter((line) => line["unit"] === unit);
}

/** The task's object with an operator's setting. */
const charging = (id: string, CANCEL_CHARGE: string) =>
  runInDurableObject(openStub(id), (object) => {
    const configured = object as unknown as { env: Env };
    configured.env = { ...configured.env, CANCEL_CHARGE };
  });

test("a task cancelled between its claim and its start is cancelled at the provider when its start is reported", async () => {
  const { account, prompt, id } = await newTask();
  const { claim } = TaskObject.prototype as unknown as { claim: (this: TaskObject) => Promise<Work | null> };
  vi.spyOn(TaskObject.prototype, "claim").mockImplementationOnce(async function (this: TaskObject): Promise<Work | null> {
    const work = await claim.call(this);
    expect(await this.cancel({ accountId: account.id, view: "generic", language: "en", base: "https://gateway.example" })).not.toBe(
      "final",
    );
    return work;
  });
  expect(await deliver(id)).toBe("ack");
  expect(await upstreamCalls(prompt)).toEqual(["start", "cancel"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a task cancelled while its inputs are fetched is never submitted", async () => {
  const account = await newAccount();
  const range = `0.${Math.floor(Math.random() * 900_000) + 100_000},2.5`;
  const body = { model: "vidA-2", url: "https://films.example/someone.mp4", timestamps: range };
  const id = await submit(account, "/v1/videos/generations", body);
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
    expect((await cancel(account, id)).status).toBe(200);
    return new Response("a video");
  });
  await deliver(id);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.error.code).toBe("cancelled");
  expect(await upstreamCalls(range)).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each<[string, NonNullable<Parameters<typeof script>[0]["polls"]>]>([
  ["has made it", []],
  ["has failed it", [{ failed: "provider_error" }]],
  ["is at work", [{ progress: 40 }]],
  ["does not answer", [500]],
])("a task cancelled while its provider is polled stays cancelled, although the provider %s", async (_, polls) => {
  const { account, prompt, id } = await newTask({ polls });
  await deliver(id);
  const cancelled: number[] = [];
  duringPoll(id, async () => cancelled.push((await cancel(account, id)).status));
  for (let round = 0; round < 3; round++) {
    await pass(id, 2);
    await deliver(id);
  }
  expect(cancelled).toEqual([200]);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({ status: "failed", error: { code: "cancelled" } });
  expect(await upstreamCalls(prompt)).not.toContain("download");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a task cancelled while its collection is about to be sent again stays cancelled", async () => {
  const { account, prompt, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  const statement = bindings.statement();
  const original = statement["run"]!;
  const cancelled: number[] = [];
  vi.spyOn(statement, "run").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    const isCount = (this as { statement: string }).statement.startsWith("INSERT INTO call_sum");
    if (isCount && cancelled.length === 0) cancelled.push((await cancel(account, id)).status);
    return original.apply(this, values);
  });
  await pass(id, 60);
  await deliver(id);
  expect(cancelled).toEqual([200]);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({ status: "failed", error: { code: "cancelled" } });
  expect(await upstreamCalls(prompt)).not.toContain("download");
});

test("a task cancelled while the queue refuses its message stays cancelled, and is never submitted", async () => {
  const account = await newAccount();
  const prompt = unique();
  const cancelled: number[] = [];
  vi.spyOn(bindings.queue(), "send").mockImplementationOnce(async (message) => {
    cancelled.push((await cancel(account, (message as { taskId: string }).taskId)).status);
    throw new Error("scripted fault");
  });
  const id = await submit(account, images, image(prompt));
  await pass(id, 3);
  expect(cancelled).toEqual([200]);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({ status: "failed", error: { code: "cancelled" } });
  expect(await upstreamCalls(prompt)).toEqual([]);
});

/** The upstream accepts a start while its task is being cancelled. */
const cancelledMeanwhile = (account: Account, id: string) => ({
  fetch: async (input: string, init?: RequestInit) => {
    const response = await env.SANDBOX!.fetch(input, init);
    if (init?.method === "POST") expect((await cancel(account, id)).status).toBe(200);
    return response;
  },
});

test("work that a provider accepts after the cancellation is cancelled there, and the log has its cost", async () => {
  const { account, prompt, id } = await newTask();
  const lines = alerts("cancel");
  await deliver(id, undefined, { SANDBOX: cancelledMeanwhile(account, id) as unknown as Fetcher });
  expect(await upstreamCalls(prompt)).toEqual(["start", "cancel"]);
  expect(lines()).toEqual([expect.objectContaining({ task: id, provider: "sandbox", outcome: "late_cancelled", cost: 30_000 })]);
  await deliver(id);
  await pass(id, 600);
  expect(await upstreamCalls(prompt)).toEqual(["start", "cancel"]);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({ status: "failed", error: { code: "cancelled" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("an acceptance that is reported twice, or for a running task, cancels nothing", async () => {
  const { prompt, id } = await newTask();
  await deliver(id);
  const late = { outcome: "accepted" as const, operation: id, pollAfterMs: 1_000, route: 0 };
  expect(await openStub(id).report("an older lease", late)).toBe(false);
  expect(await upstreamCalls(prompt)).toEqual(["start"]);
});

test("CANCEL_CHARGE=full: free before acceptance and where the provider cancels, the price if the output was already made", async () => {
  const account = await newAccount();
  const slow = unique();
  await script({ match: slow, polls: [{ progress: 50 }] });
  const [early, running, made] = [
    await submit(account, images, image(unique())),
    await submit(account, images, image(slow)),
    await submit(account, images, image(unique())),
  ];
  for (const id of [running, made]) await deliver(id);
  for (const id of [early, running, made]) await charging(id, "full");
  for (const [id, used] of [
    [early, 0],
    [running, 0],
    [made, 0.03],
  ] as const) {
    if (id === made) await pass(made, 2); // the provider has generated it: it waits to be collected
    expect((await cancel(account, id)).body.data).toMatchObject({ status: "failed", error: { code: "cancelled" } });
    expect((await readBalance(account)).used).toBe(used);
  }
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03, remaining: 99.97 });
});

test("a wrong CANCEL_CHARGE cancels nothing: 500, and the log names the variable", async () => {
  const { account, id } = await newTask();
  await charging(id, "half");
  const lines = alerts("request");
  expect((await cancel(account, id)).status).toBe(500);
  expect(lines()[0]!["error"]).toContain("CANCEL_CHARGE must be one of none, full");
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("queued");
  expect(await readBalance(account)).toMatchObject({ reserved: 0.03, used: 0 });
});
