/** A database that was restored to an hour ago: what was revoked since then stays revoked until the operator has decided, and can be revoked again. */

import "../support/alone.ts";
import { deleteIncidents, incidentsSince } from "../../src/db/alerts.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Role } from "../../src/base/roles.ts";
import { openDestination } from "../../src/db/destinations.ts";
import { changeMember, findMembership, type Membership, removeMember } from "../../src/db/memberships.ts";
import { ConsoleApi } from "../../src/rpc/console-api.ts";
import { Objects } from "../../src/rpc/objects.ts";
import { signingSecrets, readWebhook } from "../../src/db/webhooks.ts";
import { WalletObject } from "../../src/wallet/object.ts";
import worker from "../../src/worker.ts";
import * as batches from "../support/batches.ts";
import { setDestination } from "../support/bucket.ts";
import { bindings, failOnce } from "../support/faults.ts";
import { type Account, asAdmin, call, holdTime, newAccount, wakeWallet } from "../support/gateway.ts";
import { setEndpoint } from "../support/receiver.ts";
import { crashWallet } from "../wallet/support.ts";
import { backUp, restore } from "./backup.ts";

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

const later = (minutes: number) => vi.setSystemTime(Date.now() + 60_000 * minutes);
const readStatus = async ({ key }: Pick<Account, "key">) => (await call("/v1/balance", { key })).status;
const readAccount = async ({ id }: Account) => (await asAdmin(`/accounts/${id}`)).body;
const readKeys = async ({ id }: Account) => (await asAdmin(`/accounts/${id}/keys`)).body.data as { id: string }[];
const change = async (path: string, body: object) => expect((await asAdmin(path, { method: "PATCH", body })).status).toBe(200);
const remove = async (path: string) => expect((await asAdmin(path, { method: "DELETE" })).status).toBeLessThan(300);
const listFiles = async ({ id }: Account) => (await env.ASSETS.list({ prefix: `changes/${id}/` })).objects.map(({ key }) => key);

async function addKey({ id }: Account, more: object = {}): Promise<{ id: string; key: string }> {
  const { body } = await asAdmin(`/accounts/${id}/keys`, { body: { name: "second", quota: null, ...more } });
  return body;
}

/** A new user who is a member of the account. */
async function addMember({ id: accountId }: Account, role: Role): Promise<Membership> {
  const [id, userId] = [`mem_${crypto.randomUUID()}`, `user_${crypto.randomUUID()}`];
  await env.DB.batch([
    env.DB.prepare("INSERT INTO auth_user VALUES (?1, 'Name', ?1 || '@example.com', 1, NULL, '2026', '2026')").bind(userId),
    env.DB.prepare("INSERT INTO membership (id, account_id, user_id, role, created_at) VALUES (?1, ?2, ?3, ?4, 1)").bind(
      id,
      accountId,
      userId,
      role,
    ),
  ]);
  return (await findMembership(env.DB, accountId, id))!;
}

/** Reconciles one account; returns what it says of a restored database. */
async function reconcile({ id }: Account, decision?: "replay" | "accept") {
  const { status, body } = await asAdmin(`/reconcile?account=${id}${decision ? `&restored=${decision}` : ""}`, { method: "POST" });
  expect(status).toBe(200);
  return body.restored as { account: string; state: string; changes: { change: string; id?: string }[] }[];
}

/** The entries of the audit log about decisions. */
const decisions = async ({ id }: Account): Promise<{ act: string }[]> =>
  (await asAdmin(`/audit_log?account=${id}`)).body.data.filter(({ act }: { act: string }) => act.startsWith("restore_"));

/** An account with a second key, the database of now, then these changes, and the database of before. */
async function restoredAfter(changes: (account: Account, second: { id: string; key: string }) => Promise<void>) {
  const account = await newAccount(100, 50);
  const second = await addKey(account);
  await setEndpoint(account, "https://hooks.example.com/old");
  later(1);
  await wakeWallet(account);
  const backup = await backUp();
  later(30);
  await changes(account, second);
  later(1);
  await wakeWallet(account);
  await restore(backup);
  later(30);
  return { account, second };
}

