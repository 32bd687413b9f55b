/** Event streams and waits: how many a key may hold open, and that they end with their key. Contract 4 and 7. */

import { createExecutionContext, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { Objects } from "../../../src/rpc/objects.ts";
import { changeKeys } from "../../../src/db/account-changes.ts";
import { WalletObject } from "../../../src/wallet/object.ts";
import worker from "../../../src/worker.ts";
import { conform } from "../../support/conform.ts";
import { failWalletOnce } from "../../support/faults.ts";
import { type Account, asAdmin, call, holdTime, newAccount, submit, image } from "../../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";
const newTask = (account: Account) => submit(account, images, image());

/** Sends a request to a gateway whose rate limits are on. */
async function open(key: string, path: string, vars: Partial<Env> = {}): Promise<Response> {
  const url = `https://gateway.example${path}`;
  const request = new Request(url, { headers: { authorization: `Bearer ${key}` } });
  const response = await worker.fetch(request, { ...env, RATE_LIMITS: "on", ...vars }, createExecutionContext());
  conform("GET", url, { status: response.status, headers: response.headers });
  return response;
}

/** A stream that has begun, with its first bytes read. */
async function openStream(key: string, taskId: string) {
  const response = await open(key, `/v1/tasks/${taskId}/events`);
  expect(response.status).toBe(200);
  const reader = response.body!.getReader();
  await reader.read();
  return reader;
}

const openStreams = (key: string, taskId: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => openStream(key, taskId)));

/** Waits advance the held time; the nth wait runs the nth action. */
function whileWaiting(turns: (() => unknown)[] = []): number[] {
  const waits: number[] = [];
  vi.spyOn(Object.getPrototypeOf(scheduler) as Scheduler, "wait").mockImplementation(async (ms, options) => {
    if (options?.signal) return new Promise(() => undefined);
    waits.push(ms);
    vi.setSystemTime(Date.now() + ms);
    await turns[waits.length - 1]?.();
  });
  return waits;
}

const waits: [string, (taskId: string) => string][] = [
  ["an event stream", (id) => `/v1/tasks/${id}/events`],
  ["a status query", (id) => `/v1/tasks/${id}?wait=60`],
  ["a query of events", () => "/v1/events?wait=60"],
];

test.each(waits)("with twenty streams open %s is 429 until one ends; other keys are not affected", async (_, path) => {
  const account = await newAccount();
  const { key: second } = (await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null } })).body;
  const id = await newTask(account);
  const streams = await openStreams(account.key, id, 20);
  const refused = await open(account.key, path(id));
  expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("x-ratelimit-reset-requests")]).toEqual([429, "5", "5s"]);
  const error = { type: "rate_limit_exceeded", code: "too_many_waits" };
  expect(await refused.json()).toMatchObject(path(id).startsWith("/v1/tasks") ? { code: 429, error } : { error });
  // What does not wait is answered.
  expect((await open(account.key, `/v1/tasks/${id}`)).status).toBe(200);
  await (await openStream(second, id)).cancel();
  await streams[0]!.cancel();
  whileWaiting([() => call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" })]);
  const allowed = await open(account.key, path(id));
  expect(allowed.status).toBe(200);
  await allowed.text();
  for (const stream of streams.slice(1)) await stream.cancel();
});

test("waits count too, and stop counting when they are answered", async () => {
  const account = await newAccount();
  const id = await newTask(account);
  whileWaiting();
  for (let time = 0; time < 25; time++) expect((await open(account.key, `/v1/tasks/${id}?wait=1`)).status).toBe(200);
  const held = vi.spyOn(WalletObject.prototype, "holdWait").mockImplementation(() => false);
  expect((await open(account.key, `/v1/tasks/${id}?wait=1`)).status).toBe(429);
  expect(held).toHaveBeenCalledTimes(1);
});

test("a client token has a number of its own: a stranger's streams do not stop its key's", async () => {
  const account = await newAccount();
  const { token } = (await call("/v1/tokens", { key: account.key, body: { tasks: 1, max_cost: 1, expires_in: 600 } })).body;
  const { id } = (await call(images, { key: token, body: image() })).body;
  const streams = await openStreams(token, id, 20);
  expect((await open(token, `/v1/tasks/${id}/events`)).status).toBe(429);
  streams.push(await openStream(account.key, id));
  for (const stream of streams) await stream.cancel();
});

