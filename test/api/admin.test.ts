/** The admin API: accounts, keys, audit. Contract 8. */

import "../support/alone.ts";
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import worker from "../../src/worker.ts";
import {
  type Account,
  asAdmin,
  readBalance,
  call,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  submit,
  unique,
  image,
  newTask,
} from "../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";
const email = () => `${unique()}@example.com`;
const patch = (account: Account, body: object) => asAdmin(`/accounts/${account.id}`, { method: "PATCH", body });
const nowSeconds = () => Math.floor(Date.now() / 1000);

const endpoints: [string, string][] = [
  ["POST", "/admin/accounts"],
  ["GET", "/admin/accounts"],
  ["GET", "/admin/accounts/x"],
  ["PATCH", "/admin/accounts/x"],
  ["POST", "/admin/accounts/x/keys"],
  ["GET", "/admin/accounts/x/keys"],
  ["DELETE", "/admin/keys/x"],
  ["GET", "/admin/audit"],
  ["POST", "/admin/reconcile"],
  ["DELETE", "/admin/accounts/x"],
  ["GET", "/admin/unknown"],
];

test.each(endpoints)("%s %s without the operator's token, or with a wrong one, is 401", async (method, path) => {
  const caller = await newAccount();
  for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: `Bearer ${caller.key}` }, { authorization: "Bearer " }]) {
    const { status, body } = await call(path, { method, headers });
    expect(status).toBe(401);
    expect(body.error).toMatchObject({ type: "unauthorized", code: "unauthorized", param: null });
  }
});

test.each(endpoints)("%s %s is 404 where no token is set", async (method, path) => {
  for (const changes of [{ ADMIN_TOKEN: "" }, { ADMIN_TOKEN: undefined }])
    for (const token of ["test-admin", "", "undefined"]) {
      const request = new Request(`https://gateway.example${path}`, { method, headers: { authorization: `Bearer ${token}` } });
      const response = await worker.fetch(request, { ...env, ...changes } as Env, createExecutionContext());
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { type: "invalid_request", code: "not_found" } });
    }
});

test("an account is created with its quota and without a key", async () => {
  const address = email();
  const { status, body } = await asAdmin("/accounts", { body: { email: address, name: "Ada", quota: 12.5 } });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    id: expect.stringMatching(/^\S+$/),
    email: address,
    name: "Ada",
    quota: 12.5,
    used: 0,
    reserved: 0,
    remaining: 12.5,
  });
  expect((await asAdmin(`/accounts/${body.id}`)).body).toEqual(body);
  expect((await asAdmin(`/accounts/${body.id}/keys`)).body).toEqual({ object: "list", data: [], has_more: false });
});

test("the name is optional, and a quota of null is unlimited", async () => {
  const { status, body } = await asAdmin("/accounts", { body: { email: email(), quota: null } });
  expect(status).toBe(201);
  expect(body).toMatchObject({ name: null, quota: null, used: 0, reserved: 0, remaining: null });
});

test("an e-mail address belongs to one account, in any spelling and with parallel requests: the second is 409", async () => {
  const address = email();
  const before = (await asAdmin("/audit")).body.accounts as number;
  const create = (text: string) => asAdmin("/accounts", { body: { email: text, quota: 1 } });
  const answers = await Promise.all([address, address.toUpperCase(), address, address, address].map(create));
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409, 409, 409]);
  expect(await create(address)).toMatchObject({
    status: 409,
    body: { error: { type: "invalid_request", code: "conflict", param: "email", message: "email: is already in use" } },
  });
  expect((await asAdmin("/audit")).body.accounts).toBe(before + 1);
  const { results } = await env.DB.prepare(
    "SELECT id FROM wallet WHERE id NOT IN (SELECT id FROM account UNION SELECT id FROM api_key)",
  ).run();
  expect(results).toEqual([]);
});

