/** The audit log: one row an act, in the act's batch, without secrets; who may read it, and how long it is kept. Contract 18. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { pruneAuditLog } from "../../../src/db/audit-log.ts";
import { expire } from "../../../src/operations/expire.ts";
import { setDestination } from "../../support/bucket.ts";
import { bindings, failOnce } from "../../support/faults.ts";
import { type Account, asAdmin, call, holdTime, newAccount } from "../../support/gateway.ts";
import { setEndpoint } from "../../support/receiver.ts";

holdTime();

/** Entries are listed by their time. */
const tick = () => vi.setSystemTime(Date.now() + 1);
const address = "203.0.113.24";
const from = { "cf-connecting-ip": address };
const read = async ({ key }: Pick<Account, "key">, query = "") => (await call(`/v1/audit_log${query}`, { key })).body;
interface Entry {
  id: string;
  act: string;
  at: number;
  [field: string]: unknown;
}
const list = async (account: Pick<Account, "key">, query = "?limit=100"): Promise<Entry[]> => (await read(account, query)).data;
const names = async (account: Pick<Account, "key">, query?: string) => (await list(account, query)).map(({ act }) => act);

test("every act of the operator and of a key is one entry with who, where from, before and after, and no secret", async () => {
  const account = await newAccount(100);
  const patch = (path: string, body: object) => (tick(), asAdmin(path, { method: "PATCH", body, headers: from }));
  await patch(`/accounts/${account.id}`, { quota: 80 });
  await patch(`/accounts/${account.id}`, { budget: { amount: 5, window: "month" } });
  await patch(`/accounts/${account.id}`, { budget: { amount: 3, window: "month" } });
  await patch(`/accounts/${account.id}`, { admin: true });
  await patch(`/accounts/${account.id}`, { disabled: true });
  await patch(`/accounts/${account.id}`, { disabled: false });
  await patch(`/keys/${account.keyId}`, { quota: 7 });
  await patch(`/keys/${account.keyId}`, { name: "batch jobs", models: ["imgA-4"] });
  tick();
  await asAdmin(`/accounts/${account.id}/invitations`, { method: "POST", headers: from });
  tick();
  const second = (await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null }, headers: from })).body;
  tick();
  await asAdmin(`/keys/${second.id}`, { method: "DELETE", headers: from });
  const hook = "https://hooks.example.com/done?token=hush-hush";
  tick();
  await call("/v1/webhook", { key: account.key, method: "PUT", body: { url: hook }, headers: from });
  tick();
  const { body: rotated } = await call("/v1/webhook_secret", { key: account.key, method: "POST", headers: from });
  tick();
  expect((await setDestination(account, { secret_access_key: "very-secret-access" })).status).toBe(200);
  tick();
  expect((await call("/v1/destinations/shop", { key: account.key, method: "DELETE" })).status).toBe(204);

  const entries = await list(account);
  expect(
    entries
      .map(({ act }) => act)
      .toReversed()
      .slice(2),
  ).toEqual(
    [
      ["quota_changed", "budget_changed", "budget_changed", "admin_given"],
      ["account_disabled", "account_enabled"],
      ["quota_changed", "key_changed", "owner_invited", "key_created", "key_deleted"],
      ["webhook_changed", "webhook_secret_rotated", "destination_set", "destination_deleted"],
    ].flat(),
  );
  const find = (act: string) => entries.find((entry) => entry.act === act);
  const operator = { kind: "operator", id: null, name: null };
  expect(entries.findLast(({ act }) => act === "quota_changed")).toMatchObject({
    actor: operator,
    address,
    target: { id: account.id, name: null },
    before: { quota: 100 },
    after: { quota: 80 },
  });
  expect(find("budget_changed")).toMatchObject({ before: { budget: 5, window: "month" }, after: { budget: 3, window: "month" } });
  expect(find("key_changed")).toMatchObject({
    target: { id: account.keyId, name: "batch jobs" },
    before: { name: "test" },
    after: { name: "batch jobs", scope: '{"models":["imgA-4"]}' },
  });
  expect(find("webhook_changed")).toMatchObject({
    actor: { kind: "key", id: account.keyId, name: "batch jobs" },
    address,
    before: { url: null },
    after: { url: "https://hooks.example.com/done?…" },
  });
  const { results } = await env.DB.prepare("SELECT * FROM audit_log").all();
  const stored = JSON.stringify(results);
  const secrets = [account.key, second.key, rotated.secret, "hush-hush", "very-secret-access", "inv_"];
  for (const secret of secrets) expect(stored).not.toContain(secret);
  const { results: keys } = await env.DB.prepare("SELECT hash FROM api_key").all<{ hash: string }>();
  for (const { hash } of keys) expect(stored).not.toContain(hash);
});

test("a refused or repeated act, and one that changes nothing, is no entry", async () => {
  const account = await newAccount(100);
  const before = await names(account);
  await asAdmin("/accounts", { body: { email: (await asAdmin(`/accounts/${account.id}`)).body.email, quota: 1 } });
  expect((await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { quota: -1 } })).status).toBe(400);
  expect((await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { add: -200 } })).status).toBe(400);
  expect((await asAdmin(`/keys/key_unknown`, { method: "DELETE" })).status).toBe(404);
  expect((await call("/v1/destinations/none", { key: account.key, method: "DELETE" })).status).toBe(404);
  expect(await names(account)).toEqual(before);
});