test("a deleted key that a restored database brings back is refused by every path, and so are the account's other keys", async () => {
  const { account, second } = await restoredAfter(async (_, { id }) => remove(`/keys/${id}`));
  for (const path of ["/v1/balance", "/v1/user/balance", "/v1/tasks", "/v1/models", "/v1/key", "/v1/webhook_secret"])
    expect([path, (await call(path, { key: second.key })).status]).toEqual([path, 401]);
  expect(await readStatus(account)).toBe(401);
  expect(await readAccount(account)).toMatchObject({ restored: true, disabled: false });
  expect((await asAdmin("/accounts?limit=100")).body.data).toContainEqual(expect.objectContaining({ id: account.id, restored: true }));

  expect(await reconcile(account)).toEqual([
    { account: account.id, state: "refused", changes: [{ change: "key_deleted", id: second.id }] },
  ]);
  expect(await readStatus(account)).toBe(401);
  // The alert about it lasts until the decision.
  const undecided = () => incidentsSince(env.DB, "restored", 0, 100);
  await deleteIncidents(env.DB, Date.now() + 1);
  expect(await undecided()).toContain(account.id);
  expect(await reconcile(account, "replay")).toMatchObject([{ state: "replayed" }]);
  expect([await readStatus(account), await readStatus(second)]).toEqual([200, 401]);
  expect(await readKeys(account)).toHaveLength(1);
  expect(await readAccount(account)).toMatchObject({ restored: false });
  expect(await reconcile(account, "replay"), "once").toEqual([]);
  expect(await undecided()).not.toContain(account.id);
});

test("any number of lost changes is read side by side, and made again in calls that D1 can answer", async () => {
  const count = 1_100;
  const { account } = await restoredAfter(async (caller) => {
    await setEndpoint(caller, "https://hooks.example.com/new");
    for (let at = 0; at < count; at++) {
      const change = { act: "webhook_endpoint", url: `https://hooks.example.com/${at}` };
      await env.ASSETS.put(
        `changes/${caller.id}/${String(Date.now() + 1 + at).padStart(15, "0")}-webhook_endpoint.json`,
        JSON.stringify(change),
      );
    }
  });
  const open = { now: 0, most: 0 };
  const { get } = bindings.bucket();
  vi.spyOn(bindings.bucket(), "get").mockImplementation(async function (this: unknown, ...values) {
    open.most = Math.max(open.most, ++open.now);
    return get!.apply(this, values).finally(() => open.now--);
  });
  const batch = vi.spyOn(bindings.database(), "batch");
  const [restored] = await reconcile(account, "replay");
  expect(restored!.changes).toHaveLength(count + 1);
  expect(open.most).toBe(6);
  expect(Math.max(...batch.mock.calls.map(([statements]) => (statements as unknown[]).length))).toBe(1_000);
  vi.restoreAllMocks();
  expect((await readWebhook(env, account.id)).url).toBe(`https://hooks.example.com/${count - 1}`);
});

test("a batch waits for the operator's decision, and goes on after it", async () => {
  const ids: string[] = [];
  const { account } = await restoredAfter(async (caller, { id }) => {
    for (const wakes of [0, 2]) {
      ids.push(await batches.begin(caller, { requests: batches.lines(2), concurrency: 1 }));
      for (let wake = 0; wake < wakes; wake++) await batches.wake(ids.at(-1)!);
    }
    await remove(`/keys/${id}`);
  });
  expect(await readStatus(account)).toBe(401);
  for (let turn = 0; turn < 3; turn++) {
    for (const id of ids) await batches.wake(id);
    later(1);
  }
  await reconcile(account, "replay");
  for (const id of ids) {
    expect((await batches.run(account, id)).status).toBe("completed");
    // The tasks that had begun have passed their deadline meanwhile.
    const codes = (await batches.readResults(account, id)).map(({ error }) => error?.code);
    expect(codes).toEqual([id === ids[0] ? undefined : "deadline_exceeded", undefined]);
  }
});

test("the operator may accept the restored state; a second restore does not undo that decision", async () => {
  const { account, second } = await restoredAfter(async (_, { id }) => remove(`/keys/${id}`));
  const backup = await backUp();
  expect(await reconcile(account, "accept")).toMatchObject([{ state: "accepted", changes: [{ change: "key_deleted" }] }]);
  expect([await readStatus(account), await readStatus(second)]).toEqual([200, 200]);
  expect(await readAccount(account)).toMatchObject({ restored: false });
  expect(await decisions(account)).toMatchObject([{ act: "restore_accepted", actor: { kind: "operator" }, after: { changes: 1 } }]);
  later(1);
  await wakeWallet(account);
  await restore(backup);
  later(1);
  expect(await readStatus(second)).toBe(401);
  expect(await reconcile(account, "replay")).toMatchObject([{ changes: [] }]);
  expect(await decisions(account)).toMatchObject([{ act: "restore_replayed", after: { changes: 0 } }]);
  expect([await readStatus(account), await readStatus(second)]).toEqual([200, 200]);
});

