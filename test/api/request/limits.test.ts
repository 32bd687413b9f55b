/** Rate limits per minute and key: what is counted, and the headers. Contract 2. */

import "../../support/alone.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import worker from "../../../src/worker.ts";
import { conform } from "../../support/conform.ts";
import { type Account, asAdmin, call, newAccount } from "../../support/gateway.ts";

interface Changes {
  RATE_LIMITS?: string;
  READS?: RateLimit;
  SUBMISSIONS?: RateLimit;
  ACCOUNT_READS?: RateLimit;
  ACCOUNT_SUBMISSIONS?: RateLimit;
}

/** Sends a request to a gateway whose rate limits are on. */
async function ask(key: string | undefined, path: string, method = "GET", changes: Changes = {}) {
  const headers = { "content-type": "application/json", ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  const request = new Request(`https://gateway.example${path}`, { method, headers, ...(method === "POST" && { body: "{}" }) });
  const response = await worker.fetch(request, { ...env, RATE_LIMITS: "on", ...changes }, createExecutionContext());
  const text = await response.text();
  conform(method, request.url, { status: response.status, headers: response.headers, body: text });
  const body = JSON.parse(text);
  return { status: response.status, headers: response.headers, body };
}

/** A limiter that always refuses, and the keys it was called with. */
function spent(): { limit: RateLimit; keys: string[] } {
  const keys: string[] = [];
  const limit = async ({ key }: RateLimitOptions) => {
    keys.push(key);
    return { success: false };
  };
  return { limit: { limit }, keys };
}

function expectWait(headers: Headers): void {
  const seconds = Number(headers.get("retry-after"));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(headers.get("x-ratelimit-reset-requests")).toMatch(new RegExp(`^${seconds}s?$`));
}

const images = "/v1/images/generations";
const submissions = [images, "/v1/videos/generations", "/v1/videos/x/remix", "/v1/chat/completions"];
const reads = ["/v1/tasks", "/v1/tasks/x", "/v1/videos/generations/x", "/v1/characters_tasks/x", "/v1/models", "/v1/characters"];
const balances = ["/v1/balance", "/balance", "/v1/user/balance", "/user/balance"];

/** Each writes rows of the database that stay for more than a year, and a file of the bucket. */
const changes = [
  ["PUT", "/v1/webhook"],
  ["POST", "/v1/webhook_secret"],
  ["PUT", "/v1/destinations/x"],
  ["DELETE", "/v1/destinations/x"],
] as const;

test.each([
  ...submissions.map((path) => ["POST", path, "60"]),
  ...changes.map((change) => [...change, "60"]),
  ...[...reads, ...balances].map((path) => ["GET", path, "600"]),
])("%s %s states its key's limit per minute: %s", async (method, path, limit) => {
  const { key } = await newAccount();
  const { headers } = await ask(key, path, method);
  expect(headers.get("x-ratelimit-limit-requests")).toBe(limit);
  expect(headers.get("x-ratelimit-reset-requests")).toBeNull();
  expect((await ask("sk-unknown", path, method)).headers.get("x-ratelimit-limit-requests")).toBeNull();
});

/** The minute of the real clock: files of the same runtime before this one may have replaced `Date`. */
const currentMinute = () => Math.floor((performance.timeOrigin + performance.now()) / 60_000);

/** Repeats until the whole run fits into one minute of the clock that the local limiter uses; a run across two minutes proves nothing. */
async function inOneMinute<T>(run: (account: Account) => Promise<T>): Promise<{ account: Account; sent: T }> {
  for (;;) {
    const minute = currentMinute();
    const account = await newAccount();
    const sent = await run(account);
    if (minute === currentMinute()) return { account, sent };
  }
}

/** Sends one submission more than a minute allows. */
async function sixtyOne(account: Account): Promise<{ statuses: number[]; last: Awaited<ReturnType<typeof ask>> }> {
  const first = await Promise.all(Array.from({ length: 60 }, () => ask(account.key, images, "POST")));
  return { statuses: first.map(({ status }) => status), last: await ask(account.key, images, "POST") };
}

test("the 61st submission within a minute is 429 with Retry-After; other keys and reads are not affected", async () => {
  const { account, sent } = await inOneMinute(sixtyOne);
  expect(new Set(sent.statuses)).toEqual(new Set([400]));
  const { status, headers, body } = sent.last;
  expect(status).toBe(429);
  expect(body).toEqual({
    error: { message: "Too many requests. Try again later.", type: "rate_limit_exceeded", code: "rate_limit_exceeded", param: null },
  });
  expect(headers.get("x-ratelimit-limit-requests")).toBe("60");
  expectWait(headers);
  expect((await ask(account.key, "/v1/tasks")).status).toBe(200);
  const second = (await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null } })).body.key;
  expect((await ask(second, images, "POST")).status).toBe(400);
});

