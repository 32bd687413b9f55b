/** If a route fails after it accepted the work, the next one takes over with the same reservation: the first usable result wins, and only it is charged. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import type { Task } from "../../src/tasks/record.ts";
import { crash, duringPoll, openStub } from "../support/faults.ts";
import {
  type Account,
  readBalance,
  call,
  cancel,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  script,
  unique,
  upstreamCalls,
  shortenPauses,
} from "../support/gateway.ts";

holdTime();
shortenPauses();

const price = 0.03;
const routes = { ROUTES: { "imgA-4": ["first", "second"].map((model) => ({ provider: "sandbox", model })) } };
const silent = Array.from({ length: 40 }, () => 500);
const running = Array.from({ length: 40 }, () => ({ progress: 10 }));

/** A task of a new account that its first route has accepted. */
async function begin(HEDGE = "failed") {
  const account = await newAccount();
  const prompt = unique();
  const answer = await call("/v1/images/generations", { key: account.key, body: { model: "imgA-4", prompt }, vars: routes });
  expect(answer.status).toBe(200);
  const id = answer.body.id as string;
  const setHedge = () =>
    runInDurableObject(openStub(id), (object) => {
      const configured = object as unknown as { env: Env };
      configured.env = { ...configured.env, HEDGE };
    });
  await setHedge();
  await deliver(id);
  return { account, prompt, id };
}

const record = (id: string) => runInDurableObject(openStub(id), (_, ctx) => ctx.storage.kv.get<Task>("task")!);

/** The names of the upstream's calls of one route. */
const callsTo = (prompt: string, model: string) => upstreamCalls(`${prompt} ${model}`);

async function untilStarted(id: string, prompt: string, model: string, rounds = 60): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    if ((await callsTo(prompt, model)).includes("start")) return;
    await pass(id, 2);
    await deliver(id);
  }
  throw new Error(`${model} was never started`);
}