test.each([
  ["email", { quota: 1 }],
  ["email", { email: "nobody", quota: 1 }],
  ["quota", { email: "a@b.c" }],
  ["quota", { email: "a@b.c", quota: -1 }],
  ["quota", { email: "a@b.c", quota: "1" }],
  ["quota", { email: "a@b.c", quota: 0.000_000_1 }],
  ["name", { email: "a@b.c", quota: 1, name: 5 }],
])("an account with a bad %s is refused: %j", async (param, body) => {
  expect(await asAdmin("/accounts", { body })).toMatchObject({ status: 400, body: { error: { type: "invalid_request", param } } });
});

test("a text that is too long or too short is refused in characters", async () => {
  const { id } = await newAccount();
  const message = async (name: string) =>
    (await asAdmin(`/accounts/${id}/keys`, { body: { name, quota: 1 } })).body.error.message as string;
  expect([await message(""), await message("x".repeat(201))]).toEqual([
    "name: must not be empty",
    "name: must be at most 200 characters long",
  ]);
});

test("the list's pages contain each account exactly once", async () => {
  const made = [await newAccount(), await newAccount(), await newAccount()].map(({ id }) => id);
  const seen: string[] = [];
  for (let after = ""; ; after = `&after=${seen.at(-1)}`) {
    const { status, body } = await asAdmin(`/accounts?limit=2${after}`);
    expect(status).toBe(200);
    expect(body).toEqual({ object: "list", data: expect.any(Array), has_more: expect.any(Boolean) });
    expect(body.data.length).toBeLessThanOrEqual(2);
    seen.push(...body.data.map(({ id }: { id: string }) => id));
    if (!body.has_more) break;
  }
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen).toHaveLength((await asAdmin("/audit")).body.accounts);
  expect(seen).toEqual(expect.arrayContaining(made));
  for (const limit of ["0", "101", "x"])
    expect(await asAdmin(`/accounts?limit=${limit}`)).toMatchObject({ status: 400, body: { error: { param: "limit" } } });
});

test("a quota can be set, removed and increased; increasing an unlimited quota leaves it unlimited", async () => {
  const account = await newAccount(1);
  expect(await patch(account, { quota: 5 })).toMatchObject({ status: 200, body: { id: account.id, quota: 5, remaining: 5 } });
  expect((await patch(account, { add: 0.5 })).body).toMatchObject({ quota: 5.5, remaining: 5.5 });
  expect((await patch(account, { add: -2 })).body).toMatchObject({ quota: 3.5, remaining: 3.5 });
  expect((await patch(account, { quota: null })).body).toMatchObject({ quota: null, remaining: null });
  expect((await patch(account, { add: 1 })).body).toMatchObject({ quota: null });
  expect((await patch(account, {})).status).toBe(200);
  expect((await patch(account, { quota: 1, add: 1 })).status).toBe(400);
});

test("the admin role is granted with true, revoked with false, and accepts no other value", async () => {
  const account = await newAccount();
  expect((await asAdmin(`/accounts/${account.id}`)).body.admin).toBe(false);
  expect((await patch(account, { admin: true })).body.admin).toBe(true);
  for (const admin of [1, "true"])
    expect(await patch(account, { admin })).toMatchObject({ status: 400, body: { error: { param: "admin" } } });
  expect((await patch(account, { quota: 5 })).body.admin).toBe(true);
  expect((await patch(account, { admin: false })).body.admin).toBe(false);
});

test("a quota cannot fall below what is used and reserved", async () => {
  const account = await newAccount(1);
  await finish(account, await submit(account, images, image()));
  await submit(account, images, image());
  const refused = (param: string) => ({ status: 400, body: { error: { type: "invalid_request", param } } });
  expect(await patch(account, { quota: 0.059 })).toMatchObject(refused("quota"));
  expect(await patch(account, { add: -0.95 })).toMatchObject(refused("add"));
  expect(await readBalance(account)).toEqual({ quota: 1, used: 0.03, reserved: 0.03, remaining: 0.94 });
  expect((await patch(account, { quota: 0.06 })).body).toMatchObject({ quota: 0.06, remaining: 0 });
  expect((await call(images, { key: account.key, body: image() })).status).toBe(402);
});

