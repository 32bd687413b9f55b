/** The four balance paths: 2.5, 4.8, 5 and 7 of the interface, 4 and 5 of the contract. */

import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import worker from "../../../src/worker.ts";
import { bindings, failOnce } from "../../support/faults.ts";
import { asAdmin, readBalance, call, finish, holdTime, newAccount, submit, image } from "../../support/gateway.ts";
import { crashWallet } from "../../wallet/support.ts";

holdTime();

const tokenPaths = ["/v1/balance", "/balance"];
const userPaths = ["/v1/user/balance", "/user/balance"];
const paths = [...tokenPaths, ...userPaths];
const readUnknown = (path: string) => (path.includes("user") ? "Failed to get user quota" : "Failed to get token info");
const refused = (message: string) => ({ success: false, message });

test.each(tokenPaths)("%s shows the key's own quota", async (path) => {
  const account = await newAccount(100, 2.5);
  const { status, body, headers } = await call(path, { key: account.key });
  expect(status).toBe(200);
  expect(body).toEqual({ success: true, remain_balance: 2.5, used_balance: 0, unlimited_quota: false });
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
});

test.each(userPaths)("%s shows the account's quota, whatever the key's quota", async (path) => {
  const account = await newAccount(100, 2.5);
  const { status, body } = await call(path, { key: account.key });
  expect(status).toBe(200);
  expect(body).toEqual({ success: true, remain_balance: 100, used_balance: 0, unlimited_quota: false });
});

test.each(paths)("%s: remain_balance is -1 without a limit, and used_balance keeps counting", async (path) => {
  const account = await newAccount(null);
  expect((await call(path, { key: account.key })).body).toEqual({
    success: true,
    remain_balance: -1,
    used_balance: 0,
    unlimited_quota: true,
  });
  await finish(account, await submit(account, "/v1/images/generations", image()));
  expect((await call(path, { key: account.key })).body).toEqual({
    success: true,
    remain_balance: -1,
    used_balance: 0.03,
    unlimited_quota: true,
  });
});

test("an unlimited key of a limited account shows -1 and is limited by the account", async () => {
  const account = await newAccount(0.05);
  expect((await call("/v1/balance", { key: account.key })).body).toMatchObject({ remain_balance: -1, unlimited_quota: true });
  expect((await call("/v1/user/balance", { key: account.key })).body).toMatchObject({ remain_balance: 0.05, unlimited_quota: false });
  await submit(account, "/v1/images/generations", image());
  expect((await call("/v1/images/generations", { key: account.key, body: image() })).status).toBe(402);
});

test("a limited key of an unlimited account is limited by its own quota", async () => {
  const account = await newAccount(null, 0.05);
  await submit(account, "/v1/images/generations", image());
  expect((await call("/v1/images/generations", { key: account.key, body: image() })).status).toBe(402);
  expect((await call("/v1/balance", { key: account.key })).body).toMatchObject({ remain_balance: 0.02, used_balance: 0 });
  expect((await call("/v1/user/balance", { key: account.key })).body).toMatchObject({ remain_balance: -1, unlimited_quota: true });
});

test("used_balance counts settled charges only; remain_balance excludes reservations", async () => {
  const account = await newAccount(1, 0.5);
  const id = await submit(account, "/v1/images/generations", { ...image(), n: 3 });
  const look = async () => [
    (await call("/v1/balance", { key: account.key })).body,
    (await call("/v1/user/balance", { key: account.key })).body,
  ];
  expect(await look()).toMatchObject([
    { remain_balance: 0.41, used_balance: 0 },
    { remain_balance: 0.91, used_balance: 0 },
  ]);
  await finish(account, id);
  expect(await look()).toMatchObject([
    { remain_balance: 0.41, used_balance: 0.09 },
    { remain_balance: 0.91, used_balance: 0.09 },
  ]);
});

test("two keys of an account have separate key balances and share the account's", async () => {
  const account = await newAccount(1, 0.5);
  const second = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: 0.3 } });
  await submit(account, "/v1/images/generations", image());
  expect((await call("/v1/balance", { key: second.body.key })).body).toMatchObject({ remain_balance: 0.3 });
  expect((await call("/v1/user/balance", { key: second.body.key })).body).toMatchObject({ remain_balance: 0.97 });
});

