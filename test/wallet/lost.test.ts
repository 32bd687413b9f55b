/** A wallet object that lost its storage: the amount that it held stays granted, its tasks report what they hold, and the rest is returned. Amounts in millionths. */

import "../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { Objects } from "../../src/rpc/objects.ts";
import { type Account, readBalance, finish, holdTime, newAccount, submit, unique } from "../support/gateway.ts";
import { crashWallet, readEntries, expectFinal, expectSound, type Known, newCharge, readRow, wake, openWallet } from "./support.ts";

holdTime();

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

async function lose(account: Account): Promise<void> {
  await runInDurableObject(openWallet(account), (_, { storage }) => storage.deleteAll());
  await crashWallet(account);
}

test("the holds of an object that lost its storage stay granted and are charged when their tasks end; a reconcile returns the rest", async () => {
  const account = await newAccount(1);
  const [open, failing, written, unwritten, never] = Array.from({ length: 5 }, () => newCharge(account));
  for (const charge of [open, failing, written]) await openWallet(account).reserve(charge!, 1_000, {});
  await openWallet(account).settle(written!, 900, "completed", 1_000);
  pass(5);
  await wake(account);
  await openWallet(account).reserve(unwritten!, 1_000, {});
  await openWallet(account).settle(unwritten!, 800, "completed", 1_000);
  const { granted } = await readRow(account);
  await lose(account);
  const shown = async () => (await openWallet(account).balances([account.keyId]))[account.id]!;
  expect(await shown()).toMatchObject({ quota: 1_000_000, used: 900, reserved: granted });
  // Each end is reported again, also those that D1 or the lost object had already accepted.
  for (let time = 0; time < 2; time++) {
    await openWallet(account).settle(open!, 700, "completed", 1_000);
    await openWallet(account).settle(unwritten!, 800, "completed", 1_000);
    await openWallet(account).settle(written!, 900, "completed", 1_000);
    await crashWallet(account);
  }
  expect(await openWallet(account).reserve(never!, 5_000, {})).toEqual({ answer: "reserved" });
  await openWallet(account).settle(never!, 0, "cancelled", 5_000);
  expect(await openWallet(account).reconcile(), "tasks may still claim it").toBe(0);
  pass(86_400);
  expect(await openWallet(account).reconcile()).toBeGreaterThan(0);
  expect(await openWallet(account).reconcile()).toBe(0);
  await openWallet(account).settle(failing!, 0, "provider_error", 1_000);
  for (let round = 0; round < 3; round++) {
    pass(70);
    await wake(account);
  }
  const known: Known[] = [
    { charge: open!, amount: 1_000, charged: 700 },
    { charge: written!, amount: 1_000, charged: 900 },
    { charge: unwritten!, amount: 1_000, charged: 800 },
    { charge: never!, amount: 5_000, charged: 0 },
  ];
  await expectSound(account, known);
  await expectFinal(account, known);
});

test("without D1 a task's settlement waits for the object that lost its storage, and is reported again", async () => {
  const account = await newAccount(1);
  const charge = newCharge(account);
  await openWallet(account).reserve(charge, 1_000, {});
  await lose(account);
  const run = vi.spyOn(Object.getPrototypeOf(env.DB.prepare("SELECT 1")) as D1PreparedStatement, "run");
  run.mockRejectedValueOnce(new Error("D1_ERROR: Network connection lost."));
  const settle = async () => openWallet(account).settle(charge, 700, "completed", 1_000);
  await expect(settle()).rejects.toThrow();
  await settle();
  await expectSound(account, [{ charge, amount: 1_000, charged: 700 }]);
});

test("a quota that is lowered while tasks may still claim their holds leaves what they claim", async () => {
  const account = await newAccount(1);
  const charge = newCharge(account);
  await openWallet(account).reserve(charge, 1_000, {});
  await lose(account);
  expect(await openWallet(account).changeQuota(account.id, { quota: 500 })).toBe("changed");
  await openWallet(account).settle(charge, 700, "completed", 1_000);
  await openWallet(account).writeEnded();
  expect(await readRow(account)).toMatchObject({ used: 700, granted: 300 });
  expect((await openWallet(account).balances())[account.id]).toMatchObject({ used: 700, reserved: 0, shortfall: 200 });
});

test("a key whose lost holds exceed its quota is charged for them all the same", async () => {
  const account = await newAccount(1, 0.001);
  const charges = [newCharge(account), newCharge(account)];
  for (const charge of charges) {
    expect(await openWallet(account).reserve(charge, 1_000, {})).toEqual({ answer: "reserved" });
    await lose(account);
  }
  for (const charge of charges) await openWallet(account).settle(charge, 900, "completed", 1_000);
  await openWallet(account).writeEnded();
  expect(await readRow(account)).toMatchObject({ used: 1_800 });
  expect((await openWallet(account).balances([account.keyId]))[account.keyId]).toMatchObject({ quota: 1_800, used: 1_800 });
  expect(await openWallet(account).reserve(newCharge(account), 1, {})).toEqual({ answer: "insufficient" });
});

test("an account's task objects report to its wallet, which lost its storage, what they hold and were charged", async () => {
  const account = await newAccount(1);
  const stranger = await newAccount(1);
  const image = () => ({ model: "imgA-4", prompt: unique() });
  const ids: string[] = [];
  for (const owner of [account, account, stranger]) ids.push(await submit(owner, "/v1/images/generations", image()));
  const [completed, open] = ids;
  await finish(account, completed!);
  await lose(account);
  const objects = new Objects(env);
  for (let time = 0; time < 2; time++)
    expect(await Promise.all([...ids, "task_of_nobody"].map((id) => objects.settleAgain(account.id, id)))).toEqual([
      "settled",
      "open",
      "gone",
      "gone",
    ]);
  expect(await readBalance(stranger)).toMatchObject({ reserved: 0.03, used: 0 });
  expect((await finish(account, open!)).body.data.status).toBe("completed");
  pass(86_400);
  await objects.returnLost(account.id);
  expect(await readBalance(account)).toEqual({ quota: 1, reserved: 0, used: 0.06, remaining: 0.94 });
  expect((await readEntries(account)).map(({ charged }) => charged)).toEqual([30_000, 30_000]);
});