test("a key's secret is shown only when the key is created", async () => {
  const { id: accountId } = await newAccount();
  const expires_at = nowSeconds() + 3600;
  const { status, body } = await asAdmin(`/accounts/${accountId}/keys`, { body: { name: "build", quota: 2, expires_at } });
  expect(status).toBe(201);
  expect(body.key).toMatch(/^sk-[0-9A-Za-z]{43,}$/);
  expect(body).toMatchObject({ id: expect.any(String), name: "build", quota: 2, expires_at });
  expect(body.key.startsWith(body.prefix)).toBe(true);
  expect(body.prefix.length).toBeLessThan(16);
  const { body: list } = await asAdmin(`/accounts/${accountId}/keys`);
  const { key, ...rest } = body;
  expect(list.data).toContainEqual(rest);
  expect(JSON.stringify(list)).not.toContain(key.slice(12));
  const { results } = await env.DB.prepare("SELECT * FROM api_key WHERE id = ?1").bind(body.id).run();
  expect(JSON.stringify(results)).not.toContain(key.slice(12));
});

test.each([
  ["name", { quota: 1 }],
  ["quota", { name: "x" }],
  ["quota", { name: "x", quota: -1 }],
  ["expires_at", { name: "x", quota: 1, expires_at: 1_000_000_000 }],
  ["expires_at", { name: "x", quota: 1, expires_at: "tomorrow" }],
])("a key with a bad %s is refused: %j", async (param, body) => {
  const { id } = await newAccount();
  expect(await asAdmin(`/accounts/${id}/keys`, { body })).toMatchObject({ status: 400, body: { error: { param } } });
});

test("a key is refused from the second at which it expires", async () => {
  const { id } = await newAccount();
  const expires_at = nowSeconds() + 5;
  const { key } = (await asAdmin(`/accounts/${id}/keys`, { body: { name: "short", quota: null, expires_at } })).body;
  vi.setSystemTime(expires_at * 1000 - 1);
  expect((await call("/v1/tasks", { key })).status).toBe(200);
  vi.setSystemTime(expires_at * 1000);
  expect((await call("/v1/tasks", { key })).status).toBe(401);
});

