/** Keys read from a replica that lags by any time: a change takes effect everywhere within ten seconds, a new key works at once. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { changeKeys } from "../../../src/db/account-changes.ts";
import { newApiKey } from "../../../src/base/ids.ts";
import { Objects } from "../../../src/rpc/objects.ts";
import { bindings, crash, failOnce } from "../../support/faults.ts";
import { type Account, asAdmin, call, holdTime, newAccount, submit, image } from "../../support/gateway.ts";
import { replicate, startReplica } from "../../support/replica.ts";

holdTime();
beforeEach(startReplica);

const wait = (ms: number) => vi.setSystemTime(Date.now() + ms);
const readStatus = async ({ key }: Account) => (await call("/v1/balance", { key })).status;
const objects = new Objects(env);
const openWallet = ({ id }: Account) => env.WALLETS.getByName(id);

/** An account whose key the replica has and this isolate has not cached. */
async function known(): Promise<Account> {
  const account = await newAccount();
  await replicate();
  return account;
}

/** Deletes the key like another isolate would, without clearing this isolate's cache. */
const deleteElsewhere = ({ id, keyId }: Account) =>
  changeKeys(env.DB, objects, id, [env.DB.prepare("UPDATE api_key SET deleted_at = 1 WHERE id = ?1").bind(keyId)]);

/** Counts the reads that the primary answers meanwhile. */
function watchPrimary(): () => unknown[] {
  const prepare = vi.spyOn(bindings.database(), "prepare");
  return () => prepare.mock.calls.filter((_, at) => prepare.mock.contexts[at] !== env.REPLICA).map(([sql]) => sql);
}

test("a key is read from the replica, with no read of the primary once its wallet object knows the revision", async () => {
  const account = await known();
  expect(await readStatus(account)).toBe(200);
  wait(8_000);
  const read = watchPrimary();
  const task = await submit(account, "/v1/images/generations", image());
  expect((await call(`/v1/tasks/${task}`, { key: account.key })).status).toBe(200);
  // The wallet reads its own rows from the primary, with the owner of each key.
  expect(read().filter((sql) => String(sql).includes("api_key") && !String(sql).includes("FROM wallet"))).toEqual([]);
});

test("a new key works at once, before the replica has it, and an unknown one is refused", async () => {
  const account = await newAccount();
  expect(await readStatus(account)).toBe(200);
  expect((await call("/v1/balance", { key: newApiKey() })).status).toBe(401);
  const { body } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null } });
  expect(await readStatus({ ...account, key: body.key })).toBe(200);
});

test("a deleted key is refused by every path at once here, however far the replica lags", async () => {
  const account = await known();
  const task = await submit(account, "/v1/images/generations", image());
  expect((await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" })).status).toBe(204);
  for (const path of ["/v1/balance", "/v1/user/balance", "/v1/tasks", `/v1/tasks/${task}`, "/v1/usage", "/v1/models", "/v1/events"])
    expect([path, (await call(path, { key: account.key })).status]).toEqual([path, 401]);
  expect((await call("/v1/images/generations", { key: account.key, body: image() })).status).toBe(401);
  wait(86_400_000);
  expect(await readStatus(account)).toBe(401);
});

test("a key deleted in another isolate is refused eight seconds later, and not accepted again while the replica lags", async () => {
  const account = await known();
  expect(await readStatus(account)).toBe(200);
  await deleteElsewhere(account);
  wait(7_999);
  expect(await readStatus(account)).toBe(200);
  wait(1);
  expect(await readStatus(account)).toBe(401);
  wait(3_600_000);
  expect(await readStatus(account)).toBe(401);
  await replicate();
  expect(await readStatus(account)).toBe(401);
});

/** Counts the look-ups of keys meanwhile. */
function watchLookUps(): () => number {
  const prepare = vi.spyOn(bindings.database(), "prepare");
  return () => prepare.mock.calls.filter(([sql]) => String(sql).includes("k.hash = ?1")).length;
}
const many = 20;
const readMany = (account: Account) => Promise.all(Array.from({ length: many }, () => readStatus(account)));

test("of many requests at once with a key that is not cached one looks it up", async () => {
  const account = await known();
  const lookUps = watchLookUps();
  expect(await readMany(account)).toEqual(Array<number>(many).fill(200));
  expect(lookUps()).toBe(1);
  const unknown = { ...account, key: newApiKey() };
  expect(await readMany(unknown)).toEqual(Array<number>(many).fill(401));
});

test("requests wait a tenth of a second for a look-up whose request has died", async () => {
  const account = await known();
  const never = { bind: () => never, run: () => new Promise<never>(() => undefined) };
  vi.spyOn(env.DB, "withSession").mockReturnValueOnce({ prepare: () => never } as never);
  void readStatus(account).catch(() => undefined);
  expect(await readMany(account)).toEqual(Array<number>(many).fill(200));
});

test("the key of a busy caller is looked up again by one request before it expires, and a deleted one is refused then", async () => {
  const account = await known();
  await readStatus(account);
  const expires = Date.now() + 8_000;
  await deleteElsewhere(account);
  const lookUps = watchLookUps();
  wait(6_000);
  for (let time = 0; time < 16; time++) expect(await readStatus(account)).toBe(200);
  expect(lookUps()).toBe(0);
  expect(await Promise.all([readStatus(account), readStatus(account)])).toEqual([200, 200]);
  await vi.waitFor(() => expect(lookUps()).toBe(1), { interval: 1 });
  await vi.waitFor(async () => expect(await readStatus(account)).toBe(401), { interval: 1 });
  expect(Date.now()).toBeLessThan(expires);
});

test("the key of a quiet caller is looked up when it has expired", async () => {
  const account = await known();
  await readStatus(account);
  const lookUps = watchLookUps();
  wait(7_999);
  expect(await readStatus(account)).toBe(200);
  expect(lookUps()).toBe(0);
});

test("a narrower scope, a lowered quota, and a disabled and enabled account take effect at once", async () => {
  const account = await known();
  const submitted = async () => (await call("/v1/images/generations", { key: account.key, body: image() })).status;
  expect(await submitted()).toBe(200);
  const change = (body: object) => asAdmin(`/keys/${account.keyId}`, { method: "PATCH", body });
  await change({ kinds: ["video"] });
  expect(await submitted()).toBe(403);
  await change({ kinds: null, quota: 0.03 });
  expect(await submitted()).toBe(402);
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { disabled: true } });
  expect(await readStatus(account)).toBe(401);
  await replicate();
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { disabled: false } });
  expect(await readStatus(account)).toBe(200);
});

