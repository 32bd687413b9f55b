/** The wallet object: its answers, and what it writes to D1 and when. Amounts in millionths. */

import "../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { bindings, failOnce, spyOn } from "../support/faults.ts";
import { holdTime, newAccount } from "../support/gateway.ts";
import {
  afterBatches,
  crashWallet,
  readEntries,
  expectFinal,
  expectSound,
  type Known,
  newCharge,
  readRow,
  wake,
  openWallet,
} from "./support.ts";

holdTime();

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
const unit = 1_000_000;

/** Counts the statements sent to D1 from now on. */
const asked = () => spyOn(bindings.database(), "prepare").mockClear();

test("after its first grant, a hold and its settlement need no D1 call", async () => {
  const account = await newAccount(100);
  const wallet = openWallet(account);
  const [first, second] = [newCharge(account), newCharge(account)];
  expect(await wallet.reserve(first, 300, {})).toEqual({ answer: "reserved" });
  const granted = (await readRow(account)).granted;
  expect(granted).toBeGreaterThanOrEqual(300);
  await wallet.settle(first, 0, "cancelled");
  const statements = asked();
  expect(await wallet.reserve(second, 300, {})).toEqual({ answer: "reserved" });
  expect(await wallet.reserve(second, 300, {})).toEqual({ answer: "reserved" });
  await wallet.settle(second, 200, "completed");
  await wallet.settle(second, 300, "completed");
  expect(statements).not.toHaveBeenCalled();
  expect(await wallet.reserve(second, 300, {})).toEqual({ answer: "closed" });
  await expectSound(account, [
    { charge: first, amount: 300, charged: 0 },
    { charge: second, amount: 300, charged: 200 },
  ]);
});

test("ended entries are written within five seconds; what an account has not used is returned with them", async () => {
  const account = await newAccount(100);
  const charge = newCharge(account);
  await openWallet(account).reserve(charge, 500, {});
  await openWallet(account).settle(charge, 400, "completed");
  const calls = [spyOn(bindings.database(), "batch").mockClear(), spyOn(bindings.statement(), "run").mockClear()];
  pass(5);
  expect(await wake(account)).toBe(true);
  expect(calls.map(({ mock }) => mock.calls.length)).toEqual([1, 0]);
  expect(await readEntries(account)).toEqual([{ taskId: charge.taskId, held: 500, charged: 400, outcome: "completed" }]);
  await expectFinal(account, [{ charge, amount: 500, charged: 400 }]);
  expect(await wake(account)).toBe(false);
});

test("entries that are written while something is held, or before they must be, leave the grant until a minute without use", async () => {
  const account = await newAccount(100);
  const [first, second] = [newCharge(account), newCharge(account)];
  const wallet = openWallet(account);
  await wallet.reserve(first, 500, {});
  await wallet.reserve(second, 500, {});
  await wallet.settle(first, 400, "completed");
  pass(5);
  expect(await wake(account)).toBe(true);
  expect(await readRow(account)).toMatchObject({ used: 400, granted: 1_100 });
  await wallet.settle(second, 300, "completed");
  await wallet.writeEnded();
  expect(await readRow(account)).toMatchObject({ used: 700, granted: 800 });
  pass(60);
  expect(await wake(account)).toBe(true);
  await expectFinal(account, [
    { charge: first, amount: 500, charged: 400 },
    { charge: second, amount: 500, charged: 300 },
  ]);
});