test("a deleted key is refused at once and leaves the list, and its open task still completes", async () => {
  const account = await newAccount(1, 1);
  const second = (await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null } })).body.key as string;
  const id = await submit(account, images, image());
  const { status, body } = await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" });
  expect([status, body.byteLength]).toEqual([204, 0]);
  expect((await call("/v1/tasks", { key: account.key })).status).toBe(401);
  expect((await asAdmin(`/accounts/${account.id}/keys`)).body.data).toHaveLength(1);
  expect((await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" })).status).toBe(404);
  await deliver(id);
  await pass(id, 2);
  await deliver(id);
  expect((await call(`/v1/tasks/${id}`, { key: second })).body.data.status).toBe("completed");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test("a disabled account is 401 everywhere, and works as before when it is enabled again", async () => {
  const { account, id } = await newTask();
  expect((await patch(account, { disabled: true })).status).toBe(200);
  const paths = ["/v1/tasks", `/v1/tasks/${id}`, `/v1/videos/generations/${id}`, `/v1/characters_tasks/${id}`, "/v1/models"];
  for (const path of [...paths, "/v1/characters", "/v1/balance", "/v1/user/balance", "/balance", "/user/balance"])
    expect((await call(path, { key: account.key })).status, path).toBe(401);
  for (const path of [images, "/v1/videos/generations", `/v1/videos/${id}/remix`, "/v1/chat/completions", `/v1/tasks/${id}/cancel`])
    expect((await call(path, { key: account.key, body: {} })).status, path).toBe(401);
  await patch(account, { disabled: false });
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test("unknown accounts and keys are 404", async () => {
  for (const path of ["/accounts/acc_unknown", "/accounts/acc_unknown/keys", "/unknown"]) expect((await asAdmin(path)).status).toBe(404);
  expect((await asAdmin("/accounts/acc_unknown", { method: "PATCH", body: { quota: 1 } })).status).toBe(404);
  expect((await asAdmin("/accounts/acc_unknown/keys", { body: { name: "x", quota: 1 } })).status).toBe(404);
  expect((await asAdmin("/keys/key_unknown", { method: "DELETE" })).status).toBe(404);
});

test("the audit counts open tasks and finds a wallet that disagrees with its entries", async () => {
  const account = await newAccount(1);
  const before = (await asAdmin("/audit")).body;
  expect(before).toEqual({
    accounts: expect.any(Number),
    tasks_open: expect.any(Number),
    reserved: expect.any(Number),
    drift: [],
    progress: expect.any(Object),
  });
  await submit(account, images, image());
  const after = (await asAdmin("/audit")).body;
  expect(after.tasks_open).toBe(before.tasks_open + 1);
  expect(after.reserved).toBeCloseTo(before.reserved + 0.03, 6);
  for (const [id, column] of [
    [account.id, "used"],
    [account.keyId, "granted"],
  ]) {
    await env.DB.prepare(`UPDATE wallet SET ${column} = ${column} + 7 WHERE id = ?1`).bind(id).run();
    const { drift } = (await asAdmin("/audit")).body;
    expect(drift).toEqual([expect.objectContaining({ id })]);
    await env.DB.prepare(`UPDATE wallet SET ${column} = ${column} - 7 WHERE id = ?1`).bind(id).run();
  }
  expect((await asAdmin("/audit")).body.drift).toEqual([]);
});

test("an account has at most 100 keys; deleted keys do not count", async () => {
  const account = await newAccount();
  const make = () => asAdmin(`/accounts/${account.id}/keys`, { body: { name: "one of many", quota: null } });
  for (let count = 1; count < 100; count++) expect((await make()).status).toBe(201);
  expect(await make()).toMatchObject({ status: 409, body: { error: { code: "too_many_keys", type: "invalid_request", param: null } } });
  expect((await asAdmin(`/accounts/${account.id}/keys`)).body.data).toHaveLength(100);
  expect((await call("/v1/balance", { key: account.key })).status).toBe(200);
  await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" });
  expect((await make()).status).toBe(201);
  expect((await make()).status).toBe(409);
});

test("the audit reports its progress, and can check a single account", async () => {
  const account = await newAccount(1);
  await submit(account, images, image());
  const { body } = await asAdmin("/audit");
  expect(body.progress).toEqual({
    complete: true,
    accounts_checked: body.accounts,
    entries_checked: expect.any(Number),
    account: null,
    started_at: expect.any(Number),
  });
  const one = (await asAdmin(`/audit?account=${account.id}`)).body;
  expect(one).toMatchObject({ accounts: 1, tasks_open: 1, reserved: 0.03, drift: [], progress: { complete: true, entries_checked: 0 } });
});

test("an invitation is a link that is valid for a week; only its digest is stored", async () => {
  const { id } = await newAccount();
  const { status, body } = await asAdmin(`/accounts/${id}/invitations`, { method: "POST" });
  expect(status).toBe(201);
  expect(Object.keys(body)).toEqual(["url", "expires_at"]);
  expect(body.url).toMatch(/^https:\/\/gateway\.example\/console\/sign-up\?invitation=inv_[0-9A-Za-z]{22}$/);
  expect(body.expires_at - Date.now() / 1000).toBeGreaterThan(604_790);
  const { results } = await env.DB.prepare("SELECT * FROM invitation WHERE account_id = ?1").bind(id).run();
  expect(results).toHaveLength(1);
  expect(JSON.stringify(results)).not.toContain(body.url.split("=")[1]);
  expect((await asAdmin("/accounts/acc_x/invitations", { method: "POST" })).status).toBe(404);
  expect((await asAdmin(`/accounts/${id}/invitations`)).headers.get("allow")).toBe("POST");
});
