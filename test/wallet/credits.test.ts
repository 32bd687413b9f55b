/** Credits and debits of an account's quota: each moves it once, whatever crashes or is restored, and debt is covered before anything new is held. Amounts in millionths. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { type Credit, listCredits } from "../../src/db/credits.ts";
import { backUp, restore } from "../operations/backup.ts";
import { bindings, failOnce, stopAt } from "../support/faults.ts";
import { type Account, asAdmin, call, holdTime, image, newAccount } from "../support/gateway.ts";
import { crashWallet, expectSound, type Known, newCharge, openWallet, readRow, wake } from "./support.ts";

holdTime();

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
let causes = 0;
const newCredit = (amount: number, kind: Credit["kind"] = "payment"): Credit => ({
  id: `${kind}:${++causes}-${crypto.randomUUID()}`,
  kind,
  amount,
  at: Date.now(),
  reason: null,
});
const shown = async (account: Account) => (await openWallet(account).balances())[account.id]!;
const credit = async (account: Account, one: Credit) => await openWallet(account).credit(one);
const hold = async (account: Account, amount: number) => {
  const charge = newCharge(account);
  return { charge, ...(await openWallet(account).reserve(charge, amount, {})) };
};

test("a credit moves the quota once, and the history names it", async () => {
  const account = await newAccount(1);
  const one = newCredit(250_000);
  expect(await credit(account, one)).toBe("credited");
  expect(await credit(account, one)).toBe("known");
  expect(await shown(account)).toMatchObject({ quota: 1_250_000, shortfall: 0 });
  expect(await listCredits(env.DB, account.id, 10)).toEqual([one]);
  const { results } = await env.DB.prepare("SELECT before, after, credit_id FROM quota_change WHERE account_id = ?1")
    .bind(account.id)
    .run();
  expect(results).toEqual([{ before: 1_000_000, after: 1_250_000, credit_id: one.id }]);
  await expect(credit(await newAccount(1), one)).rejects.toThrow("belongs to another account");
});

test("an unlimited quota stays unlimited, and the credit is noted once", async () => {
  const account = await newAccount(null);
  const one = newCredit(5);
  expect([await credit(account, one), await credit(account, one)]).toEqual(["credited", "known"]);
  expect(await shown(account)).toMatchObject({ quota: null, shortfall: 0 });
  expect(await listCredits(env.DB, account.id, 10)).toHaveLength(1);
});

/** Stops everything at one step of the credit, then repeats it in a new object. */
const steps: [string, () => () => Promise<void>][] = [
  ["before the database has it", () => stopAt(bindings.database(), "batch", false)],
  ["after the database has it", () => stopAt(bindings.database(), "batch", true)],
];
test.each(steps)("a crash %s: the repeat credits exactly once", async (_, stop) => {
  const account = await newAccount(1);
  const held = await hold(account, 100);
  const one = newCredit(-400_000, "refund");
  const reached = stop();
  const lost = credit(account, one).catch(() => undefined);
  await reached();
  await crashWallet(account);
  await lost;
  vi.restoreAllMocks();
  await credit(account, one);
  expect(await shown(account)).toMatchObject({ quota: 600_000, reserved: 100 });
  expect(await credit(account, one)).toBe("known");
  await expectSound(account, [{ charge: held.charge, amount: 100 }]);
});

test.each([false, true])("if the database fails (after the write: %s), a repeated credit counts once", async (isDone) => {
  const account = await newAccount(1);
  const one = newCredit(7);
  failOnce(bindings.database(), "batch", isDone);
  await expect(credit(account, one)).rejects.toThrow("scripted fault");
  await credit(account, one);
  expect(await shown(account)).toMatchObject({ quota: 1_000_007 });
});

test("parallel repeats credit once", async () => {
  const account = await newAccount(1);
  const one = newCredit(11);
  const answers = await Promise.all([1, 2, 3, 4].map(() => credit(account, one)));
  expect(answers.toSorted()).toEqual(["credited", "known", "known", "known"]);
  expect(await shown(account)).toMatchObject({ quota: 1_000_011 });
});

test("a restored database neither loses a credit nor takes a repeat for a new one", async () => {
  const account = await newAccount(1);
  await hold(account, 10);
  const backup = await backUp();
  const [one, two] = [newCredit(250_000), newCredit(-50_000, "refund")];
  await credit(account, one);
  await credit(account, two);
  await restore(backup);
  expect(await credit(account, one), "Stripe sends its event again").toBe("known");
  await crashWallet(account);
  expect(await credit(account, two)).toBe("known");
  await credit(account, newCredit(1));
  expect(await shown(account)).toMatchObject({ quota: 1_200_001 });
  expect((await listCredits(env.DB, account.id, 10)).map(({ id }) => id)).toEqual(expect.arrayContaining([one.id, two.id]));
  expect((await readRow(account)).quota).toBe(1_200_001);
});

test("an account that owes still owes after its database was restored to a time before the debit", async () => {
  const account = await newAccount(1);
  await hold(account, 300_000);
  const backup = await backUp();
  await credit(account, newCredit(-900_000, "dispute"));
  await restore(backup);
  expect(await openWallet(account).audit()).toMatchObject({ isGrantRight: true });
  expect(await readRow(account)).toMatchObject({ debt: 200_000 });
  expect(await shown(account)).toMatchObject({ reserved: 300_000, shortfall: 200_000 });
  await credit(account, newCredit(200_000));
  expect((await hold(account, 1)).answer).toBe("insufficient");
});