test("an account that comes back keeps a larger grant for ten minutes: most of its chats wait for no D1 call, and each is written in four statements", async () => {
  const account = await newAccount(1);
  const known: Known[] = [];
  const batches = spyOn(bindings.database(), "batch");
  const queries = spyOn(bindings.statement(), "run");
  const sizes = () => batches.mock.calls.splice(0).map(([statements]) => (statements as unknown[]).length);
  const held: number[] = [];
  const written: number[][] = [];
  await openWallet(account).balances([account.keyId]);
  for (let count = 0; count < 9; count++) {
    const charge = newCharge(account, "chat");
    sizes();
    queries.mockClear();
    expect(await openWallet(account).reserve(charge, 1_000, { deadline: Date.now() + 660_000 })).toEqual({ answer: "reserved" });
    held.push(queries.mock.calls.length + sizes().length);
    await openWallet(account).settle(charge, 400, "completed");
    known.push({ charge, amount: 1_000, charged: 400 });
    pass(5);
    await wake(account);
    written.push(sizes());
    await crashWallet(account);
    for (const seconds of [240, 240, 110]) {
      pass(seconds);
      await wake(account);
    }
    await expectSound(account, known);
  }
  expect(held).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0]);
  expect(written).toEqual(held.map(() => [4]));
  pass(60);
  await wake(account);
  await expectFinal(account, known);
  // Ten minutes after its last chat it has not come back: a kept grant would be returned before the next chat.
  const charge = newCharge(account, "chat");
  await openWallet(account).reserve(charge, 1_000, { deadline: Date.now() + 660_000 });
  await openWallet(account).settle(charge, 400, "completed");
  pass(5);
  await wake(account);
  await expectFinal(account, [...known, { charge, amount: 1_000, charged: 400 }]);
});

test("parallel reservations use a quota to the last millionth", async () => {
  const account = await newAccount(0.001);
  const wallet = openWallet(account);
  const charges = Array.from({ length: 30 }, () => newCharge(account));
  const answers = await Promise.all(charges.map(async (charge) => wallet.reserve(charge, 99, {})));
  const held = charges.filter((_, at) => answers[at]!.answer === "reserved");
  expect(held).toHaveLength(10);
  expect(answers.filter(({ answer }) => answer === "insufficient")).toHaveLength(20);
  expect(await wallet.reserve(newCharge(account), 10, {})).toEqual({ answer: "reserved" });
  expect(await wallet.reserve(newCharge(account), 1, {})).toEqual({ answer: "insufficient" });
  expect((await wallet.balances())[account.id]).toMatchObject({ quota: 1_000, used: 0, reserved: 1_000 });
});

test("grants grow with the recent spending, and are at most a tenth of the remaining quota", async () => {
  const account = await newAccount(1);
  const wallet = openWallet(account);
  for (let count = 0; count < 20; count++) await wallet.reserve(newCharge(account), 20_000, {});
  const { granted } = await readRow(account);
  expect(granted).toBeGreaterThan(400_000);
  expect(granted - 400_000).toBeLessThanOrEqual(60_000);
});

test("a key's quota limits to the millionth; with an unlimited one only the account's quota limits", async () => {
  const account = await newAccount(null, 0.0005);
  const wallet = openWallet(account);
  expect(await wallet.reserve(newCharge(account), 400, {})).toEqual({ answer: "reserved" });
  expect(await wallet.reserve(newCharge(account), 101, {})).toEqual({ answer: "insufficient" });
  expect(await wallet.reserve(newCharge(account), 100, {})).toEqual({ answer: "reserved" });
  const { [account.id]: whole, [account.keyId]: key } = await wallet.balances([account.keyId]);
  expect([whole!.quota, whole!.reserved, key!.quota, key!.reserved]).toEqual([null, 500, 500, 500]);
});

test("what was charged counts for a key's quota before D1 has it", async () => {
  const account = await newAccount(null, 0.0005);
  const charge = newCharge(account);
  await openWallet(account).reserve(charge, 400, {});
  await openWallet(account).settle(charge, 300, "completed");
  expect(await openWallet(account).reserve(newCharge(account), 201, {})).toEqual({ answer: "insufficient" });
  expect(await openWallet(account).reserve(newCharge(account), 200, {})).toEqual({ answer: "reserved" });
  expect(await readEntries(account)).toEqual([]);
});

