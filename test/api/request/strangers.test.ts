/** Callers without a known key: they cost nothing that lasts, and after 60 unknown keys a minute no look-up. Contract 4. */

import "../../support/alone.ts";
import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { newApiKey, newClientToken, sha256Hex, toTokenObjectId } from "../../../src/base/ids.ts";
import { bindings } from "../../support/faults.ts";
import { type Answer, asAdmin, call, holdTime, newAccount, image } from "../../support/gateway.ts";
import { traces } from "../../support/traces.ts";

holdTime();

const images = "/v1/images/generations";
const openAiImages = "/openai/v1/images/generations";

let networks = 0;
/** An address whose network no other test uses. */
const newAddress = () => `2001:db8:0:${(++networks).toString(16)}::1`;
// No test may begin a minute before the one in which it ends.
beforeEach(() => void vi.setSystemTime(60_000 * Math.ceil(Date.now() / 60_000) + 1_000));

interface Asked {
  key?: string | undefined;
  path?: string;
  body?: unknown;
  vars?: Partial<Env>;
}

/** Sends a request from an address to a gateway whose rate limits are on; the platform's limiter allows everything. */
const ask = (address: string, { key = newApiKey(), path = "/v1/balance", body, vars }: Asked = {}): Promise<Answer> =>
  call(path, {
    key,
    headers: { "cf-connecting-ip": address },
    ...(body !== undefined && { body }),
    vars: { RATE_LIMITS: "on", UNKNOWN_KEYS: { limit: async () => ({ success: true }) }, ...vars },
  });

const many = async (count: number, send: () => Promise<Answer>) => {
  const answers = await Promise.all(Array.from({ length: count }, send));
  return answers.map(({ status }) => status);
};
/** The objects that the OpenAI Worker and client tokens have stored. */
const attempts = (env as unknown as { ATTEMPTS: DurableObjectNamespace }).ATTEMPTS;
const stored = async () => [
  await traces(),
  ...(await Promise.all([attempts, env.TOKENS].map((one) => listDurableObjectIds(one as never)))),
];
const counted = (statuses: number[]) =>
  Object.fromEntries([...new Set(statuses)].map((one) => [one, statuses.filter((s) => s === one).length]));

/** Counts the statements that D1 gets for keys. */
function watchKeys(): () => number {
  const prepare = vi.spyOn(bindings.database(), "prepare");
  return () => prepare.mock.calls.filter(([sql]) => String(sql).includes("api_key")).length;
}

const entrances: [string, Asked][] = [
  ["the balance", {}],
  ["the balance without /v1", { path: "/balance" }],
  ["the account's balance", { path: "/user/balance" }],
  ["a submission", { path: images, body: image() }],
  ["a chat", { path: "/v1/chat/completions", body: { model: "textA-1", messages: [{ role: "user", content: "x" }] } }],
  ["a status query", { path: "/v1/tasks/task_x" }],
  ["an event stream", { path: "/v1/tasks/task_x/events" }],
  ["a list", { path: "/v1/events?wait=60" }],
  ["OpenAI's images", { path: openAiImages, body: { model: "gpt-image-1", prompt: "a cat" } }],
  ["OpenAI's chat", { path: "/openai/v1/chat/completions", body: { model: "gpt-4o", messages: [{ role: "user", content: "x" }] } }],
  ["OpenAI's videos", { path: "/openai/v1/videos", body: { model: "sora-2", prompt: "a cat" } }],
  ["the tools of agents", { path: "/mcp", body: { jsonrpc: "2.0", id: 1, method: "tools/list" } }],
];

test.each(entrances)(
  "of 200 invented keys at %s, 60 are looked up and 140 are 429 without a look-up; nothing is stored",
  async (_, asked) => {
    const address = newAddress();
    const before = await stored();
    const read = watchKeys();
    expect(counted(await many(200, () => ask(address, asked)))).toEqual({ 401: 60, 429: 140 });
    expect(read()).toBeLessThanOrEqual(120); // a replica, then the primary
    const looked = read();
    expect((await ask(address, asked)).status).toBe(429);
    expect(read()).toBe(looked);
    expect(await stored()).toEqual(before);
  },
);

test("the 429 has the format of its path, and says when to try again", async () => {
  const address = newAddress();
  await many(60, () => ask(address));
  const seconds = String(60 - (Math.floor(Date.now() / 1000) % 60));
  const refused = await Promise.all(
    ["/v1/balance", "/v1/tasks/task_x", images, openAiImages, "/mcp"].map((path) =>
      ask(address, { path, ...(path.includes("images") && { body: image() }) }),
    ),
  );
  for (const { status, headers } of refused) expect([status, headers.get("retry-after")]).toEqual([429, seconds]);
  const [balance, task, submission, openAi, mcp] = refused.map(({ body }) => body);
  expect(balance).toEqual({ success: false, message: "Too many requests" });
  expect(task).toMatchObject({ code: 429, error: { code: "rate_limit_exceeded" } });
  expect(submission).toEqual({ error: expect.objectContaining({ type: "rate_limit_exceeded", code: "rate_limit_exceeded" }) });
  expect(openAi).toEqual({ error: expect.objectContaining({ type: "requests", code: "rate_limit_exceeded" }) });
  expect(mcp).toMatchObject({ error: { code: "rate_limit_exceeded" } });
});