test.each(paths)("%s without the header, with another scheme or an empty token: No Authorization header", async (path) => {
  const { key } = await newAccount();
  const headers: Record<string, string>[] = [
    {},
    { authorization: `Basic ${key}` },
    { authorization: "Bearer" },
    { authorization: "Bearer   " },
    { authorization: key },
  ];
  for (const given of headers) {
    const { status, body } = await call(path, { headers: given });
    expect(status).toBe(401);
    expect(body).toEqual(refused("No Authorization header"));
  }
  expect((await call(path, { headers: { authorization: `bEARER ${key}` } })).status).toBe(200);
});

test.each(paths)("%s with an unknown or mistyped key is 401 with that path's message", async (path) => {
  const { key } = await newAccount();
  const mistyped = key.slice(0, -1) + (key.endsWith("a") ? "b" : "a");
  const other = key.slice(0, 10) + (key[10] === "a" ? "b" : "a") + key.slice(11);
  for (const token of [mistyped, other, "sk-unknown", "x", "not a key", `${key} ${key}`, `${key}${key}`]) {
    const { status, body } = await call(path, { key: token });
    expect(status).toBe(401);
    expect(body).toEqual(refused(readUnknown(path)));
  }
});

test("a mistyped key is refused without a database query", async () => {
  const { key } = await newAccount();
  const look = vi.spyOn(bindings.database(), "prepare");
  await call("/v1/balance", { key: key.slice(0, -1) + (key.endsWith("a") ? "b" : "a") });
  expect(look).not.toHaveBeenCalled();
});

test.each(paths)("%s with a deleted key is 401 at once", async (path) => {
  const account = await newAccount();
  expect((await call(path, { key: account.key })).status).toBe(200);
  expect((await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" })).status).toBe(204);
  const { status, body } = await call(path, { key: account.key });
  expect(status).toBe(401);
  expect(body).toEqual(refused(readUnknown(path)));
});

test.each(paths)("%s of a disabled account is 401", async (path) => {
  const account = await newAccount();
  expect((await call(path, { key: account.key })).status).toBe(200);
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { disabled: true } });
  vi.setSystemTime(Date.now() + 10_000);
  const { status, body } = await call(path, { key: account.key });
  expect(status).toBe(401);
  expect(body).toEqual(refused(readUnknown(path)));
});

test.each(paths)("%s: a database fault is 500, whether it hits the key or the balance", async (path) => {
  const account = await newAccount();
  // At first the key is not in the cache, and its look-up fails; then it is, and the wallet's own reading fails.
  for (let turn = 0; turn < 2; turn++) {
    // A wallet object that has read its rows does not read them again.
    await crashWallet(account);
    failOnce(bindings.statement(), "run");
    const { status, body } = await call(path, { key: account.key });
    expect(status).toBe(500);
    expect(body).toEqual(refused("Failed to get used quota"));
    expect((await call(path, { key: account.key })).status).toBe(200);
  }
});

test.each(paths)("%s may be read by a browser on any origin", async (path) => {
  const { key } = await newAccount();
  const origin = "https://elsewhere.example";
  const preflight = await exports.default.fetch(`https://gateway.example${path}`, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "GET", "access-control-request-headers": "authorization" },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
  expect(preflight.headers.get("access-control-allow-methods")).toContain("GET");
  expect(preflight.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("authorization");
  for (const token of [key, "sk-unknown"])
    expect((await call(path, { key: token, headers: { origin } })).headers.get("access-control-allow-origin")).toBe("*");
});

test.each(paths)("%s with another method is 405 in the balance envelope", async (path) => {
  const { key } = await newAccount();
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    const { status, body, headers } = await call(path, { key, method });
    expect(status).toBe(405);
    expect(body).toEqual(refused(expect.any(String) as never));
    expect(headers.get("allow")).toContain("GET");
    expect(headers.get("access-control-allow-origin")).toBe("*");
  }
});

test("the messages are the same in every language", async () => {
  const { body } = await call("/v1/balance?language=zh", { headers: { "accept-language": "ko" } });
  expect(body).toEqual(refused("No Authorization header"));
});

test("reading a balance charges nothing and writes nothing", async () => {
  const account = await newAccount(1, 1);
  const before = await readBalance(account);
  for (const path of paths) await call(path, { key: account.key });
  expect(await readBalance(account)).toEqual(before);
});

test("HEAD returns the headers only", async () => {
  const { key } = await newAccount();
  const request = new Request("https://gateway.example/v1/balance", { method: "HEAD", headers: { authorization: `Bearer ${key}` } });
  const response = await worker.fetch(request, env, createExecutionContext());
  expect(response.status).toBe(200);
  expect(await response.text()).toBe("");
});