test("too many open tasks are refused, of the account and of a key; chats do not count", async () => {
  const account = await newAccount();
  const wallet = openWallet(account);
  const rules = { maxOpenTasks: 2 };
  const open = newCharge(account);
  for (const charge of [open, newCharge(account)]) expect(await wallet.reserve(charge, 1, rules)).toEqual({ answer: "reserved" });
  expect(await wallet.reserve(newCharge(account), 1, rules)).toEqual({ answer: "too_many" });
  expect(await wallet.reserve(newCharge(account, "chat"), 1, rules)).toEqual({ answer: "reserved" });
  await wallet.settle(open, 0, "cancelled");
  expect(await wallet.reserve(newCharge(account), 1, { maxKeyTasks: 1 })).toEqual({ answer: "too_many" });
  expect(await wallet.reserve(newCharge(account), 1, rules)).toEqual({ answer: "reserved" });
});

test("a hold may be limited by all that is open, tasks and chats together", async () => {
  const account = await newAccount();
  const wallet = openWallet(account);
  const chat = newCharge(account, "chat");
  for (const charge of [newCharge(account), chat]) expect(await wallet.reserve(charge, 1, {})).toEqual({ answer: "reserved" });
  expect(await wallet.reserve(newCharge(account, "chat"), 1, { maxOpen: 2 })).toEqual({ answer: "too_many" });
  // A repeat is the same hold.
  expect(await wallet.reserve(chat, 1, { maxOpen: 2 })).toEqual({ answer: "reserved" });
  await wallet.settle(chat, 0, "cancelled");
  expect(await wallet.reserve(newCharge(account, "chat"), 1, { maxOpen: 2 })).toEqual({ answer: "reserved" });
});

test("a chat's hold is released after its deadline", async () => {
  const account = await newAccount(1);
  const chat = newCharge(account, "chat");
  await openWallet(account).reserve(chat, 700, { deadline: Date.now() + 660_000 });
  await crashWallet(account);
  pass(61);
  await wake(account);
  expect((await openWallet(account).balances())[account.id]).toMatchObject({ reserved: 700 });
  pass(600);
  expect(await wake(account)).toBe(true);
  expect((await openWallet(account).balances())[account.id]).toMatchObject({ reserved: 0, used: 0 });
  await openWallet(account).settle(chat, 700, "completed");
  await expectSound(account, [{ charge: chat, amount: 700, charged: 0 }]);
});

test("a task that was given up before its hold arrived holds nothing, and D1 gets no entry", async () => {
  const account = await newAccount(1);
  const charge = newCharge(account);
  await openWallet(account).settle(charge, 50, "cancelled");
  expect(await openWallet(account).reserve(charge, 50, {})).toEqual({ answer: "closed" });
  await wake(account);
  expect(await readEntries(account)).toEqual([]);
  expect((await openWallet(account).balances())[account.id]).toMatchObject({ used: 0, reserved: 0 });
});

test("without D1, holds within the grant succeed, others are unavailable, and settlements are accepted", async () => {
  const account = await newAccount(100);
  const wallet = openWallet(account);
  const first = newCharge(account);
  await wallet.reserve(first, 100, {});
  await wallet.settle(first, 0, "cancelled");
  failOnce(bindings.database(), "batch", false, 10);
  failOnce(bindings.statement(), "run", false, 10);
  const [second, third] = [newCharge(account), newCharge(account)];
  expect(await wallet.reserve(second, 100, {})).toEqual({ answer: "reserved" });
  expect(await wallet.reserve(third, 50, {})).toEqual({ answer: "unavailable" });
  await wallet.settle(second, 90, "completed");
  pass(5);
  await wake(account);
  expect((await wallet.balances())[account.id]).toMatchObject({ used: 90, reserved: 0 });
  vi.restoreAllMocks();
  pass(15);
  await wake(account);
  expect((await readEntries(account)).map(({ charged }) => charged).sort((a, b) => a - b)).toEqual([0, 90]);
  expect(await wallet.reserve(third, 50, {})).toEqual({ answer: "reserved" });
});