test("of 700 parallel reads on all paths 600 are answered; a second key of the account is not affected", { timeout: 60_000 }, async () => {
  const { sent } = await inOneMinute(async (account) => {
    const second = (await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null } })).body.key as string;
    const paths = ["/v1/tasks/x", "/v1/models", "/v1/balance", "/v1/user/balance", "/v1/tasks", "/v1/characters"];
    const flood = Array.from({ length: 700 }, (_, at) => ask(account.key, paths[at % paths.length]!));
    const others = Array.from({ length: 60 }, () => ask(second, "/v1/tasks/x"));
    return { flood: await Promise.all(flood), others: await Promise.all(others), last: await ask(account.key, "/v1/models") };
  });
  const refused = sent.flood.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(100);
  for (const { headers } of refused) expectWait(headers);
  expect(new Set(sent.others.map(({ status }) => status))).toEqual(new Set([404]));
  expect(sent.last.status).toBe(429);
});

test.each(submissions)("POST %s counts as a submission of its key", async (path) => {
  const { key, keyId } = await newAccount();
  const { limit, keys } = spent();
  const { status, headers } = await ask(key, path, "POST", { SUBMISSIONS: limit });
  expect(status).toBe(429);
  expectWait(headers);
  expect(keys).toEqual([keyId]);
});

test.each(reads)("GET %s counts as a read of its key", async (path) => {
  const { key, keyId } = await newAccount();
  const { limit, keys } = spent();
  const { status, headers, body } = await ask(key, path, "GET", { READS: limit });
  expect(status).toBe(429);
  expectWait(headers);
  expect(body.error).toMatchObject({ type: "rate_limit_exceeded", code: "rate_limit_exceeded" });
  if (path.startsWith("/v1/tasks")) expect(body).toMatchObject({ code: 429, message: body.error.message });
  expect(keys).toEqual([keyId]);
});

test.each(["/v1/usage?group_by=reference", "/v1/usage?format=focus"])("GET %s counts as a submission too", async (path) => {
  const { key, keyId } = await newAccount();
  const [read, submission] = [spent(), spent()];
  expect((await ask(key, path, "GET", { READS: read.limit })).status).toBe(429);
  const { status, headers } = await ask(key, path, "GET", { SUBMISSIONS: submission.limit });
  expect([status, headers.get("x-ratelimit-limit-requests")]).toEqual([429, "60"]);
  expectWait(headers);
  expect([read.keys, submission.keys]).toEqual([[keyId], [keyId]]);
  expect((await ask(key, "/v1/usage", "GET", { SUBMISSIONS: submission.limit })).status).toBe(200);
});

test.each(balances)("GET %s counts as a read, and its 429 keeps the shape of its family", async (path) => {
  const { key, keyId } = await newAccount();
  const { limit, keys } = spent();
  const { status, headers, body } = await ask(key, path, "GET", { READS: limit });
  expect(status).toBe(429);
  expect(body).toEqual({ success: false, message: expect.any(String) });
  expectWait(headers);
  expect(headers.get("access-control-allow-origin")).toBe("*");
  expect(keys).toEqual([keyId]);
});

test(
  "an account makes at most 300 submissions a minute over all its keys, and the error names the account's limit",
  { timeout: 60_000 },
  async () => {
    const { sent } = await inOneMinute(async (account) => {
      const keys = await Promise.all(
        Array.from(
          { length: 6 },
          async () => (await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "k", quota: null } })).body.key as string,
        ),
      );
      return Promise.all(keys.flatMap((key) => Array.from({ length: 55 }, () => ask(key, images, "POST"))));
    });
    const refused = sent.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(30);
    for (const { headers } of refused) {
      expect(headers.get("x-ratelimit-limit-requests")).toBe("300");
      expectWait(headers);
    }
  },
);

test.each([...submissions.map((path) => ["POST", path]), ...[...reads, ...balances].map((path) => ["GET", path])])(
  "%s %s counts for its account if its key is within the key's limit, and not otherwise",
  async (method, path) => {
    const { id, key } = await newAccount();
    const account = spent();
    const [ofKey, ofAccount] =
      method === "POST" ? (["SUBMISSIONS", "ACCOUNT_SUBMISSIONS"] as const) : (["READS", "ACCOUNT_READS"] as const);
    const { status, headers } = await ask(key, path, method, { [ofAccount]: account.limit });
    expect(status).toBe(429);
    expectWait(headers);
    expect((await ask(key, path, method, { [ofKey]: spent().limit, [ofAccount]: account.limit })).status).toBe(429);
    expect(account.keys).toEqual([id]);
  },
);

test("when limits are off nothing is counted and there are no limit headers", async () => {
  const { key } = await newAccount();
  const { limit, keys } = spent();
  const changes = { RATE_LIMITS: "off", READS: limit, SUBMISSIONS: limit, ACCOUNT_READS: limit, ACCOUNT_SUBMISSIONS: limit };
  for (const [method, path] of [["POST", images] as const, ...[...reads, ...balances].map((it) => ["GET", it] as const)]) {
    const { status, headers } = await ask(key, path, method, changes);
    expect(status).not.toBe(429);
    expect([...headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
  }
  expect(keys).toEqual([]);
  expect((await call("/v1/tasks", { key })).headers.get("x-ratelimit-limit-requests")).toBeNull();
});