test("an address that is refused may use keys that this machine has seen; others wait for the next minute", async () => {
  const address = newAddress();
  const [seen, unseen] = [await newAccount(), await newAccount()];
  expect((await ask(newAddress(), { key: seen.key })).status).toBe(200);
  await many(60, () => ask(address));
  vi.setSystemTime(Date.now() + 8_000); // it is no longer cached
  expect((await ask(address, { key: seen.key })).status).toBe(200);
  expect((await ask(address, { key: unseen.key })).status).toBe(429);
  expect((await ask(newAddress(), { key: unseen.key })).status).toBe(200);
  // Once it is deleted, it is like any other.
  await asAdmin(`/keys/${seen.keyId}`, { method: "DELETE" });
  vi.setSystemTime(Date.now() + 8_000);
  expect((await ask(newAddress(), { key: seen.key })).status).toBe(401);
  expect((await ask(address, { key: seen.key })).status).toBe(429);
  vi.setSystemTime(Date.now() + 60_000);
  const later = await newAccount();
  expect((await ask(address, { key: later.key })).status).toBe(200);
});

test("addresses of one IPv6 network of 64 bits count together, other networks and IPv4 addresses apart", async () => {
  await many(30, () => ask("2001:db8:ffff:1::1"));
  await many(30, () => ask("2001:db8:ffff:1:aaaa:bbbb:cccc:dddd"));
  const [same, other, v4] = await Promise.all(["2001:DB8:FFFF:1::2", "2001:db8:ffff:2::1", "203.0.113.7"].map((address) => ask(address)));
  expect([same!.status, other!.status, v4!.status]).toEqual([429, 401, 401]);
});

test("what other isolates have counted holds here after the next unknown key", async () => {
  const address = newAddress();
  const keys: string[] = [];
  const limit = async ({ key }: RateLimitOptions) => ({ success: keys.push(key) < 1 });
  const vars = { UNKNOWN_KEYS: { limit } };
  expect((await ask(address, { vars })).status).toBe(401);
  expect((await ask(address, { vars })).status).toBe(429);
  expect(keys).toEqual([address.replace("::1", "::/64")]);
});

test("with RATE_LIMITS=off no address is refused", async () => {
  const address = newAddress();
  const vars = { RATE_LIMITS: "off", UNKNOWN_KEYS: { limit: vi.fn<RateLimit["limit"]>() } };
  expect(counted(await many(100, () => ask(address, { vars })))).toEqual({ 401: 100 });
  expect(vars.UNKNOWN_KEYS.limit).not.toHaveBeenCalled();
});

test("forged and mistyped client tokens count like keys, and wake no object", async () => {
  const address = newAddress();
  const woken = vi.spyOn(Object.getPrototypeOf(env.TOKENS) as { get: () => unknown }, "get");
  const forged = () => newClientToken({ toString: () => crypto.getRandomValues(new Uint8Array(32)).toHex() } as DurableObjectId);
  expect(counted(await many(100, () => ask(address, { key: forged(), path: images, body: image() })))).toEqual({ 401: 60, 429: 40 });
  expect(woken).not.toHaveBeenCalled();
  // A page can read the refusal.
  const refused = await ask(address, { key: forged(), path: images, body: image() });
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([429, "*"]);
});

test("calls of makers that are not signed are 404 without a look-up, and wake no object", async () => {
  const woken = vi.spyOn(bindings.namespace(), "get");
  const prepare = vi.spyOn(bindings.database(), "prepare");
  for (const provider of ["fal", "replicate", "nobody"])
    expect((await call(`/callbacks/${provider}/task_${"A".repeat(43)}/${"A".repeat(43)}`, { body: {} })).status).toBe(404);
  expect(woken).not.toHaveBeenCalled();
  expect(prepare).not.toHaveBeenCalled();
});

test("the digest of a key is no key, also while one of the key's client tokens is in use", async () => {
  const { key } = await newAccount();
  const { token } = (await call("/v1/tokens", { key, body: { tasks: 1, max_cost: 1, expires_in: 60 } })).body;
  expect((await call("/v1/tasks/task_x", { key: token })).status).toBe(404);
  expect((await call("/v1/balance", { key })).status).toBe(200);
  const digest = await sha256Hex(key);
  for (const path of ["/v1/balance", "/v1/tasks", "/openai/v1/models", "/mcp"])
    expect((await call(path, { key: digest })).status, path).toBe(401);
  expect((await call(images, { key: digest, body: image() })).status).toBe(401);
  const id = toTokenObjectId(env.TOKENS, token)!;
  for (const other of [await sha256Hex(token), id.toString()]) expect((await call("/v1/tasks/task_x", { key: other })).status).toBe(401);
});

test("request ids are random as a whole: they do not say how many requests others make", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, async () => (await call("/healthz")).headers.get("x-request-id")!));
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  for (const part of [0, 4]) expect(new Set(ids.map((id) => id.split("-")[part])).size).toBe(20);
});

test("the counts of an address survive those of 9,000 others", { timeout: 60_000 }, async () => {
  const pass = async (count: number) => {
    for (let at = 0; at < count; at++) await ask(newAddress(), { key: "sk-x" });
  };
  const address = newAddress();
  await pass(2_000);
  expect(counted(await many(61, () => ask(address)))).toEqual({ 401: 60, 429: 1 });
  await pass(9_000);
  expect((await ask(address)).status).toBe(429);
});