test.each([false, true])("a grant whose answer is lost (done: %s) is not granted twice", async (isDone) => {
  const account = await newAccount(1);
  const wallet = openWallet(account);
  const charge = newCharge(account);
  await wallet.balances([account.keyId]);
  failOnce(bindings.statement(), "run", isDone);
  expect(await wallet.reserve(charge, 1_000, {})).toEqual({ answer: "unavailable" });
  expect(await wallet.reserve(charge, 1_000, {})).toEqual({ answer: "reserved" });
  expect((await readRow(account)).granted).toBe(1_000);
  expect(await wallet.audit()).toMatchObject({ isGrantRight: true, held: 1_000 });
});

test.each([
  [7, false],
  [7, true],
  [1, false],
  [1, true],
])("a batch of %i whose answer is lost (done: %s) is written once", async (entries, isDone) => {
  const account = await newAccount(1);
  const wallet = openWallet(account);
  const known: Known[] = [];
  for (let count = 0; count < entries; count++) {
    const charge = newCharge(account);
    await wallet.reserve(charge, 1_000, {});
    await wallet.settle(charge, 900, "completed");
    known.push({ charge, amount: 1_000, charged: 900 });
  }
  failOnce(bindings.database(), "batch", isDone);
  pass(5);
  await wake(account);
  await crashWallet(account);
  pass(11);
  await wake(account);
  await expectSound(account, known);
  pass(61);
  await wake(account);
  await expectFinal(account, known);
});

test("a hundred settled entries are written at once", async () => {
  const account = await newAccount(1);
  const wallet = openWallet(account);
  const charges = Array.from({ length: 100 }, () => newCharge(account, "chat"));
  for (const charge of charges) await wallet.reserve(charge, 100, {});
  for (const charge of charges) await wallet.settle(charge, 40, "completed");
  await vi.waitFor(async () => expect((await readRow(account)).used).toBe(4_000));
  expect(await readEntries(account)).toHaveLength(100);
  expect(
    (await env.DB.prepare("SELECT charged, returned, completed, failed FROM spending WHERE account_id = ?1").bind(account.id).run())
      .results,
  ).toEqual([{ charged: 4_000, returned: 6_000, completed: 100, failed: 0 }]);
});

test.each([
  ["quota", (wallet, id, amount) => wallet.changeQuota(id, { quota: amount })],
  ["budget", (wallet, id, amount) => wallet.changeBudget(id, { amount, window: "day" })],
] as [string, (wallet: ReturnType<typeof openWallet>, id: string, amount: number) => Promise<unknown>][])(
  "a change of a key's %s that arrives after a later one has no effect",
  async (column, change) => {
    const account = await newAccount(1);
    const wallet = openWallet(account);
    await wallet.balances([account.keyId]);
    const late: (() => Promise<unknown>)[] = [];
    const database = bindings.database();
    const original = database["batch"]!;
    vi.spyOn(database, "batch").mockImplementation(async function (this: unknown, ...values: unknown[]) {
      const isChange = (values[0] as { statement: string }[])[0]!.statement.startsWith(`UPDATE wallet SET ${column}`);
      if (!isChange || late.push(() => original.apply(this, values)) > 1) return original.apply(this, values);
      throw new Error("scripted fault"); // it is on its way
    });
    expect(await change(wallet, account.keyId, 900).catch(String)).toContain("scripted fault");
    await change(wallet, account.keyId, 500);
    await late[0]!();
    expect(await env.DB.prepare(`SELECT ${column} AS amount FROM wallet WHERE id = ?1`).bind(account.keyId).first("amount")).toBe(500);
    expect(await wallet.reserve(newCharge(account), 501, {})).toMatchObject({ answer: column === "quota" ? "insufficient" : "budget" });
  },
);

