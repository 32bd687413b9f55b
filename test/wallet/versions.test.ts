/**
 * The version before wallet objects beside this one: its reservations in D1 are settled there, and both together reserve no more than the
 * quota.
 */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { settle } from "../../src/db/ledger.ts";
import type { Task } from "../../src/tasks/record.ts";
import { crash, openStub } from "../support/faults.ts";
import { type Account, readBalance, call, finish, holdTime, newAccount, submit, unique } from "../support/gateway.ts";
import { reserveInD1 } from "../support/old-ledger.ts";
import { newCharge, openWallet } from "./support.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

const path = "/v1/images/generations";

/** Turns a task into one of the version before: its record does not say where its price is held, and D1's own ledger holds it. */
async function makeOld(account: Account, taskId: string): Promise<void> {
  const charge = { taskId, accountId: account.id, keyId: account.keyId, kind: "image", model: "imgA-4" };
  await runInDurableObject(openWallet(account), (_, { storage }) => storage.deleteAll());
  await runInDurableObject(openWallet(account), (_, ctx) => ctx.abort("a new object")).catch(() => undefined);
  await env.DB.prepare("UPDATE wallet SET reserved = 0, granted = 0, revision = 0 WHERE id = ?1").bind(account.id).run();
  expect(await reserveInD1(charge, 30_000)).toBe(true);
  await runInDurableObject(openStub(taskId), (_, { storage }) => {
    const { heldBy: _heldBy, ...task } = storage.kv.get<Task>("task")!;
    storage.kv.put("task", task);
  });
  await crash(openStub(taskId));
}

test.each(["completed", "cancelled"])("a task that was open at the deployment is settled in D1: %s", async (end) => {
  const account = await newAccount(1);
  const id = await submit(account, path, { model: "imgA-4", prompt: unique() });
  await makeOld(account, id);
  expect(await readBalance(account)).toEqual({ quota: 1, reserved: 0.03, used: 0, remaining: 0.97 });
  if (end === "cancelled") await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  else expect((await finish(account, id)).body.data.status).toBe(end);
  const used = end === "completed" ? 0.03 : 0;
  expect(await readBalance(account)).toEqual({ quota: 1, reserved: 0, used, remaining: 1 - used });
  expect((await call("/v1/events", { key: account.key })).body.data).toMatchObject([{ task: id }]);
});

test("a record of the previous version that holds nothing yet is given up", async () => {
  const account = await newAccount(1);
  const id = await submit(account, path, { model: "imgA-4", prompt: unique() });
  await makeOld(account, id);
  const submission = await runInDurableObject(openStub(id), (_, { storage }) => {
    const task = storage.kv.get<Task>("task")!;
    storage.kv.put("task", { ...task, step: { do: "reserve", at: Date.now() + 30_000 } });
    return task.submission;
  });
  await crash(openStub(id));
  expect(await openStub(id).create(submission)).toEqual({ refused: "unavailable" });
  vi.setSystemTime(Date.now() + 31_000);
  expect(await runDurableObjectAlarm(openStub(id))).toBe(true);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).status).toBe(404);
});

test("a Worker of the previous version reserves in D1 beside the object: together they reserve no more than the quota", async () => {
  const account = await newAccount(0.001);
  const old = newCharge(account);
  expect(await openWallet(account).reserve(newCharge(account), 400, {})).toEqual({ answer: "reserved" });
  expect(await reserveInD1(old, 601)).toBe(false);
  expect(await reserveInD1(old, 600)).toBe(true);
  expect(await openWallet(account).reserve(newCharge(account), 1, {})).toEqual({ answer: "insufficient" });
  expect(await readBalance(account)).toEqual({ quota: 0.001, reserved: 0.001, used: 0, remaining: 0 });
  await settle(env.DB, old, 100, "completed");
  expect(await readBalance(account)).toEqual({ quota: 0.001, reserved: 0.0004, used: 0.0001, remaining: 0.0005 });
  expect(await openWallet(account).reserve(newCharge(account), 500, {})).toEqual({ answer: "reserved" });
});

test("a chat of a Worker of the previous version is held by the wallet, and a chat that D1 held before is settled in D1", async () => {
  const account = await newAccount(1);
  const holds = () => env.HOLDS.get(env.HOLDS.newUniqueId());
  const [mine, early] = [holds(), holds()];
  expect(await mine.hold(newCharge(account, "chat"), 500)).toBe("reserved");
  const charge = newCharge(account, "chat");
  await reserveInD1(charge, 300);
  await runInDurableObject(early, (_, { storage }) => storage.kv.put("hold", { charge, amount: 300 }));
  expect(await readBalance(account)).toMatchObject({ reserved: 0.0008 });
  for (let time = 0; time < 2; time++) {
    await mine.end(400);
    await early.end(200);
  }
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.0006 });
  const late = holds();
  expect(await late.hold(newCharge(account, "chat"), 2_000_000)).toBe("insufficient");
  expect(await late.hold(newCharge(account, "chat"), 500)).toBe("reserved");
  vi.setSystemTime(Date.now() + 661_000);
  await runDurableObjectAlarm(late);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.0006 });
});
