/** What a task or chat writes and calls, counted from outside over its whole life: from its submission to the end of its record. */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { type Operations, rows } from "../../scripts/support/operations.ts";
import { bindings, spyOn, stubOf } from "../support/faults.ts";
import { type Account, call, complete, deliver, holdTime, newAccount, submit, unique } from "../support/gateway.ts";
import { startMeter } from "../support/meter.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

/** The sandbox works for this many simulated seconds on each task, and names no time for polls. */
function workFor(seconds: number): void {
  const prototype = Object.getPrototypeOf(env.SANDBOX) as { fetch: (input: string, init?: RequestInit) => Promise<Response> };
  const original = prototype.fetch;
  const started = new Map<string, number>();
  vi.spyOn(prototype, "fetch").mockImplementation(async function (this: unknown, input, init) {
    const [, id] = /^http:\/\/sandbox\/v1\/operations(?:\/([^/]+))?$/.exec(input) ?? [];
    const ms = Date.now() - (started.get(id ?? "") ?? -Infinity);
    if (id !== undefined && init?.method !== "DELETE" && ms < seconds * 1000)
      return Response.json({ id, status: "running", progress: Math.floor(ms / seconds / 10) });
    const response = await original.call(this, input, init);
    if (input !== "http://sandbox/v1/operations") return response;
    const operation = await response.json<{ id: string; poll_after_ms?: number }>();
    delete operation.poll_after_ms;
    started.set(operation.id, Date.now());
    return Response.json(operation, { status: response.status });
  });
}

/** Lets time pass for objects: each alarm at its time, each message when it was sent. Ends when no alarm is set before `until`. */
async function live(account: Account, ids: string[], until: number): Promise<void> {
  const sends = spyOn(bindings.queue(), "send");
  let delivered = 0;
  const objects = [...ids.map(stubOf), env.WALLETS.getByName(account.id)];
  for (;;) {
    while (delivered < sends.mock.calls.length) await deliver((sends.mock.calls[delivered++]![0] as { taskId: string }).taskId);
    const alarms = await Promise.all(
      objects.map(async (stub) => ({ stub, at: await runInDurableObject(stub as DurableObjectStub, (_, ctx) => ctx.storage.getAlarm()) })),
    );
    const [next] = alarms.flatMap(({ stub, at }) => (at === null || at > until ? [] : { stub, at })).sort((a, b) => a.at - b.at);
    if (!next) return;
    vi.setSystemTime(Math.max(Date.now(), next.at));
    await runDurableObjectAlarm(next.stub as DurableObjectStub);
  }
}

/** Runs tasks of one account side by side until nothing of them is stored: what each has needed. */
async function measure(count: number, path: string, body: () => object): Promise<Operations> {
  const account = await newAccount(10_000);
  const finish = await startMeter();
  const ids = await Promise.all(Array.from({ length: count }, () => submit(account, path, body())));
  await live(account, ids, Date.now() + 8 * 86_400_000);
  return shared(await finish(), count);
}

const shared = (operations: Operations, count: number) =>
  Object.fromEntries(Object.entries(operations).map(([name, value]) => [name, Math.round((100 * value) / count) / 100])) as unknown as Operations;

/** Tasks that end together share the writing to D1. */
const together = 16;

test("video", async () => {
  const body = () => ({ model: "vidB-3.1-fast", prompt: unique() });
  await complete(await newAccount(), "/v1/videos/generations", body());
  workFor(60);
  for (const n of [1, together]) {
    const operations = await measure(n, "/v1/videos/generations", body);
    console.warn(n, JSON.stringify(operations), rows(operations));
  }
});

test("image", async () => {
  const body = () => ({ model: "imgA-4", prompt: unique() });
  await complete(await newAccount(), "/v1/images/generations", body());
  workFor(8);
  for (const n of [1, together]) {
    const operations = await measure(n, "/v1/images/generations", body);
    console.warn(n, JSON.stringify(operations), rows(operations));
  }
});

test("chat", async () => {
  for (const n of [1, together, 100]) {
    const account = await newAccount(10_000);
    await call("/v1/balance", { key: account.key });
    const finish = await startMeter();
    const body = () => ({ model: "textA-1", messages: [{ role: "user", content: unique() }] });
    await Promise.all(Array.from({ length: n }, async () => expect((await call("/v1/chat/completions", { key: account.key, body: body() })).status).toBe(200)));
    await live(account, [], Date.now() + 8 * 86_400_000);
    const operations = shared(await finish(), n);
    console.warn(n, JSON.stringify(operations), rows(operations));
  }
});