test("a member who was removed, and one whose role was taken, stay so after a restore, and the last owner stays one", async () => {
  const people: Partial<Record<Role, Membership>> = {};
  const account = await newAccount();
  for (const role of ["owner", "admin", "member"] as const) people[role] = await addMember(account, role);
  later(1);
  await wakeWallet(account);
  const backup = await backUp();
  later(30);
  const by = { kind: "user", id: people.owner!.userId, address: null } as const;
  const objects = new Objects(env);
  expect(await changeMember(env.DB, objects, by, people.admin!, { role: "viewer" })).toBe("done");
  expect(await removeMember(env.DB, objects, by, people.member!)).toBe("done");
  await wakeWallet(account);
  await restore(backup);
  later(30);
  expect(await readStatus(account)).toBe(401);
  expect((await reconcile(account, "replay"))[0]?.changes.map((lost) => lost.change)).toEqual(["member", "member_left"]);
  const rows = await env.DB.prepare("SELECT user_id AS userId, role FROM membership WHERE account_id = ?1 ORDER BY role")
    .bind(account.id)
    .all();
  expect(rows.results).toEqual([
    { userId: people.owner!.userId, role: "owner" },
    { userId: people.admin!.userId, role: "viewer" },
  ]);
});

test("a disabled account, narrowed and limited keys, and a lost admin role are as before the restore", async () => {
  const { account, second } = await restoredAfter(async ({ id, keyId }, other) => {
    await change(`/accounts/${id}`, { admin: true });
    await change(`/accounts/${id}`, { admin: false, budget: { amount: 3, window: "day" } });
    await change(`/keys/${keyId}`, { models: ["imgA-4"], quota: 5, budget: { amount: 2, window: "month" } });
    await change(`/keys/${other.id}`, { kinds: ["image"] });
    await change(`/accounts/${id}`, { disabled: true });
  });
  expect(await readStatus(account)).toBe(401);
  await env.DB.prepare("UPDATE account SET admin = 1 WHERE id = ?1").bind(account.id).run();
  expect((await reconcile(account)).flatMap(({ changes }) => changes.map((lost) => lost.change))).toEqual([
    "admin",
    "budget",
    "admin",
    "key_quota",
    "budget",
    "key_scope",
    "key_scope",
    "disabled",
  ]);
  for (const _ of [1, 2]) await reconcile(account, "replay");
  expect(await readAccount(account)).toMatchObject({ restored: false, disabled: true, admin: false, budget: { amount: 3, window: "day" } });
  const keys = new Map((await readKeys(account)).map((key) => [key.id, key]));
  expect(keys.get(account.keyId)).toMatchObject({ models: ["imgA-4"], quota: 5, budget: { amount: 2, window: "month" } });
  expect(keys.get(second.id)).toMatchObject({ kinds: ["image"] });
  expect(await readStatus(account)).toBe(401);
});

test("a paused key stays paused after a restore, and one that was resumed since works", async () => {
  const { account, second } = await restoredAfter(async ({ keyId }, { id }) => {
    await change(`/keys/${id}`, { paused: true });
    await change(`/keys/${keyId}`, { paused: true });
    await change(`/keys/${keyId}`, { paused: false });
  });
  expect([await readStatus(account), await readStatus(second)]).toEqual([401, 401]);
  expect(
    (await reconcile(account)).flatMap(({ changes }) => changes.map((lost) => lost.change)).filter((lost) => lost === "key_paused"),
  ).toHaveLength(3);
  await reconcile(account, "replay");
  expect([await readStatus(account), await readStatus(second)]).toEqual([200, 401]);
});