async function expectCompletedOnce(account: Account, id: string): Promise<void> {
  const status = await finish(account, id, 40);
  expect(status.body.data).toMatchObject({ status: "completed", cost: { reserved: price, charged: price, returned: 0 } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
}

/** The log lines about work that was not charged. */
function hedgeLines() {
  const spy = vi.spyOn(console, "error").mockImplementation(() => undefined);
  return () =>
    spy.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>).filter((line) => line["unit"] === "hedge");
}

const deaths: [string, number | { failed: string }][] = [
  ["fails", { failed: "provider_error" }],
  ["forgets it", 404],
];

test.each(deaths.flatMap(([end, poll]) => ["failed", "slow"].map((hedging) => [end, poll, hedging] as const)))(
  "if a provider accepts work and then %s, the next route makes it (%j, HEDGE %s)",
  async (_, poll, hedging) => {
    const { account, prompt, id } = await begin(hedging);
    await script({ match: prompt, model: "first", polls: [{ progress: 50 }, poll] });
    await expectCompletedOnce(account, id);
    expect(await callsTo(prompt, "second")).toContain("download");
  },
);

test.each(deaths)("if the operator switched it off and a provider %s, the task fails and costs nothing", async (_, poll) => {
  const { account, prompt, id } = await begin("off");
  await script({ match: prompt, model: "first", polls: [{ progress: 50 }, poll] });
  expect((await finish(account, id)).body.data.status).toBe("failed");
  expect(await callsTo(prompt, "second")).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("with HEDGE=off a provider that stops answering keeps the task", async () => {
  const { account, prompt, id } = await begin("off");
  await script({ match: prompt, model: "first", polls: silent.slice(0, 5) });
  for (let round = 0; round < 5; round++) await pass(id, 15);
  expect(await callsTo(prompt, "second")).toEqual([]);
  await expectCompletedOnce(account, id);
  expect(await callsTo(prompt, "first")).toContain("download");
});

test("after a minute without an answered poll the next route takes over, and the earlier work is cancelled when the new result is stored", async () => {
  const { account, prompt, id } = await begin();
  await script({ match: prompt, model: "first", polls: [...silent] });
  await pass(id, 2);
  await pass(id, 50);
  expect(await callsTo(prompt, "second")).toEqual([]);
  await untilStarted(id, prompt, "second");
  await expectCompletedOnce(account, id);
  await pass(id, 1);
  expect(await callsTo(prompt, "first")).toContain("cancel");
  expect((await record(id)).earlier).toBeUndefined();
});

test("a slow provider continues alone unless the operator chose otherwise", async () => {
  const { account, prompt, id } = await begin("failed");
  await script({ match: prompt, model: "first", polls: running.slice(0, 25) });
  for (let round = 0; round < 20; round++) await pass(id, 3);
  expect(await callsTo(prompt, "second")).toEqual([]);
  await expectCompletedOnce(account, id);
});

test("after twice its typical duration the next route starts beside a slow provider; the first result is used, here the slow one's, and the other is cancelled", async () => {
  const { account, prompt, id } = await begin("slow");
  await script({ match: prompt, model: "first", polls: running.slice(0, 14) });
  await script({ match: prompt, model: "second", polls: [...running] });
  await untilStarted(id, prompt, "second");
  await expectCompletedOnce(account, id);
  await pass(id, 1);
  expect(await callsTo(prompt, "first")).toContain("download");
  expect(await callsTo(prompt, "second")).toContain("cancel");
  expect(await callsTo(prompt, "second")).not.toContain("download");
});

test("an output that is completed after the task's end is logged for the operator, and not charged", async () => {
  const lines = hedgeLines();
  const { account, prompt, id } = await begin();
  await script({ match: prompt, model: "first", polls: [...silent], cancels: Array.from({ length: 20 }, () => 409) });
  await untilStarted(id, prompt, "second");
  await expectCompletedOnce(account, id);
  await script({ match: prompt, model: "first", cancels: [409, 409] });
  for (let round = 0; round < 4 && lines().length === 0; round++) await pass(id, 31);
  expect(lines()).toEqual([expect.objectContaining({ task: id, outcome: "late_success", cost: price * 1e6, provider: "sandbox" })]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
  expect((await record(id)).earlier).toBeUndefined();
});

test("when the last route fails, the task waits for earlier work that may still complete", async () => {
  const { account, prompt, id } = await begin();
  await script({ match: prompt, model: "first", polls: silent.slice(0, 8) });
  await script({ match: prompt, model: "second", polls: [{ failed: "provider_error" }] });
  await untilStarted(id, prompt, "second");
  await expectCompletedOnce(account, id);
  expect(await callsTo(prompt, "first")).toContain("download");
});

test("a verdict on the content fails the task, and the earlier work is cancelled", async () => {
  const { account, prompt, id } = await begin();
  await script({ match: prompt, model: "first", polls: [...silent] });
  await script({ match: prompt, model: "second", polls: [{ failed: "content_policy_violation" }] });
  await untilStarted(id, prompt, "second");
  const status = await finish(account, id, 40);
  expect(status.body.data.error.code).toBe("content_policy_violation");
  await pass(id, 1);
  expect(await callsTo(prompt, "first")).toContain("cancel");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("cancelling a task with two working providers cancels both, free of charge", async () => {
  const { account, prompt, id } = await begin();
  await script({ match: prompt, model: "first", polls: [...silent] });
  await script({ match: prompt, model: "second", polls: [...running] });
  await untilStarted(id, prompt, "second");
  await pass(id, 2);
  expect((await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" })).status).toBe(200);
  await pass(id, 1);
  expect(await callsTo(prompt, "first")).toContain("cancel");
  expect(await callsTo(prompt, "second")).toContain("cancel");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a task cancelled while its earlier work is polled stays cancelled, although that work is made", async () => {
  const { account, prompt, id } = await begin();
  await script({ match: prompt, model: "first", polls: silent.slice(0, 6) });
  await script({ match: prompt, model: "second", polls: [...running] });
  await untilStarted(id, prompt, "second");
  const cancelled: number[] = [];
  duringPoll(id, async () => cancelled.push((await cancel(account, id)).status));
  for (let round = 0; round < 6; round++) {
    await pass(id, 8);
    await deliver(id);
  }
  expect(cancelled).toEqual([200]);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data).toMatchObject({ status: "failed", error: { code: "cancelled" } });
  expect(await callsTo(prompt, "first")).not.toContain("download");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a start that is accepted after the earlier work had its result is cancelled at the provider", async () => {
  const { account, prompt, id } = await begin();
  await script({ match: prompt, model: "first", polls: silent.slice(0, 6) });
  for (let round = 0; round < 60 && (await record(id)).route === 0; round++) await pass(id, 2);
  const work = await openStub(id).claim();
  expect(work).toMatchObject({ step: "start", task: { route: 1 } });
  for (let round = 0; round < 6 && (await record(id)).route === 1; round++) await pass(id, 8);
  expect((await record(id)).route).toBe(0);
  const late = { outcome: "accepted", operation: `${id}-1`, pollAfterMs: 1000, route: 1 } as const;
  await env.SANDBOX!.fetch("http://sandbox/v1/operations", {
    method: "POST",
    body: JSON.stringify({ key: late.operation, kind: "image", model: "second", prompt }),
  });
  expect(await openStub(id).report(work!.lease, late)).toBe(false);
  expect(await callsTo(prompt, "second")).toContain("cancel");
  await expectCompletedOnce(account, id);
});

test("a crash of the object between any two steps with two working providers loses neither result nor money", async () => {
  for (let crashAt = 0; crashAt < 6; crashAt++) {
    const { account, prompt, id } = await begin();
    await script({ match: prompt, model: "first", polls: [...silent] });
    await untilStarted(id, prompt, "second");
    for (let step = 0; step < 6; step++) {
      if (step === crashAt) await crash(openStub(id));
      await (step % 2 === 0 ? deliver(id) : pass(id, 2));
    }
    await expectCompletedOnce(account, id);
    for (let round = 0; round < 4; round++) await pass(id, 31);
    expect((await record(id)).earlier).toBeUndefined();
  }
});

test.each([
  ["cancels its work: free", 0, []],
  ["cannot stop its work: the price", price, [409, 409, 409]],
] as const)("CANCEL_CHARGE=full while the next route has not accepted: the first one %s", async (_, charged, cancels) => {
  const { account, prompt, id } = await begin();
  await script({ match: prompt, model: "first", polls: [...silent], cancels: [...cancels] });
  for (let round = 0; round < 60 && (await record(id)).route === 0; round++) await pass(id, 2);
  expect(await record(id)).toMatchObject({ route: 1, earlier: [{ route: 0 }] });
  await runInDurableObject(openStub(id), (object) => {
    const configured = object as unknown as { env: Env };
    configured.env = { ...configured.env, CANCEL_CHARGE: "full" };
  });
  const { body } = await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  expect(body.data).toMatchObject({ status: "failed", cost: { reserved: price, charged, returned: price - charged } });
  await pass(id, 1);
  expect((await record(id)).earlier?.length ?? 0).toBe(cancels.length > 0 ? 1 : 0);
  expect(await callsTo(prompt, "second")).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: charged });
});
