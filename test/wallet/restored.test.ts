/** A wallet object whose database was restored to an earlier time: what it writes again, how often, and what callers see meanwhile. Amounts in millionths. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { dropHistory } from "../../src/wallet/restore.ts";
import type { WalletState } from "../../src/wallet/state.ts";
import { bindings } from "../support/faults.ts";
import { type Account, holdTime, newAccount } from "../support/gateway.ts";
import { afterBatches, alarmOf, crashWallet, newCharge, openWallet, readRow, wake } from "./support.ts";

holdTime();

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
const deadline = () => Date.now() + 660_000;

test.each(["an entry to write", "a write of unknown outcome"])(
  "an account that a restored database lacks is tried again in ten seconds: with %s",
  async (rest) => {
    const account = await newAccount(1);
    const charge = newCharge(account);
    await openWallet(account).reserve(charge, 100, {});
    await openWallet(account).settle(charge, 40, "completed");
    pass(5);
    if (rest !== "an entry to write") await openWallet(account).writeEnded();
    await env.DB.prepare("DELETE FROM wallet WHERE id = ?1").bind(account.id).run();
    if (rest !== "an entry to write") {
      pass(61);
      await wake(account);
    }
    const count = afterBatches(async (batches) => {
      if (batches > 20) throw new Error("it does not end");
    });
    await wake(account);
    expect(count()).toBeLessThan(3);
    expect((await alarmOf(account))! - Date.now()).toBeGreaterThan(1_000);
  },
);

/** Settles this many chats, in few calls of the object. */
async function settleChats(account: Account, number: number): Promise<void> {
  const charges = Array.from({ length: number }, () => newCharge(account, "chat"));
  const first = newCharge(account); // its grant is enough for all
  await openWallet(account).reserve(first, number * 100, {});
  await openWallet(account).settle(first, 0, "cancelled");
  await openWallet(account).chats(charges.map((charge) => ({ charge, held: 100, deadline: deadline() })));
  await openWallet(account).chats(charges.map((charge) => ({ charge, held: 100, charged: 40, outcome: "completed" })));
}

/** D1 as it was before the account's first entry. */
const restoreDatabase = ({ id, keyId }: Account) =>
  env.DB.batch([
    env.DB.prepare("DELETE FROM entry WHERE account_id = ?1").bind(id),
    env.DB.prepare("DELETE FROM spending WHERE account_id = ?1").bind(id),
    env.DB.prepare("UPDATE wallet SET used = 0, granted = 0, revision = 0 WHERE id IN (?1, ?2)").bind(id, keyId),
  ]);

test("a restored database gets thousands of entries in a few transactions, and a fault between them repeats none", async () => {
  const account = await newAccount(1);
  await settleChats(account, 1_200);
  await openWallet(account).writeEnded();
  await restoreDatabase(account);
  await settleChats(account, 1);
  const sizes: number[] = [];
  const statement = bindings.database();
  const original = statement["batch"]!;
  vi.spyOn(statement, "batch").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    const [first] = values[0] as { params?: unknown[] }[];
    sizes.push((JSON.parse(String(first?.params?.[1])) as unknown[]).length);
    if (sizes.length === 3) throw new Error("scripted fault");
    return original.apply(this, values);
  });
  pass(5);
  await wake(account);
  pass(11);
  await crashWallet(account);
  await wake(account);
  await wake(account);
  vi.restoreAllMocks();
  // The settlement that finds the lower revision, three transactions, one of them twice, and the settlement again.
  expect(sizes.length, sizes.join()).toBeLessThan(8);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(1_201 + 600);
  expect(await readRow(account)).toMatchObject({ used: 1_201 * 40 });
  expect(await openWallet(account).audit()).toMatchObject({ isGrantRight: true });
});

test("a database that is restored again meanwhile gets all entries from the beginning", async () => {
  const account = await newAccount(1);
  await settleChats(account, 1_200);
  await openWallet(account).writeEnded();
  await restoreDatabase(account);
  await settleChats(account, 1);
  let count = 0;
  afterBatches(async () => {
    if (++count === 3) await restoreDatabase(account);
  });
  pass(5);
  await wake(account);
  pass(11);
  await wake(account);
  vi.restoreAllMocks();
  expect(await readRow(account)).toMatchObject({ used: 1_201 * 40 });
  expect(await openWallet(account).audit()).toMatchObject({ isGrantRight: true });
});

test("a restored database gets the entries of the last two days again", async () => {
  const account = await newAccount(1);
  await settleChats(account, 20);
  await openWallet(account).writeEnded();
  await restoreDatabase(account);
  pass(47 * 3_600);
  await settleChats(account, 1);
  pass(5);
  await wake(account);
  expect(await readRow(account)).toMatchObject({ used: 21 * 40 });
});

test("a key keeps its used amount while the restored database lacks its entries", async () => {
  const account = await newAccount(1);
  await settleChats(account, 40);
  await openWallet(account).writeEnded();
  await restoreDatabase(account);
  expect((await openWallet(account).balances([account.keyId, "no such key"]))[account.keyId]).toMatchObject({ used: 1_600 });
});

test("pages are kept for two days, but no more of them than the object can store", () => {
  const dropped: number[] = [];
  const end = { charged: 0, outcome: "completed", at: Date.now(), n: 1 };
  const entries = [{ taskId: "task", keyId: "key", kind: "chat", model: "textA-1", held: 0, at: end.at, end }];
  const storage = { page: (seq: number) => ({ seq, entries }), drop: (seq: number) => void dropped.push(seq) };
  const state = { oldestPage: 1, firstPage: 2_000_000 } as WalletState;
  dropHistory(state, storage);
  expect([dropped, state.oldestPage]).toEqual([[], 1]);
  state.firstPage = 2_000_002;
  dropHistory(state, storage);
  expect([dropped, state.oldestPage]).toEqual([[1, 2], 3]);
});