test("a quota can be raised, and lowered to the used and held amount but not below", async () => {
  const account = await newAccount(1);
  const wallet = openWallet(account);
  for (let count = 0; count < 5; count++) await wallet.reserve(newCharge(account), 1_000, {});
  expect(await wallet.changeQuota(account.id, { quota: 4_999 })).toBe("below_use");
  expect(await wallet.changeQuota(account.id, { quota: 5_000 })).toBe("changed");
  expect(await readRow(account)).toMatchObject({ quota: 5_000, granted: 5_000 });
  expect(await wallet.reserve(newCharge(account), 1, {})).toEqual({ answer: "insufficient" });
  expect(await wallet.changeQuota(account.id, { add: 1 })).toBe("changed");
  expect(await wallet.reserve(newCharge(account), 1, {})).toEqual({ answer: "reserved" });
  expect(await wallet.changeQuota(account.id, { quota: null })).toBe("changed");
  expect(await wallet.changeQuota(account.id, { add: 7 })).toBe("changed");
  expect((await wallet.balances())[account.id]).toMatchObject({ quota: null, reserved: 5_001 });
  expect(await wallet.changeQuota(account.keyId, { quota: 5_000 })).toBe("below_use");
  expect(await wallet.changeQuota(account.keyId, { quota: 5_002 })).toBe("changed");
  expect(await wallet.reserve(newCharge(account), 2, {})).toEqual({ answer: "insufficient" });
  expect(await wallet.reserve(newCharge(account), 1, {})).toEqual({ answer: "reserved" });
});

test("a daily budget includes held and charged amounts, and starts at zero the next day; also if the object lost its memory", async () => {
  const account = await newAccount(null);
  const wallet = openWallet(account);
  vi.setSystemTime(Math.ceil(Date.now() / 86_400_000) * 86_400_000 + 3_600_000);
  const early = newCharge(account);
  await wallet.reserve(early, 300, {});
  await wallet.settle(early, 200, "completed");
  pass(5);
  await wake(account);
  await wallet.changeBudget(account.keyId, { amount: 1_000, window: "day" });
  const end = Math.ceil(Date.now() / 86_400_000) * 86_400_000;
  expect(await wallet.reserve(newCharge(account), 801, {})).toEqual({ answer: "budget", until: end });
  const held = newCharge(account);
  expect(await wallet.reserve(held, 700, {})).toEqual({ answer: "reserved" });
  expect(await wallet.reserve(newCharge(account), 101, {})).toEqual({ answer: "budget", until: end });
  await wallet.settle(held, 100, "completed");
  pass(6);
  await wake(account);
  await crashWallet(account);
  const { [account.keyId]: key } = await openWallet(account).balances([account.keyId]);
  expect(key!.budget).toEqual({ amount: 1_000, window: "day", spent: 300, until: end });
  expect(await openWallet(account).reserve(newCharge(account), 700, {})).toEqual({ answer: "reserved" });
  vi.setSystemTime(end);
  expect(await openWallet(account).reserve(newCharge(account), 1_000, {})).toEqual({ answer: "reserved" });
  await openWallet(account).changeBudget(account.keyId, null);
  await openWallet(account).changeBudget(account.id, { amount: 1_000, window: "month" });
  expect(await openWallet(account).reserve(newCharge(account), 5_000, {})).toMatchObject({ answer: "budget" });
});

test("a new day's budget counts from its first millisecond, and nothing of the day before", async () => {
  const account = await newAccount(null);
  const midnight = Math.ceil(Date.now() / 86_400_000 + 1) * 86_400_000;
  vi.setSystemTime(midnight - 1);
  await openWallet(account).changeBudget(account.keyId, { amount: 1_000, window: "day" });
  const [charge, open, next] = [newCharge(account), newCharge(account), newCharge(account)];
  await openWallet(account).reserve(charge, 300, {});
  await openWallet(account).reserve(open, 300, {});
  await openWallet(account).settle(charge, 200, "completed");
  vi.setSystemTime(midnight);
  await openWallet(account).reserve(next, 50, {});
  await openWallet(account).settle(next, 50, "completed");
  const spent = async () => (await openWallet(account).balances([account.keyId]))[account.keyId]!.budget?.spent;
  expect(await spent()).toBe(50);
  await openWallet(account).settle(open, 300, "completed");
  expect(await spent()).toBe(50);
  await openWallet(account).writeEnded();
  expect(await spent()).toBe(50);
});

