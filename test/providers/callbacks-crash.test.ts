/** After a crash between a maker's callback and its effects the task still completes exactly once, whether the maker calls again or not. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { perform } from "../../src/tasks/consumer/perform.ts";
import type { StepOutcome } from "../../src/tasks/work.ts";
import { bindings, crash, openStub } from "../support/faults.ts";
import { alarm, readBalance, call, deliver, finish, holdTime, pass, unique } from "../support/gateway.ts";
import { announce, callsOfMakers, capture, countAll, routesTo, submitTo } from "./support.ts";

holdTime();

const model = "vidC-1-0-pro-fast";
const pollUrl = "/contents/generations/tasks/cgt";

/**
 * The next poll is sent and never answered, or, with `isAsked` false, not even sent. The returned function waits until the poll was made.
 */
function stopPoll(isAsked: boolean): () => Promise<void> {
  const { fetch } = globalThis;
  const seen = { isStopped: false };
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    if (seen.isStopped || !(url as string).includes(pollUrl)) return fetch(url, init);
    if (isAsked) await fetch(url, init);
    seen.isStopped = true;
    return new Promise(() => undefined);
  });
  return async () => {
    for (let turn = 0; !seen.isStopped && turn < 2_000; turn++) await scheduler.wait(1);
    expect(seen.isStopped).toBe(true);
  };
}

const stops: [string, () => () => Promise<void>][] = [
  ["before the poll", () => stopPoll(false)],
  ["before the poll's answer", () => stopPoll(true)],
];

test.each(stops.flatMap(([name, stop]) => [[name, "calls again", stop] as const, [name, "does not call again", stop] as const]))(
  "a crash %s, and the maker %s",
  async (_, again, stop) => {
    capture();
    const prompt = unique();
    const { account, body } = await submitTo(routesTo("modelark", model, "seedance-1-0-pro-fast-251015"), "/v1/videos/generations", {
      model,
      prompt,
    });
    const id = body.id as string;
    await deliver(id);
    const one = (await callsOfMakers(prompt)).at(-1)!;
    vi.setSystemTime(Date.now() + 20_000);
    const stopped = stop();
    const answer = announce(one);
    await stopped();
    await crash(openStub(id));
    // The maker gets an error, so it calls again.
    expect((await answer).status).toBe(503);
    vi.restoreAllMocks();
    capture();
    if (again === "calls again") {
      expect((await announce(one)).status).toBe(200);
      await deliver(id);
    }
    expect((await finish(account, id)).body.data.status).toBe("completed");
    expect(await countAll(prompt, "start")).toBe(1);
    const after = await readBalance(account);
    expect(after.reserved).toBe(0);
    for (let time = 0; time < 2; time++) {
      await announce(one);
      await deliver(id);
      await alarm(id);
    }
    expect(await readBalance(account)).toEqual(after);
    expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.cost).toMatchObject({ charged: after.used });
  },
);

/** A finished video that its maker's call leased to the Worker that got the call. */
async function leaseToCall() {
  const prompt = unique();
  const routes = routesTo("modelark", model, "seedance-1-0-pro-fast-251015");
  const { account, body } = await submitTo(routes, "/v1/videos/generations", { model, prompt });
  const id = body.id as string;
  await deliver(id);
  vi.setSystemTime(Date.now() + 20_000);
  const work = await openStub(id).calledBack("modelark", true);
  expect(work).toMatchObject({ step: "collect" });
  expect(await openStub(id).calledBack("modelark", true)).toBeNull();
  return { account, prompt, id, work: work! };
}

test.each([
  ["before it stores anything", false, false],
  ["before it stores anything, and so does the object", false, true],
  ["after it stored the file", true, false],
  ["after it stored the file, and so does the object", true, true],
])("the Worker that collects for a call crashes %s: a consumer collects again", async (_, isStored, isObjectToo) => {
  const { account, prompt, id, work } = await leaseToCall();
  if (isStored) await perform(work, env, { holdsLease: async () => true, report: async () => true });
  if (isObjectToo) await crash(openStub(id));
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
  const after = await readBalance(account);
  expect(after).toMatchObject({ reserved: 0 });
  // The Worker's late report changes nothing, or repeats the same one.
  await openStub(id).report(work.lease, { outcome: "lost", reason: "late" });
  expect(await readBalance(account)).toEqual(after);
  await pass(id, 86_401);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
});

test("what a call cannot collect while its request lives, a consumer collects", async () => {
  const { account, id, work } = await leaseToCall();
  const report = async (lease: string, step: StepOutcome) => openStub(id).report(lease, step);
  await perform({ ...work, until: Date.now() - 1_000 }, env, { holdsLease: async () => true, report });
  const sends = vi.spyOn(bindings.queue(), "send");
  await pass(id, 1);
  expect(sends).toHaveBeenCalledTimes(1);
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test("a poll that callbacks caused too early is in the record: a crash before it does not lose it", async () => {
  const prompt = `${unique()} [running 1]`;
  const { account, body } = await submitTo(routesTo("modelark", model, "seedance-1-0-pro-fast-251015"), "/v1/videos/generations", {
    model,
    prompt,
  });
  const id = body.id as string;
  await deliver(id);
  const one = (await callsOfMakers(prompt)).at(-1)!;
  await announce(one);
  await announce(one);
  expect(await countAll(prompt, "poll")).toBe(1);
  await crash(openStub(id));
  await pass(id, 1);
  expect(await countAll(prompt, "poll")).toBe(2);
  await deliver(id);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("completed");
});
