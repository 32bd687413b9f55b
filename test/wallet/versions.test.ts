/** A wallet object beside code of the next release: it postpones charges that it may misread, and ignores fields that it does not know. Amounts in millionths. */

import "../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { chargeVersion } from "../../src/base/versions.ts";
import { readBalance, holdTime, newAccount } from "../support/gateway.ts";
import { crashWallet, expectSound, newCharge, openWallet, wake } from "./support.ts";

holdTime();

const newer = { v: chargeVersion + 1 };

test("charges of a newer version are not held, and those in the same call are", async () => {
  const account = await newAccount(1);
  const [mine, next] = [newCharge(account, "chat"), { ...newCharge(account, "chat"), ...newer }];
  const deadline = Date.now() + 60_000;
  const granted = newCharge(account);
  await openWallet(account).reserve(granted, 1_000, {});
  await openWallet(account).settle(granted, 0, "cancelled");
  const chats = await openWallet(account).chats([
    { charge: next, held: 500, deadline },
    { charge: mine, held: 300, deadline },
  ]);
  expect(chats).toEqual([false, true]);
  expect(await openWallet(account).reserve(next, 500, { deadline })).toEqual({ answer: "unavailable" });
  expect(await readBalance(account)).toMatchObject({ reserved: 0.0003, used: 0 });
});

test("a settlement of a newer version changes nothing, and its caller repeats it", async () => {
  const account = await newAccount(1);
  const charge = newCharge(account);
  expect(await openWallet(account).reserve(charge, 400, {})).toEqual({ answer: "reserved" });
  const refused = openWallet(account).settle({ ...charge, ...newer }, 400, "completed");
  expect(await refused.then(() => "settled", String)).toContain("newer code");
  expect(await openWallet(account).chats([{ charge: { ...charge, ...newer }, held: 400, charged: 400, outcome: "completed" }])).toEqual([
    false,
  ]);
  await expectSound(account, [{ charge, amount: 400 }]);
});

test("fields that newer code added to the stored state and entries are ignored", async () => {
  const account = await newAccount(1);
  const charge = newCharge(account);
  expect(await openWallet(account).reserve(charge, 400, {})).toEqual({ answer: "reserved" });
  await runInDurableObject(openWallet(account), (_, { storage: { kv } }) => {
    for (const [key, value] of kv.list<{ entries?: object[] }>())
      if (typeof value === "object")
        kv.put(key, { ...value, added: 1, ...(value.entries && { entries: value.entries.map((entry) => ({ ...entry, added: 1 })) }) });
  });
  await crashWallet(account);
  await expectSound(account, [{ charge, amount: 400 }]);
  await openWallet(account).settle({ ...charge, added: 1 } as never, 250, "completed");
  await wake(account);
  await expectSound(account, [{ charge, amount: 400, charged: 250 }]);
});