test("a stream whose request was lost counts for 25 seconds; open ones renew themselves", async () => {
  const account = await newAccount();
  const id = await newTask(account);
  const wallet = env.WALLETS.getByName(account.id);
  for (let lost = 0; lost < 19; lost++) expect(await wallet.holdWait(account.keyId, `lost ${lost}`)).toBe(true);
  whileWaiting();
  const stream = await openStream(account.key, id);
  expect((await open(account.key, `/v1/tasks/${id}/events`)).status).toBe(429);
  for (let comment = 0; comment < 2; comment++) await stream.read(); // a comment is sent every 15 seconds
  for (let other = 0; other < 19; other++) expect(await wallet.holdWait(account.keyId, `other ${other}`)).toBe(true);
  expect(await wallet.holdWait(account.keyId, "one too many")).toBe(false);
  await stream.cancel();
  expect(await wallet.holdWait(account.keyId, "the next")).toBe(true);
});

test("counting stores nothing, and a wallet that does not answer stops no wait", async () => {
  const account = await newAccount();
  const id = await newTask(account);
  await runDurableObjectAlarm(env.WALLETS.getByName(account.id));
  whileWaiting();
  failWalletOnce(account, "holdWait", false, 3);
  expect((await open(account.key, `/v1/tasks/${id}?wait=3`)).status).toBe(200);
});

test("with RATE_LIMITS=off streams are not counted", async () => {
  const account = await newAccount();
  const id = await newTask(account);
  const held = vi.spyOn(WalletObject.prototype, "holdWait");
  const streams = await Promise.all(Array.from({ length: 25 }, () => open(account.key, `/v1/tasks/${id}/events`, { RATE_LIMITS: "off" })));
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
  for (const { body } of streams) await body!.cancel();
  expect(held).not.toHaveBeenCalled();
});

/** Ways to end a key, as other isolates do: this one's cache is not cleared. */
const ends: [string, (account: Account) => unknown][] = [
  [
    "is deleted",
    ({ id, keyId }) =>
      changeKeys(env.DB, new Objects(env), id, [env.DB.prepare("UPDATE api_key SET deleted_at = 1 WHERE id = ?1").bind(keyId)]),
  ],
  ["has its account disabled", ({ id }) => env.DB.prepare("UPDATE account SET disabled = 1 WHERE id = ?1").bind(id).run()],
  [
    "expires",
    ({ keyId }) =>
      env.DB.prepare("UPDATE api_key SET expires_at = ?2 WHERE id = ?1")
        .bind(keyId, Date.now() + 1)
        .run(),
  ],
];

test.each(ends.flatMap(([how, end]) => waits.map(([what, path]) => [what, how, path, end] as const)))(
  "%s whose key %s ends within ten seconds",
  async (what, _, path, end) => {
    const account = await newAccount();
    const id = await newTask(account);
    let endedAt = Infinity;
    // After the first minute of a stream its steps are longer.
    const after = what === "an event stream" ? 70 : 20;
    whileWaiting(
      Array.from({ length: after }, (_, at) => async () => {
        if (at < after - 1) return;
        await end(account);
        endedAt = Date.now();
      }),
    );
    const response = await open(account.key, path(id));
    if (what === "an event stream") expect(await response.text()).toContain("event: task");
    else expect([response.status, (await response.json<{ error: { code: string } }>()).error.code]).toEqual([401, "unauthorized"]);
    expect(Date.now() - endedAt).toBeLessThanOrEqual(10_000);
    expect((await open(account.key, path(id))).status).toBe(401);
  },
);

test("a stream and a wait of a client token end when the token expires", async () => {
  const account = await newAccount();
  const { token } = (await call("/v1/tokens", { key: account.key, body: { tasks: 1, max_cost: 1, expires_in: 60 } })).body;
  const { id } = (await call(images, { key: token, body: image() })).body;
  whileWaiting();
  const began = Date.now();
  vi.setSystemTime(began + 30_000);
  expect((await open(token, `/v1/tasks/${id}?wait=60`)).status).toBe(401);
  expect(Date.now() - began).toBeLessThanOrEqual(62_000);
});