test.each([0, 2])("what a debit has left can be held to the millionth, after %i alarms that return the unused grant", async (alarms) => {
  const account = await newAccount(1);
  const { charge } = await hold(account, 900_000);
  await credit(account, newCredit(-995_000, "refund"));
  await openWallet(account).settle(charge, 0, "cancelled");
  for (let count = 0; count < alarms; count++) {
    pass(700);
    await wake(account);
  }
  const known: Known[] = [{ charge, amount: 900_000, charged: 0 }];
  for (const [amount, left] of [
    [1_000, 5_000],
    [4_000, 4_000],
  ] as const) {
    expect((await hold(account, left + 1)).answer).toBe("insufficient");
    const held = await hold(account, amount);
    expect(held.answer).toBe("reserved");
    known.push({ charge: held.charge, amount });
  }
  expect((await hold(account, 1)).answer).toBe("insufficient");
  await expectSound(account, known);
});

test("an unused grant goes back at once, however little a debit has left of the quota", async () => {
  for (const left of [5_000, 1, 0, -5_000]) {
    const account = await newAccount(1);
    const { charge } = await hold(account, 900_000);
    await credit(account, newCredit(left - 1_000_000, "refund"));
    await openWallet(account).settle(charge, 0, "cancelled");
    for (let minutes = 0; minutes < 2; minutes++) {
      pass(700);
      await wake(account);
    }
    expect(await readRow(account), `left ${left}`).toMatchObject({ granted: 0, used: 0 });
    expect(await shown(account)).toMatchObject({ quota: Math.max(0, left), reserved: 0, shortfall: Math.max(0, -left) });
    expect((await hold(account, 5_000)).answer).toBe(left === 5_000 ? "reserved" : "insufficient");
  }
});

test("a debit below use: nothing new is held, what is open goes on, and only a credit that covers it admits more", async () => {
  const account = await newAccount(1);
  const open = await hold(account, 300_000);
  const ended = await hold(account, 500_000);
  await openWallet(account).settle(ended.charge, 500_000, "completed");
  await credit(account, newCredit(-900_000, "dispute"));
  // 100,000 of quota, 500,000 used, 300,000 held.
  expect(await shown(account)).toMatchObject({ quota: 800_000, used: 500_000, reserved: 300_000, shortfall: 700_000 });
  expect((await asAdmin(`/accounts/${account.id}`)).body).toMatchObject({ remaining: 0, shortfall: 0.7 });
  expect((await hold(account, 1)).answer).toBe("insufficient");
  expect((await hold(account, 0)).answer, "what costs nothing").toBe("insufficient");
  await crashWallet(account);
  expect((await hold(account, 1)).answer).toBe("insufficient");

  // What the open task does not need covers debt first.
  await openWallet(account).settle(open.charge, 100_000, "completed");
  expect(await shown(account)).toMatchObject({ used: 600_000, reserved: 0, shortfall: 500_000 });
  for (const seconds of [0, 5, 70, 300]) {
    pass(seconds);
    await wake(account);
    expect((await hold(account, 1)).answer, `after ${seconds} s`).toBe("insufficient");
  }

  expect((await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { add: 0.4 } })).body).toMatchObject({ shortfall: 0.1 });
  expect((await hold(account, 1)).answer).toBe("insufficient");
  await credit(account, newCredit(100_000));
  expect(await shown(account)).toMatchObject({ quota: 600_000, shortfall: 0 });
  expect((await hold(account, 1)).answer).toBe("insufficient");
  const free = await hold(account, 0);
  expect(free.answer, "what costs nothing, once all is covered").toBe("reserved");
  await credit(account, newCredit(20_000));
  expect((await hold(account, 20_001)).answer).toBe("insufficient");
  const last = await hold(account, 20_000);
  expect(last.answer).toBe("reserved");
  await expectSound(account, [
    { charge: open.charge, amount: 300_000, charged: 100_000 },
    { charge: ended.charge, amount: 500_000, charged: 500_000 },
    { charge: free.charge, amount: 0 },
    { charge: last.charge, amount: 20_000 },
  ]);
});

test("beside a debt work that costs nothing is refused too, and so is its dry run", async () => {
  const account = await newAccount(1);
  await credit(account, newCredit(-1_000_001, "dispute"));
  const vars = { PRICES: { "imgA-4": { image: 0 } } };
  const ask = async (query: string) => (await call(`/v1/images/generations${query}`, { key: account.key, body: image(), vars })).status;
  expect([await ask("?dry_run=true"), await ask("")]).toEqual([402, 402]);
  await credit(account, newCredit(1));
  expect([await ask("?dry_run=true"), await ask("")]).toEqual([200, 200]);
});

test("the operator's quota replaces debt, and may not be below use", async () => {
  const account = await newAccount(1);
  const ended = await hold(account, 500_000);
  await openWallet(account).settle(ended.charge, 500_000, "completed");
  await credit(account, newCredit(-800_000, "refund"));
  const set = (body: object) => asAdmin(`/accounts/${account.id}`, { method: "PATCH", body });
  expect((await set({ quota: 0.4 })).status).toBe(400);
  expect((await set({ add: -0.1 })).status).toBe(400);
  expect((await set({ quota: 0.6 })).body).toMatchObject({ quota: 0.6, shortfall: 0 });
  expect(await readRow(account)).toMatchObject({ debt: 0, quota: 600_000 });
});
