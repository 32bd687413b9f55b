/** `POST /admin/reconcile`: after a restored database or lost work, every amount is correct again. */

import "../support/alone.ts";
import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { toTaskId } from "../../src/base/ids.ts";
import {
  type Account,
  asAdmin,
  call,
  readBalance,
  complete,
  finish,
  holdTime,
  newAccount,
  pass,
  submit,
  wakeWallet,
} from "../support/gateway.ts";
import { crashWallet, readRow } from "../wallet/support.ts";
import { backUp, restore } from "./backup.ts";

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

const image = { model: "imgA-4", prompt: "a lighthouse" };
const later = (minutes: number) => vi.setSystemTime(Date.now() + 60_000 * minutes);
const readCharge = (account: Account, kind = "image") => ({
  taskId: toTaskId(env.TASKS.newUniqueId()),
  accountId: account.id,
  keyId: account.keyId,
  kind,
  model: kind === "chat" ? "textA-1" : "imgA-4",
});

/** Reconciles all accounts; returns the sum of all calls. */
async function reconcileAll(): Promise<{ accounts: number; settled: number; returned: number; open: number; calls: number }> {
  const sum = { accounts: 0, settled: 0, returned: 0, open: 0, calls: 0 };
  for (let after: string | null = ""; after !== null; sum.calls++) {
    const { status, body } = await asAdmin(`/reconcile${after && `?after=${after}`}`, { method: "POST" });
    expect(status).toBe(200);
    for (const name of ["accounts", "settled", "returned", "open"] as const) sum[name] += body[name];
    after = body.after;
  }
  return sum;
}

test("yesterday's database with today's objects: every charge since the backup is charged again, and open tasks are held", async () => {
  const [one, other] = [await newAccount(10), await newAccount(10, 5)];
  const first = await complete(one, "/v1/images/generations", image);
  const price = (await readBalance(one)).used;
  // Open when the backup is made, and ended afterwards.
  const open = await submit(other, "/v1/images/generations", image);
  await readBalance(one);
  const backup = await backUp();
  later(60);
  await finish(other, open);
  for (let count = 0; count < 5; count++) await complete(one, "/v1/images/generations", image);
  await wakeWallet(one);
  later(22 * 60);
  const running = await submit(one, "/v1/images/generations", image);
  const before = [await readBalance(one), await readBalance(other)];
  const ended = async () => Promise.all([one, other].map(async ({ key }) => (await call("/v1/events", { key })).body.data as object[]));
  const events = await ended();
  expect(events.map((data) => data.length)).toEqual([6, 1]);
  await restore(backup);

  expect(await reconcileAll()).toMatchObject({ calls: 1 });
  expect([await readBalance(one), await readBalance(other)]).toEqual(before);
  expect(await ended()).toEqual(events);
  expect(before[0]!.used).toBeCloseTo(6 * price, 6);
  expect((await asAdmin("/audit")).body).toMatchObject({ drift: [] });
  const known = await env.DB.prepare("SELECT task_id AS id FROM entry WHERE account_id IN (?1, ?2)").bind(one.id, other.id).run();
  expect(known.results.map(({ id }) => id)).toEqual(expect.arrayContaining([first, open]));
  await finish(one, running);
  expect((await readBalance(one)).reserved).toBe(0);
});

test("a hold without a task is released, a running task keeps its own, a task past its deadline ends", async () => {
  const account = await newAccount(1);
  const charge = readCharge(account);
  expect(await env.WALLETS.getByName(account.id).reserve(charge, 1_000, {})).toEqual({ answer: "reserved" });
  const id = await submit(account, "/v1/images/generations", image);
  const held = (await readBalance(account)).reserved;
  const answer = await asAdmin(`/reconcile?account=${account.id}`, { method: "POST" });
  expect(answer.body).toEqual({ object: "reconciliation", accounts: 1, settled: 0, returned: 1, open: 1, restored: [], after: null });
  expect((await readBalance(account)).reserved).toBeCloseTo(held - 0.001, 6);
  later(60);
  expect((await asAdmin(`/reconcile?account=${account.id}`, { method: "POST" })).body).toMatchObject({ settled: 1, open: 0 });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0, remaining: 1 });
  await pass(id, 1);
});