test("if the batch of an act fails, neither the act nor its entry is there", async () => {
  const account = await newAccount(100);
  const before = await names(account);
  failOnce(bindings.database(), "batch");
  expect((await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null } })).status).toBe(500);
  expect(await names(account)).toEqual(before);
  expect((await asAdmin(`/accounts/${account.id}/keys`)).body.data).toHaveLength(1);
});

test("changes of models are logged without an account, and no account sees them", async () => {
  const account = await newAccount();
  const put = (price: number, revision: number) =>
    asAdmin(`/models/imgA-4?revision=${revision}`, { method: "PUT", body: { price: { image: price } }, headers: from });
  const first = await put(0.5, 0);
  expect(first.status).toBe(201);
  tick();
  expect((await put(0.25, first.body.revision)).status).toBe(200);
  const { results } = await env.DB.prepare("SELECT * FROM audit_log WHERE account_id = '' ORDER BY at").all<Record<string, string>>();
  const rows = results.filter(({ target }) => target === "imgA-4");
  expect(rows).toHaveLength(2);
  for (const row of rows) expect(row).toMatchObject({ act: "model_changed", actor: "operator", address });
  expect(rows[1]!.before).toContain("0.5");
  expect(rows[1]!.after).toContain("0.25");
  expect(await names(account)).not.toContain("model_changed");
});

test("a page continues after an entry, and act, actor and time narrow the list", async () => {
  const account = await newAccount();
  for (let n = 0; n < 5; n++) {
    vi.setSystemTime(Date.now() + 1000);
    await setEndpoint(account, `https://hooks.example.com/${n}`);
  }
  const all = await list(account);
  expect(all).toHaveLength(7);
  const first = await read(account, "?limit=3");
  const second = await read(account, `?limit=3&after=${first.data[2].id}`);
  const third = await read(account, `?limit=3&after=${second.data[2].id}`);
  expect([...first.data, ...second.data, ...third.data]).toEqual(all);
  expect([first.has_more, second.has_more, third.has_more]).toEqual([true, true, false]);
  expect(await names(account, "?act=key_created")).toEqual(["key_created"]);
  expect(await names(account, `?actor=${account.keyId}&limit=100`)).toEqual(Array(5).fill("webhook_changed"));
  const at = all[2]!.at;
  expect((await list(account, `?since=${at}`)).map(({ id }) => id)).toEqual(all.slice(0, 3).map(({ id }) => id));
  expect((await list(account, `?until=${at}`)).map(({ id }) => id)).toEqual(all.slice(3).map(({ id }) => id));
  for (const query of ["?act=unknown", "?limit=0", "?since=x", "?after=aud_0000000000000000000000"])
    expect((await call(`/v1/audit_log${query}`, { key: account.key })).status, query).toBe(400);
  const stranger = await newAccount();
  expect((await call(`/v1/audit_log?after=${all[0]!.id}`, { key: stranger.key })).status).toBe(400);
});

test("the operator reads the log of any account, and what concerns no account", async () => {
  const account = await newAccount();
  await setEndpoint(account, "https://hooks.example.com/operator");
  const own = await list(account);
  const { body } = await asAdmin(`/audit_log?account=${account.id}&limit=100`);
  expect(body.data).toEqual(own);
  expect((await asAdmin(`/audit_log?account=${account.id}&act=webhook_changed`)).body.data).toHaveLength(1);
  const made = await asAdmin("/codes", { body: { count: 1, amount: 5 }, headers: from });
  expect((await asAdmin("/audit_log?limit=1")).body.data).toMatchObject([
    { act: "code_created", actor: { kind: "operator" }, address, target: { id: made.body.id } },
  ]);
  expect((await asAdmin("/audit_log?account=acc_unknown")).body.data).toEqual([]);
  expect((await asAdmin("/audit_log?limit=0")).status).toBe(400);
  expect((await call("/admin/audit_log", { key: account.key })).status).toBe(401);
});

test("the database refuses to change an entry, and only those past their time are removed", async () => {
  const account = await newAccount();
  await expect(env.DB.prepare("UPDATE audit_log SET actor = 'nobody'").run()).rejects.toThrow("append only");
  const count = async () => (await list(account)).length;
  // Other tests' entries are older.
  await env.DB.prepare("DELETE FROM audit_log WHERE account_id <> ?1").bind(account.id).run();
  const now = Date.now();
  await pruneAuditLog(env.DB, now - 1000, 500);
  expect(await count()).toBe(2);
  const { DB, ASSETS } = env;
  const day = 86_400_000;
  await expire({ DB, ASSETS, AUDIT_DAYS: "30" }, now + 29 * day);
  await expire({ DB, ASSETS }, now + 399 * day);
  expect(await count()).toBe(2);
  await pruneAuditLog(env.DB, now + 1000, 1);
  expect(await count()).toBe(1);
  await expire({ DB, ASSETS, AUDIT_DAYS: "30" }, now + 31 * day);
  expect(await count()).toBe(0);
});