test("a rotated webhook secret and a changed endpoint come back as the account's user left them", async () => {
  const secrets: string[] = [];
  const { account } = await restoredAfter(async ({ key, id, keyId }) => {
    for (const _ of [1, 2]) secrets.push((await call("/v1/webhook_secret", { key, method: "POST" })).body.secret as string);
    await setEndpoint({ key, id, keyId }, "https://hooks.example.com/new");
  });
  expect(await readStatus(account)).toBe(401);
  await reconcile(account, "replay");
  const webhook = await readWebhook(env, account.id);
  expect(webhook.url).toBe("https://hooks.example.com/new");
  expect(signingSecrets(webhook, Date.now())).toEqual(secrets.toReversed());
  expect((await call("/v1/webhook_secret", { key: account.key })).body.secret).toBe(secrets[1]);
});

test("destinations come back as the account's user left them: a deleted one stays deleted, a replaced one has its new bucket and secret", async () => {
  const set = (account: Account, name: string, bucket: string, secret: string) =>
    setDestination(account, { bucket, secret_access_key: secret }, name);
  const account = await newAccount();
  for (const name of ["leaked", "moved"]) await set(account, name, "old-media", "old");
  const backup = await backUp();
  later(30);
  await call("/v1/destinations/leaked", { key: account.key, method: "DELETE" });
  await set(account, "moved", "new-media", "new");
  await set(account, "added", "added-media", "added");
  later(1);
  await wakeWallet(account);
  await restore(backup);
  later(30);
  expect(await readStatus(account)).toBe(401);
  await reconcile(account, "replay");
  const { data } = (await call("/v1/destinations", { key: account.key })).body;
  expect(data.map(({ name, bucket }: { name: string; bucket: string }) => [name, bucket])).toEqual([
    ["added", "added-media"],
    ["moved", "new-media"],
  ]);
  expect((await openDestination(env, account.id, "moved"))?.secret).toBe("new");
});

test("an erasure is made again by every reconciliation, without a decision, and the recorded changes are erased too", async () => {
  const { account } = await restoredAfter(async (erased) => {
    await setEndpoint(erased, "https://hooks.example.com/mara");
    await remove(`/accounts/${erased.id}`);
  });
  expect(await readStatus(account)).toBe(401);
  expect(await reconcile(account)).toMatchObject([{ account: account.id, state: "replayed", changes: [{ change: "erased" }] }]);
  expect((await asAdmin(`/accounts/${account.id}`)).status).toBe(404);
  expect(await readStatus(account)).toBe(401);
  expect(await env.DB.prepare("SELECT 1 FROM webhook WHERE account_id = ?1").bind(account.id).first()).toBeNull();
  const kept = await listFiles(account);
  expect(kept).not.toEqual([]);
  for (const file of kept) expect(file).toMatch(/-erased\.json$/);
  expect(await reconcile(account)).toEqual([]);
});

test("accounts that lost nothing work on after a restore, and are not listed", async () => {
  const account = await newAccount();
  await change(`/keys/${account.keyId}`, { kinds: ["image"] });
  later(1);
  await wakeWallet(account);
  await restore(await backUp());
  later(1);
  expect(await readStatus(account)).toBe(200);
  expect(await reconcile(account, "replay")).toEqual([]);
});

test("a change after the restore is made, and does not hide that an earlier one is lost", async () => {
  const { account, second } = await restoredAfter(async (_, { id }) => remove(`/keys/${id}`));
  await change(`/keys/${account.keyId}`, { kinds: ["image"] });
  expect([await readStatus(account), await readStatus(second)]).toEqual([401, 401]);
  expect(await reconcile(account, "replay")).toMatchObject([{ changes: [{ change: "key_deleted" }, { change: "key_scope" }] }]);
  expect([await readStatus(account), await readStatus(second)]).toEqual([200, 401]);
});

test("a change that D1 refused, or whose answer was lost, refuses no key", async () => {
  const account = await newAccount();
  const second = await addKey(account);
  for (const isDone of [false, true]) {
    failOnce(bindings.database(), "batch", isDone);
    expect((await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { disabled: false } })).status).toBe(500);
    for (const minutes of [1, 2]) {
      later(minutes);
      await wakeWallet(account);
      expect([await readStatus(account), await readStatus(second)]).toEqual([200, 200]);
    }
  }
  expect(await readAccount(account)).toMatchObject({ restored: false });
});