test("the grant of a lost wallet stays reserved for a day, in which tasks claim their holds; then the rest is returned", async () => {
  const account = await newAccount(10);
  const reconciled = async () => (await asAdmin(`/reconcile?account=${account.id}`, { method: "POST" })).body;
  const shown = async () => (await asAdmin(`/accounts/${account.id}`)).body;
  const drift = async () => (await asAdmin(`/audit?account=${account.id}`)).body.drift;
  await complete(account, "/v1/images/generations", image);
  const price = (await readBalance(account)).used;
  const [running, late] = [await submit(account, "/v1/images/generations", image), await submit(account, "/v1/images/generations", image)];
  // A hold that no task claims.
  await env.WALLETS.getByName(account.id).reserve(readCharge(account), 200_000, {});
  const granted = (await readRow(account)).granted / 1e6;
  const wallet = env.WALLETS.getByName(account.id);
  await runInDurableObject(wallet, (_, { storage }) => storage.deleteAll());
  await crashWallet(account);
  expect(await drift()).toEqual([{ id: account.id, reserved: granted, used: price, ledger_reserved: 0, ledger_used: price }]);
  expect(await reconciled()).toMatchObject({ accounts: 1, settled: 0, returned: 0, open: 1 });
  expect(await shown()).toMatchObject({ used: price, reserved: granted });

  await finish(account, running);
  expect((await shown()).used).toBeCloseTo(2 * price, 6);
  later(24 * 60 - 5);
  expect(await reconciled(), "a task may still claim its own").toMatchObject({ returned: 0, open: 1 });
  await finish(account, late);
  later(10);
  const fresh = await submit(account, "/v1/images/generations", image);
  expect(await reconciled()).toMatchObject({ returned: 1, open: 1 });
  expect(await reconciled(), "once only").toMatchObject({ returned: 0, open: 1 });
  expect((await readBalance(account)).reserved).toBeCloseTo(price, 6);
  await finish(account, fresh);
  later(2);
  await wakeWallet(account);
  expect(await readRow(account)).toMatchObject({ granted: 0 });
  expect(await drift()).toEqual([]);
});

test("accounts are reconciled in several calls, and a call that breaks off is repeated", async () => {
  const account = await newAccount(1);
  await env.DB.batch(
    Array.from({ length: 51 }, (_, at) => [
      env.DB.prepare("INSERT INTO account (id, email, created_at) VALUES (?1, ?1, 1)").bind(`acc_0${at}`),
      env.DB.prepare("INSERT INTO wallet (id, quota) VALUES (?1, 1)").bind(`acc_0${at}`),
    ]).flat(),
  );
  const charge = readCharge(account);
  await env.WALLETS.getByName(account.id).reserve(charge, 1_000, {});
  const broken = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const original = env.DB.prepare.bind(env.DB);
  let fences = 0;
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare").mockImplementation((sql) => {
    if (sql.startsWith("UPDATE wallet SET revision") && ++fences === 3) throw new Error("scripted fault");
    return original(sql);
  });
  expect((await asAdmin("/reconcile", { method: "POST" })).status).toBe(500);
  prepare.mockRestore();
  broken.mockRestore();
  const { accounts, calls } = await reconcileAll();
  expect(accounts).toBeGreaterThanOrEqual(52);
  expect(calls).toBeGreaterThanOrEqual(2);
  expect((await readBalance(account)).reserved).toBe(0);
});

test("a reconciliation continues from an account that was erased meanwhile", async () => {
  const [account, erased] = [await newAccount(), await newAccount()];
  await asAdmin(`/accounts/${erased.id}`, { method: "DELETE" });
  const { status, body } = await asAdmin(`/reconcile?after=${erased.id}`, { method: "POST" });
  expect([status, body.object]).toEqual([200, "reconciliation"]);
  expect((await asAdmin(`/accounts?after=${erased.id}`)).status).toBe(200);
  expect((await asAdmin(`/reconcile?account=${account.id}`, { method: "POST" })).body).toMatchObject({ accounts: 1, after: null });
});

test("refusals: an unknown place to continue, no operator, a gateway without the operations Worker", async () => {
  for (const after of ["", "acc_unknown", "acc_unknown.task_x"])
    expect((await asAdmin(`/reconcile?after=${after}`, { method: "POST" })).body.error).toMatchObject({
      code: "invalid_request",
      param: "after",
    });
  const wallets = (await listDurableObjectIds(env.WALLETS)).length;
  expect((await asAdmin("/reconcile?account=acc_0123456789abcdefghijkl", { method: "POST" })).body.error.code).toBe("not_found");
  expect((await listDurableObjectIds(env.WALLETS)).length).toBe(wallets);
  expect((await asAdmin("/reconcile", { method: "POST", key: "wrong" })).status).toBe(401);
  const none = { OPERATIONS: undefined as never };
  expect((await asAdmin("/reconcile", { method: "POST", vars: none })).status).toBe(404);
  expect((await asAdmin("/audit", { vars: none })).status).toBe(404);
  expect((await asAdmin("/reconcile")).status).toBe(405);
});