test("a database that is restored to an hour ago gets its lost entries again, and the object its grant", async () => {
  const account = await newAccount(1);
  const wallet = openWallet(account);
  const known: Known[] = [];
  const spend = async (charged?: number) => {
    const charge = newCharge(account);
    await wallet.reserve(charge, 1_000, {});
    if (charged !== undefined) await wallet.settle(charge, charged, "completed");
    known.push({ charge, amount: 1_000, ...(charged !== undefined && { charged }) });
  };
  await spend(600);
  pass(5);
  await wake(account);
  const tables = ["wallet", "entry", "spending"];
  const backup = await Promise.all(tables.map(async (name) => (await env.DB.prepare(`SELECT * FROM ${name}`).run()).results));
  for (let count = 0; count < 40; count++) await spend(500);
  pass(5);
  await wake(account);
  await spend();
  await spend(700);
  await env.DB.batch(
    tables.flatMap((name, at) => [
      env.DB.prepare(`DELETE FROM ${name}`),
      ...backup[at]!.map((row) =>
        env.DB.prepare(
          `INSERT INTO ${name} (${Object.keys(row).join()}) VALUES (${Object.keys(row)
            .map(() => "?")
            .join()})`,
        ).bind(...Object.values(row)),
      ),
    ]),
  );
  pass(5);
  await wake(account);
  await expectSound(account, known);
  expect(await wallet.audit()).toMatchObject({ isGrantRight: true });
  const row = await readRow(account);
  expect(row.used).toBe(600 + 40 * 500 + 700);
});

test("chats cost at most five rows each in D1 and the object together", async () => {
  const account = await newAccount(null);
  const wallet = openWallet(account);
  await wallet.reserve(newCharge(account, "chat"), unit, {});
  const batches = spyOn(bindings.database(), "batch").mockClear();
  const written = await runInDurableObject(wallet, async (object, ctx) => {
    let rows = 0;
    const { kv } = ctx.storage;
    const put = vi.spyOn(Object.getPrototypeOf(kv) as typeof kv, "put");
    const remove = vi.spyOn(Object.getPrototypeOf(kv) as typeof kv, "delete");
    const alarms = vi.spyOn(Object.getPrototypeOf(ctx.storage) as typeof ctx.storage, "setAlarm");
    for (let count = 0; count < 100; count++) {
      const charge = newCharge(account, "chat");
      await object.reserve(charge, 100, { deadline: Date.now() + 660_000 });
      await object.settle(charge, 40, "completed");
    }
    rows = put.mock.calls.length + remove.mock.calls.length + alarms.mock.calls.length;
    return rows;
  });
  await vi.waitFor(async () => expect((await readRow(account)).used).toBe(4_000));
  const results = (
    await Promise.all(batches.mock.results.map((result) => result.value as Promise<{ meta: { rows_written: number } }[]>))
  ).flat();
  const d1 = results.reduce((sum, { meta }) => sum + meta.rows_written, 0);
  expect(written + d1).toBeLessThanOrEqual(500);
});

test("the end of a delivery gets its place among the events, however many tasks are settled while others are written", async () => {
  const account = await newAccount(100);
  const wallet = openWallet(account);
  const charges = Array.from({ length: 20 }, () => newCharge(account));
  for (const charge of charges) await wallet.reserve(charge, 10, {});
  const settleNext = async () => {
    const next = charges.shift();
    if (next) await openWallet(account).settle(next, 10, "completed");
  };
  await settleNext();
  const batches = afterBatches(settleNext);
  await wallet.noteDelivery("task_delivered", "delivered");
  expect(batches()).toBe(1);
  const event = await env.DB.prepare("SELECT at FROM delivery_event WHERE account_id = ?1").bind(account.id).first<number>("at");
  const { results } = await env.DB.prepare("SELECT closed_at AS at FROM entry WHERE account_id = ?1")
    .bind(account.id)
    .run<{ at: number }>();
  expect(results).toHaveLength(1);
  expect(results[0]!.at).toBeLessThan(event!);
  await wallet.writeEnded();
  const later = await env.DB.prepare("SELECT max(closed_at) AS at FROM entry WHERE account_id = ?1").bind(account.id).first<number>("at");
  expect(later).toBeGreaterThan(event!);
});