test("a look-up that began before its key was deleted answers its own request, and is not cached", async () => {
  const account = await known();
  const namespace = bindings.namespace();
  const original = namespace["getByName"] as unknown as (id: unknown) => ReturnType<typeof openWallet>;
  vi.spyOn(namespace, "getByName").mockImplementationOnce(function (this: unknown, id: unknown) {
    const wallet = original.call(this, id);
    const checkKeys = async (...seen: Parameters<typeof wallet.checkKeys>) => {
      const checked = await wallet.checkKeys(...seen);
      await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" });
      return checked;
    };
    return { checkKeys } as never;
  });
  expect([await readStatus(account), await readStatus(account)]).toEqual([200, 401]);
});

test("an erased account's keys are refused at once", async () => {
  const account = await known();
  await asAdmin(`/accounts/${account.id}`, { method: "DELETE" });
  expect(await readStatus(account)).toBe(401);
});

test("two parallel changes both take effect, also on a replica that has only one of them", async () => {
  const account = await known();
  let announced = 0;
  await changeKeys(
    env.DB,
    {
      announceKeys: async (id) => {
        const revision = await objects.announceKeys(id);
        // Announced later, and written first.
        if (++announced === 1) {
          await changeKeys(env.DB, objects, id, [env.DB.prepare("UPDATE api_key SET name = 'renamed' WHERE id = ?1").bind(account.keyId)]);
          await replicate();
        }
        return revision;
      },
    },
    account.id,
    [env.DB.prepare("UPDATE api_key SET deleted_at = 1 WHERE id = ?1").bind(account.keyId)],
  );
  expect(announced).toBe(2);
  expect(await readStatus(account)).toBe(401);
  const [{ results }] = (await env.DB.batch([env.DB.prepare("SELECT name FROM api_key WHERE id = ?1").bind(account.keyId)])) as [D1Result];
  expect(results).toEqual([{ name: "renamed" }]);
});

test("an object whose storage was lost learns the revision from the primary", async () => {
  const account = await known();
  await deleteElsewhere(account);
  await runInDurableObject(openWallet(account), (_, { storage }) => void storage.kv.delete("keys"));
  await crash(openWallet(account));
  expect(await readStatus(account)).toBe(401);
});

test("a change that is announced while such an object reads the revision is not forgotten", async () => {
  const account = await known();
  await runInDurableObject(openWallet(account), (_, { storage }) => void storage.kv.delete("keys"));
  await crash(openWallet(account));
  const statement = bindings.statement();
  const original = statement["first"]!;
  const read: unknown[] = [];
  vi.spyOn(statement, "first").mockImplementationOnce(async function (this: unknown, ...values: unknown[]) {
    read.push(await original.apply(this, values));
    await deleteElsewhere(account);
    return read[0];
  });
  await readStatus(account);
  expect(read).toEqual([expect.any(Number)]);
  wait(8_000);
  expect(await readStatus(account)).toBe(401);
});

test("if the object does not answer, the primary is read", async () => {
  const account = await known();
  vi.spyOn(bindings.namespace(), "getByName").mockImplementation((() => ({ checkKeys: async () => { throw new Error("scripted fault"); } })) as never); // prettier-ignore
  expect((await call("/v1/models", { key: account.key })).status).toBe(200);
  vi.mocked(bindings.namespace()["getByName"]!).mockRestore();
  await deleteElsewhere(account);
  wait(8_000);
  expect(await readStatus(account)).toBe(401);
});

test("a change that breaks off after it was announced leaves the key as it was, and can be repeated", async () => {
  const account = await known();
  failOnce(bindings.database(), "batch");
  expect((await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" })).status).toBe(500);
  wait(8_000);
  expect(await readStatus(account)).toBe(200);
  expect((await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" })).status).toBe(204);
  expect(await readStatus(account)).toBe(401);
});
