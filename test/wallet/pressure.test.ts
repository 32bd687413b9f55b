/** The wallet object while calls, writes to D1, alarms and faults overlap: what takes effect once, and what never waits for long. Amounts in millionths. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { toTaskId } from "../../src/base/ids.ts";
import type { WalletState } from "../../src/wallet/state.ts";
import { bindings, failOnce } from "../support/faults.ts";
import { holdTime, newAccount } from "../support/gateway.ts";
import { afterBatches, alarmOf, crashWallet, newCharge, openWallet, wake } from "./support.ts";

holdTime();

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
const deadline = () => Date.now() + 660_000;

test("writing the settled entries ends although further chats end meanwhile", async () => {
  const account = await newAccount(null);
  const charges = Array.from({ length: 30 }, () => newCharge(account, "chat"));
  for (const charge of charges) await openWallet(account).reserve(charge, 100, { deadline: deadline() });
  await openWallet(account).settle(charges.pop()!, 40, "completed");
  const batches = await runInDurableObject(openWallet(account), async (object) => {
    const count = afterBatches(async () => {
      const next = charges.pop();
      if (next) await object.settle(next, 40, "completed");
    });
    await object.writeEnded();
    return count();
  });
  expect(batches).toBe(1);
});

test("a reservation is granted between two full batches", async () => {
  const account = await newAccount(null);
  const charges = Array.from({ length: 420 }, () => newCharge(account, "chat"));
  const settle = (some: typeof charges) => some.map((charge) => ({ charge, held: 100, charged: 40, outcome: "completed" }));
  await openWallet(account).reserve(charges[0]!, 420 * 100, { deadline: deadline() });
  await openWallet(account).settle(charges.shift()!, 0, "completed");
  await openWallet(account).chats(charges.map((charge) => ({ charge, held: 100, deadline: deadline() })));
  const order: string[] = [];
  await runInDurableObject(openWallet(account), async (object) => {
    let reserving: Promise<unknown> | undefined;
    afterBatches(async (count) => {
      order.push(`batch ${count}`);
      reserving ??= object.reserve(newCharge(account), 1_000_000, {}).then(({ answer }) => order.push(answer));
      await object.chats(settle(charges.splice(0, 100)));
    });
    await object.chats(settle(charges.splice(0, 100)));
    await vi.waitFor(() => expect(order.length).toBeGreaterThan(4));
    await reserving;
  });
  expect(order.indexOf("reserved"), order.join()).toBeLessThan(4);
});

test("a call postpones no alarm that is due, not even after a start of the object or with a late alarm", async () => {
  const account = await newAccount(1);
  const charge = newCharge(account, "chat");
  await openWallet(account).reserve(charge, 100, { deadline: deadline() });
  await openWallet(account).settle(charge, 40, "completed");
  const due = Date.now() + 5_000;
  await crashWallet(account);
  await openWallet(account).reserve(newCharge(account), 100, {});
  expect(await alarmOf(account), "after a start").toBeLessThanOrEqual(due);
  pass(6);
  await openWallet(account).reserve(newCharge(account), 100, {});
  expect(await alarmOf(account), "after it was due").toBeLessThanOrEqual(Date.now() + 1);
});

test("a read of D1 during the writing of an entry counts the entry once", async () => {
  const account = await newAccount(1);
  const [charge, other] = [newCharge(account), newCharge(account)];
  await openWallet(account).reserve(charge, 100, {});
  await openWallet(account).reserve(other, 100, {});
  const shown = await runInDurableObject(openWallet(account), async (object) => {
    const [applied, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let flushing: Promise<unknown> | undefined;
    afterBatches(() => {
      applied.resolve();
      return released.promise;
    });
    const statement = bindings.statement();
    const original = statement["run"]!;
    vi.spyOn(statement, "run").mockImplementationOnce(async function (this: unknown, ...values: unknown[]) {
      await object.settle(charge, 40, "completed");
      flushing = object.writeEnded();
      await applied.promise;
      return original.apply(this, values);
    });
    const views = await object.balances([account.keyId, "no such key"]);
    released.resolve();
    await flushing;
    return views;
  });
  expect(shown[account.id]).toMatchObject({ used: 40, reserved: 100 });
  expect(shown[account.keyId]).toMatchObject({ used: 40, reserved: 100 });
});

test("an entry whose write lost its answer counts once, also after a grant that found the write", async () => {
  const account = await newAccount(1);
  const charge = newCharge(account);
  await openWallet(account).reserve(charge, 100, {});
  await openWallet(account).settle(charge, 40, "completed");
  failOnce(bindings.database(), "batch", true);
  await openWallet(account)
    .writeEnded()
    .catch(() => undefined);
  expect(await openWallet(account).reserve(newCharge(account), 5_000, {})).toEqual({ answer: "reserved" });
  const shown = await openWallet(account).balances([account.keyId, "no such key"]);
  for (const id of [account.id, account.keyId]) expect(shown[id]).toMatchObject({ used: 40, reserved: 5_000 });
});

test("a task object that fails does not keep the holds of others", async () => {
  const account = await newAccount(1);
  const ids = [env.TASKS.newUniqueId(), env.TASKS.newUniqueId()] as const;
  for (const id of ids) await openWallet(account).reserve({ ...newCharge(account), taskId: toTaskId(id) }, 100, {});
  pass(960);
  const namespace = bindings.namespace();
  const original = namespace["get"]!;
  vi.spyOn(namespace, "get").mockImplementation(function (this: unknown, id: unknown) {
    if (ids[0].equals(id as DurableObjectId)) throw new Error("scripted fault");
    return original.call(this, id);
  });
  await wake(account);
  expect((await openWallet(account).balances())[account.id]).toMatchObject({ reserved: 100 });
  expect((await alarmOf(account))! - Date.now(), "asked again").toBe(10_000);
});

test("an object that starts beside a long chat keeps the ids of written entries for two minutes only", async () => {
  const account = await newAccount(1);
  const long = newCharge(account, "chat");
  await openWallet(account).reserve(long, 100, { deadline: deadline() });
  const charges = Array.from({ length: 40 }, () => newCharge(account));
  for (const charge of charges) {
    await openWallet(account).reserve(charge, 100, { deadline: deadline() });
    await openWallet(account).settle(charge, 40, "completed");
  }
  await openWallet(account).writeEnded();
  await crashWallet(account);
  for (const charge of charges) expect(await openWallet(account).reserve(charge, 100, { deadline: 0 })).toEqual({ answer: "closed" });
  pass(130);
  await crashWallet(account);
  const answers = await Promise.all(charges.map(async (charge) => openWallet(account).reserve(charge, 100, { deadline: 0 })));
  // The first page has the long chat.
  expect(answers.slice(0, 15).map(({ answer }) => answer)).toEqual(Array.from({ length: 15 }, () => "closed"));
  expect(answers.slice(15, 31).map(({ answer }) => answer)).toEqual(Array.from({ length: 16 }, () => "reserved"));
});

test("an object that starts with hundreds of keys, most of them deleted long ago, reads those in use again", async () => {
  const account = await newAccount(1, 0.5);
  const charge = newCharge(account);
  await openWallet(account).reserve(charge, 100, {});
  await openWallet(account).settle(charge, 40, "completed");
  await openWallet(account).writeEnded();
  const change = (run: (state: WalletState) => void) =>
    runInDurableObject(openWallet(account), (_, { storage: { kv } }) => {
      const state = kv.get<WalletState>("wallet")!;
      run(state);
      kv.put("wallet", state);
    });
  const deleted = Array.from({ length: 400 }, (_, at) => [`key_${at}`, { quota: null, used: 0, budget: null }] as const);
  await change(({ keys }) => Object.assign(keys, Object.fromEntries(deleted)));
  await crashWallet(account);
  expect(await openWallet(account).reserve(newCharge(account), 100, {})).toEqual({ answer: "reserved" });
  const balances = await openWallet(account).balances([account.keyId]);
  expect(balances[account.keyId]).toMatchObject({ quota: 500_000, used: 40, reserved: 100 });
  await change(({ keys }) => expect(Object.keys(keys)).toEqual([account.keyId]));
  // An account in use starts with entries that D1 may have or not.
  const [first, lost] = [newCharge(account), newCharge(account)];
  for (const one of [first, lost]) await openWallet(account).reserve(one, 100, {});
  await openWallet(account).settle(lost, 40, "completed");
  await change((state) => Object.assign(state.keys, Object.fromEntries(deleted)));
  await crashWallet(account);
  failOnce(bindings.database(), "batch", true);
  await openWallet(account)
    .writeEnded()
    .catch(() => undefined);
  await crashWallet(account);
  await openWallet(account).settle(first, 30, "completed");
  expect((await openWallet(account).balances([account.keyId]))[account.keyId]).toMatchObject({ used: 110, reserved: 100 });
  await openWallet(account).writeEnded();
  expect((await openWallet(account).balances([account.keyId]))[account.keyId]).toMatchObject({ used: 110, reserved: 100 });
  await change(({ keys }) => expect(Object.keys(keys)).toEqual([account.keyId]));
});

test("a read of D1 while a key's quota is lowered does not raise it", async () => {
  const account = await newAccount(1, 0.001);
  const first = newCharge(account); // its grant is enough for all
  await openWallet(account).reserve(first, 1_000, {});
  await openWallet(account).settle(first, 0, "cancelled");
  await openWallet(account).writeEnded();
  await openWallet(account).reserve(newCharge(account), 400, {});
  const answers = await runInDurableObject(openWallet(account), async (object) => {
    const database = bindings.database();
    const original = database["batch"]!;
    let reserved: unknown;
    vi.spyOn(database, "batch").mockImplementation(async function (this: unknown, ...values: unknown[]) {
      const isChange = (values[0] as { statement: string }[])[0]!.statement.startsWith("UPDATE wallet SET quota");
      if (isChange) {
        await object.balances([account.keyId, "no such key"]);
        reserved = await object.reserve(newCharge(account), 500, {});
      }
      return original.apply(this, values);
    });
    return [await object.changeQuota(account.keyId, { quota: 500 }), reserved];
  });
  expect(answers).toEqual(["changed", { answer: "insufficient" }]);
  expect((await openWallet(account).balances([account.keyId]))[account.keyId]).toMatchObject({ quota: 500, reserved: 400 });
});

test.each([
  [699, "below_use"],
  [700, "changed"],
])("what is settled while the account's quota is lowered to %i counts", async (quota, answer) => {
  const account = await newAccount(1);
  const charge = newCharge(account);
  await openWallet(account).reserve(charge, 1_000, {});
  const changed = await runInDurableObject(openWallet(account), (object) => {
    const statement = bindings.statement();
    const original = statement["run"]!;
    vi.spyOn(statement, "run").mockImplementationOnce(async function (this: unknown, ...values: unknown[]) {
      await object.settle(charge, 700, "completed");
      return original.apply(this, values);
    });
    return object.changeQuota(account.id, { quota });
  });
  expect(changed).toBe(answer);
  await openWallet(account).writeEnded();
  expect((await openWallet(account).balances())[account.id]).toMatchObject({ used: 700, reserved: 0, shortfall: 0 });
  expect(await openWallet(account).audit()).toMatchObject({ isGrantRight: true });
});