test("a row that was read before a change took effect is not taken for a restored database", async () => {
  const account = await newAccount();
  const second = await addKey(account);
  const wallet = env.WALLETS.getByName(account.id);
  await remove(`/keys/${second.id}`);
  expect(await readStatus(account)).toBe(200);
  expect(await wallet.checkKeys(0)).toMatchObject({ isRestored: false });
  expect(await readAccount(account)).toMatchObject({ restored: false });
});

test("a change is recorded when the bucket does not answer at first, and when the wallet object crashes meanwhile", async () => {
  const { account, second } = await restoredAfter(async (one, { id }) => {
    failOnce(bindings.bucket(), "put", false, 2);
    await remove(`/keys/${id}`);
    await crashWallet(one);
    expect(await listFiles(one).then((files) => files.filter((file) => file.endsWith("-key_deleted.json")))).toEqual([]);
    later(1);
    await wakeWallet(one);
    vi.mocked(bindings.bucket()["put"]!).mockRestore();
  });
  await reconcile(account, "replay");
  expect([await readStatus(account), await readStatus(second)]).toEqual([200, 401]);
});

test.each(["the statements of D1", "the decision"])("a reconciliation that breaks off at %s is repeated", async (step) => {
  const { account, second } = await restoredAfter(async ({ keyId }, { id }) => {
    await remove(`/keys/${id}`);
    await change(`/keys/${keyId}`, { quota: 7 });
  });
  const decide = vi.spyOn(WalletObject.prototype, "decideRestored");
  if (step === "the decision") decide.mockRejectedValueOnce(new Error("scripted fault"));
  else failOnce(bindings.database(), "batch", true);
  await asAdmin(`/reconcile?account=${account.id}&restored=replay`, { method: "POST" });
  await reconcile(account, "replay");
  expect([await readStatus(account), await readStatus(second)]).toEqual([200, 401]);
  expect(await readKeys(account)).toMatchObject([{ id: account.keyId, quota: 7 }]);
});

test("a key's look-up costs one call of the wallet object when it is not cached, and none when it is", async () => {
  const account = await newAccount();
  const calls = vi.spyOn(WalletObject.prototype, "checkKeys");
  for (const _ of [1, 2, 3]) expect((await call("/v1/models", { key: account.key })).status).toBe(200);
  expect(calls).toHaveBeenCalledTimes(1);
  later(1);
  expect((await call("/v1/models", { key: account.key })).status).toBe(200);
  expect(calls).toHaveBeenCalledTimes(2);
});

test("keys are accepted while their wallet object does not answer", async () => {
  const account = await newAccount();
  vi.spyOn(WalletObject.prototype, "checkKeys").mockRejectedValue(new Error("scripted fault"));
  expect((await call("/v1/models", { key: account.key })).status).toBe(200);
});

test("the console's user of an account that lost changes is refused like its keys", async () => {
  const { account } = await restoredAfter(async ({ id }) => change(`/accounts/${id}`, { disabled: true }));
  const api = new ConsoleApi(env, (request) => Promise.resolve(worker.fetch(request, env, {} as ExecutionContext)));
  const ask = async () =>
    (await api.ask({ accountId: account.id, keyId: account.keyId }, new Request("https://gateway.example/v1/models"))).status;
  expect(await ask()).toBe(401);
  await reconcile(account, "accept");
  expect(await ask()).toBe(200);
});

test("with the decision to replay, all sessions, e-mailed links and invitations that came back end", async () => {
  const rows = async () => (await env.DB.prepare("SELECT id FROM auth_session UNION SELECT id FROM auth_verification").run()).results;
  await env.DB.batch([
    env.DB.prepare("INSERT INTO auth_user VALUES ('revived', 'Mara', 'mara@example.com', 1, NULL, '', '')"),
    env.DB.prepare("INSERT INTO auth_session VALUES ('s1', 'revived', 't1', '2100-01-01', '192.0.2.7', 'Firefox', '', '')"),
    env.DB.prepare("INSERT INTO auth_verification VALUES ('v1', 'reset-password:t', 'revived', '2100-01-01', '', '')"),
  ]);
  await asAdmin("/reconcile", { method: "POST" });
  await asAdmin("/reconcile?restored=accept", { method: "POST" });
  expect(await rows()).toHaveLength(2);
  await asAdmin("/reconcile?restored=replay", { method: "POST" });
  expect(await rows()).toEqual([]);
  expect((await asAdmin("/reconcile?restored=perhaps", { method: "POST" })).body.error).toMatchObject({ param: "restored" });
});
