/** The archive: old entries move from D1 to the bucket, each is in exactly one of them whatever crashes, and answers to callers do not change. */

import "../support/alone.ts";
import { toMonth, partsIn } from "../../src/db/archive.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readPart } from "../../src/storage/archive.ts";
import { entryReader } from "../../src/storage/archived-entries.ts";
import { audit } from "../../src/db/audit.ts";
import type { Entry } from "../../src/db/ledger-reports.ts";
import { toTaskId } from "../../src/base/ids.ts";
import { Objects } from "../../src/rpc/objects.ts";
import { archive } from "../../src/operations/archive.ts";
import { sweepArchive } from "../../src/operations/archive-check.ts";
import { expire } from "../../src/operations/expire.ts";
import { runUpkeep } from "../../src/operations/upkeep.ts";
import { bindings, failOnce } from "../support/faults.ts";
import { type Account, asAdmin, readBalance, call, complete, holdTime, newAccount, unique } from "../support/gateway.ts";
import { settledImage } from "../support/settled.ts";
import { writeEntries } from "../../src/db/grants.ts";
import { backUp, restore } from "./backup.ts";
import { alertReceiver, readChanges, runOnce } from "./support.ts";

const dayMs = 86_400_000;

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

interface Old {
  /** Days between the first entry and today, and between the last one and today. */
  from: number;
  to: number;
  count: number;
  /** One of this many entries has a reference. */
  referenced?: number;
}

/** Entries of the past with their sums, written like the account's wallet would: every fourth is a chat, every fifth failed. */
async function addEntries(account: Account, { from, to, count, referenced = 3 }: Old): Promise<string[]> {
  const now = Date.now();
  const step = Math.floor(((from - to) * dayMs) / count);
  const rows = Array.from({ length: count }, (_, at) => {
    const isChat = at % 4 === 3;
    const id = isChat ? `chatcmpl-${unique()}` : toTaskId(env.TASKS.newUniqueId());
    // Two entries in each millisecond: their ids decide the order.
    const time = Math.round(now - from * dayMs) + step * (at - (at % 2));
    return {
      id,
      kind: isChat ? "chat" : "image",
      model: isChat ? "textA-1" : "imgA-4",
      time,
      isFailed: at % 5 === 4,
      named: at % referenced === 0,
    };
  });
  const values = JSON.stringify(
    rows.map(({ id, kind, model, time, isFailed, named }) => [
      id,
      kind,
      model,
      time,
      isFailed ? 0 : 20_000,
      isFailed ? "cancelled" : "completed",
      named ? `order ${time % 7}` : null,
    ]),
  );
  const bind = (sql: string) => env.DB.prepare(sql).bind(account.id, account.keyId, values);
  await env.DB.batch([
    bind(`INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
      SELECT value ->> 0, ?1, ?2, value ->> 1, value ->> 2, 30000, value ->> 4, value ->> 5, value ->> 3, (value ->> 3) + 5000 FROM json_each(?3)`),
    bind(
      `INSERT INTO task_reference SELECT ?1, value ->> 6, value ->> 3, value ->> 0 FROM json_each(?3) WHERE value ->> 6 IS NOT NULL AND ?2 <> ''`,
    ),
    bind(`INSERT INTO spending SELECT ?1, (value ->> 3) / ${dayMs} * ${dayMs}, value ->> 2, ?2, sum(value ->> 4), sum(30000 - (value ->> 4)),
      sum(value ->> 5 = 'completed'), sum(value ->> 5 <> 'completed') FROM json_each(?3) GROUP BY 2, 3
      ON CONFLICT DO UPDATE SET charged = charged + excluded.charged, returned = returned + excluded.returned,
        completed = completed + excluded.completed, failed = failed + excluded.failed`),
    bind(`UPDATE wallet SET used = used + (SELECT sum(value ->> 4) FROM json_each(?3)) WHERE id IN (?1, ?2)`),
  ]);
  return rows.map(({ id }) => id);
}

const run = (vars: Partial<OperationsBindings> = {}) => archive({ DB: env.DB, ASSETS: env.ASSETS, ...vars });
const inD1 = async ({ id }: Account) =>
  (await env.DB.prepare("SELECT count(*) AS entries FROM entry WHERE account_id = ?1").bind(id).first<number>("entries"))!;
const readParts = async ({ id }: Account) => {
  const all = Number.MAX_SAFE_INTEGER;
  return (await partsIn(env.DB, id, [0, all], [0, all], { limit: 1000, skip: 0 }).run<Parameters<typeof readPart>[1]>()).results;
};
const archived = async (account: Account) => (await readParts(account)).reduce((sum, { entries }) => sum + entries, 0);
const readFiles = async ({ id }: Account) => (await env.ASSETS.list({ prefix: `archive/${id}/` })).objects.map(({ key }) => key);

/** All entries of an account, read in pages like the console does; `between` runs after each page. */
async function readAll(account: Account, limit = 1_000, between?: () => Promise<unknown>): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let after: Entry | undefined, page: Entry[] = []; ; after = page.at(-1)) {
    page = await entryReader(env.DB, env.ASSETS, account.id)({ since: 0, limit, after });
    entries.push(...page);
    await between?.();
    if (page.length < limit) return entries;
  }
}

/** The audit of one account: its drift. */
const readDrift = async ({ id }: Account) => (await asAdmin(`/audit?account=${id}`)).body.drift as unknown[];
const date = (days: number) => new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);

test("old entries leave D1, and lists, usage, tables and the audit do not change", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 80, to: 1, count: 640 });
  const ask = async () => {
    const get = (query: string) => call(`/v1/usage?from=${date(85)}&to=${date(0)}&${query}`, { key: account.key });
    const groups = ["day", "model", "key", "reference"];
    const answers = await Promise.all(groups.map(async (group) => (await get(`group_by=${group}`)).body.data as unknown));
    const focus = await get("format=focus&group_by=reference");
    const text = new TextDecoder().decode(focus.body as ArrayBuffer);
    return {
      answers,
      focus: text.split("\r\n").sort(),
      entries: await readAll(account, 100),
      drift: await readDrift(account),
      readBalance: await readBalance(account),
    };
  };
  const before = await ask();
  expect(before.entries).toHaveLength(640);
  expect(before.answers[3]).toHaveLength(8);
  expect(await run()).toBeGreaterThan(300);
  expect(await inD1(account)).toBeLessThan(300);
  expect(await archived(account)).toBe(640 - (await inD1(account)));
  const oldest = await env.DB.prepare("SELECT min(at) AS at FROM entry WHERE account_id = ?1").bind(account.id).first<number>("at");
  expect(oldest).toBeGreaterThanOrEqual(Math.floor(Date.now() / dayMs) * dayMs - 35 * dayMs);
  expect(new Set((await readParts(account)).map(({ month }) => month)).size).toBeGreaterThanOrEqual(2);
  expect(await ask()).toEqual(before);
  expect(before.drift).toEqual([]);
  expect(await run()).toBe(0);
  // A query for a single day leaves out the other days of the same file.
  const day = (await call(`/v1/usage?from=${date(60)}&to=${date(60)}&group_by=reference`, { key: account.key })).body.data;
  const sum = (rows: { completed: number; failed: number }[]) =>
    rows.reduce((total, { completed, failed }) => total + completed + failed, 0);
  const start = Date.parse(date(60));
  expect(sum(day)).toBe(before.entries.filter(({ at }) => at >= start && at < start + dayMs).length);
});

test("the first and last millisecond of a month, and of the days that are archived, stay in their own days", async () => {
  const account = await newAccount(null);
  const month = toMonth(Date.now() - 50 * dayMs);
  const cutoff = (Math.floor(Date.now() / dayMs) - 35) * dayMs;
  // Entries end five seconds after their submission, and are archived by that day.
  const times = [month - 1, month, cutoff - 5_001, cutoff - 5_000, cutoff];
  for (const time of times) {
    const from = (Date.now() - time) / dayMs;
    await addEntries(account, { from, to: from, count: 2, referenced: 1 });
  }
  const ask = async () => {
    const days = [...new Set(times.map((time) => new Date(time).toISOString().slice(0, 10)))];
    const usage = days.map(async (day) => {
      const { data } = (await call(`/v1/usage?from=${day}&to=${day}&group_by=reference`, { key: account.key })).body;
      return (data as { completed: number }[]).reduce((sum, { completed }) => sum + completed, 0);
    });
    return { usage: await Promise.all(usage), entries: await readAll(account, 3), drift: await readDrift(account) };
  };
  const before = await ask();
  expect(before).toMatchObject({ usage: [2, 2, 4, 2], drift: [] });
  expect(before.entries.map(({ at }) => at)).toEqual(times.toReversed().flatMap((time) => [time, time]));
  await run();
  expect(new Map((await readParts(account)).map((part) => [part.month, part.entries]))).toEqual(
    new Map([
      [toMonth(month - 1), 2],
      [month, 4],
    ]),
  );
  expect(await inD1(account)).toBe(4);
  expect(await ask()).toEqual(before);
});

test("usage by reference of a month with added-up days does not change, for the whole month and its first day", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 520, to: 430, count: 180 });
  await run();
  const first = toMonth(Date.now() - 470 * dayMs);
  const last = toMonth(first + 32 * dayMs) - dayMs;
  const toDate = (day: number) => new Date(day).toISOString().slice(0, 10);
  const get = async (from: number, to: number, query: string) =>
    (await call(`/v1/usage?from=${toDate(from)}&to=${toDate(to)}&group_by=reference${query}`, { key: account.key })).body;
  const usage = async (from = first, to = last) => (await get(from, to, "")).data;
  /** The charges in the table, by their tags. */
  const table = async () => {
    const charged = new Map<string, number>();
    const lines = new TextDecoder()
      .decode(await get(first, last, "&format=focus"))
      .trim()
      .split("\r\n")
      .slice(1);
    for (const line of lines) {
      const tags = line.slice(line.indexOf("{"));
      charged.set(tags, (charged.get(tags) ?? 0) + Math.round(1e6 * Number(line.split(",")[0])));
    }
    return charged;
  };
  const before = [await usage(), await table()] as const;
  expect(before[0].length).toBeGreaterThan(5);
  await env.DB.batch([
    env.DB.prepare("UPDATE account SET created_at = ?2 WHERE id = ?1").bind(account.id, first),
    env.DB.prepare("DELETE FROM upkeep WHERE job = 'sums'"),
  ]);
  for (let turn = 0; turn < 20; turn++) await expire(env, Date.now());
  expect([await usage(), await table()]).toEqual(before);
  expect(await usage(first, first)).toEqual(before[0]);
  expect(await usage(first + dayMs, last)).toEqual([]);
});

test("consecutive pages have no gap and no duplicate while entries are being archived", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 60, to: 2, count: 90 });
  const expected = await readAll(account);
  let days = 50;
  const seen = await readAll(account, 7, () => run({ LEDGER_DAYS: String((days = Math.max(9, days - 2))) }));
  expect(seen).toEqual(expected);
  expect(await archived(account)).toBeGreaterThan(50);
  expect(await readAll(account, 2)).toEqual(expected);
});

test.each([
  ["the upload fails", () => failOnce(bindings.bucket(), "put")],
  ["the upload's answer is lost", () => failOnce(bindings.bucket(), "put", true)],
  ["the part that entries are to join cannot be read", () => failGet(1)],
  ["the file cannot be read back", () => failGet(2)],
  ["the transaction fails", () => failBatch("archive_part", false)],
  ["the transaction's answer is lost", () => failBatch("archive_part", true)],
  ["the job's state is not written", () => failOnce(bindings.statement(), "run", false, 1)],
])("%s: no entry is lost or duplicated, and the next run continues", async (_, fail) => {
  const account = await newAccount(null);
  await addEntries(account, { from: 70, to: 40, count: 60 });
  await run();
  await addEntries(account, { from: 75, to: 1, count: 60 });
  const expected = await readAll(account);
  expect(expected).toHaveLength(120);
  fail();
  await run().catch(() => undefined);
  vi.restoreAllMocks();
  expect(await readAll(account)).toEqual(expected);
  expect((await inD1(account)) + (await archived(account))).toBe(120);
  await run();
  await run();
  expect(await readAll(account)).toEqual(expected);
  expect([await readDrift(account), (await inD1(account)) < 40]).toEqual([[], true]);
});

/** The `count`-th next call of the bucket fails. */
function failGet(count: number): void {
  const original = bindings.bucket()["get"]!;
  let left = count;
  vi.spyOn(bindings.bucket(), "get").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    if (--left === 0) throw new Error("scripted fault");
    return original.apply(this, values);
  });
}

/** The next transaction with a statement on this table fails; with `isDone` it takes effect first. */
function failBatch(table: string, isDone: boolean): void {
  const original = bindings.database()["batch"]!;
  let isLeft = true;
  vi.spyOn(bindings.database(), "batch").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    const isMeant = isLeft && (values[0] as { statement: string }[])[0]!.statement.includes(`${table} (`);
    if (!isMeant) return original.apply(this, values);
    isLeft = false;
    if (isDone) await original.apply(this, values);
    throw new Error("scripted fault");
  });
}

test("a file that the bucket returns damaged is not referred to, and its entries stay in D1", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 70, to: 40, count: 20 });
  const { put } = bindings.bucket();
  vi.spyOn(bindings.bucket(), "put").mockImplementation(async function (this: unknown, key: unknown) {
    return put!.call(this, key, "damaged");
  });
  await run();
  expect([await inD1(account), await archived(account)]).toEqual([20, 0]);
  vi.restoreAllMocks();
  await run();
  await run();
  expect([await inD1(account), await archived(account)]).toEqual([0, 20]);
});

test("two parallel runs move each entry once", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 70, to: 40, count: 90 });
  const expected = await readAll(account);
  await Promise.all([run(), run(), run()]);
  expect(await readAll(account)).toEqual(expected);
  expect([await inD1(account), await archived(account), await readDrift(account)]).toEqual([0, 90, []]);
});

test("a batch reads only its own rows, not all of its account's", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 50, to: 40, count: 20 });
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
  await run();
  const asked = [...new Set(prepare.mock.calls.map(([sql]) => sql))].filter((sql) => /\bentry\b/.test(sql));
  prepare.mockRestore();
  expect(asked.length).toBeGreaterThanOrEqual(5);
  for (const sql of asked) {
    const values = Array.from({ length: Math.max(...[...sql.matchAll(/\?(\d+)/g)].map(([, at]) => Number(at))) }, () => "[]");
    const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .bind(...values)
      .run<{ detail: string }>();
    for (const { detail } of results.filter((row) => /(SEARCH|SCAN) entry\b/.test(row.detail)))
      expect(detail).toMatch(/USING PRIMARY KEY \(task_id=\?|entry_by_account \(<expr>=\? AND <expr>=\? AND at<\?\)/);
  }
});

test("while the database is too large, entries are archived as soon as the records of their tasks are deleted", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 20, to: 8, count: 40 });
  await addEntries(account, { from: 7, to: 1, count: 40 });
  await run();
  expect(await inD1(account)).toBe(80);
  await run({ LEDGER_MAX_MB: "1" });
  expect(await inD1(account)).toBe(80); // the database of this test is smaller
  const pad = "x".repeat(900_000);
  await env.DB.batch([1, 2].map((at) => env.DB.prepare("INSERT INTO typical_time (sort, seconds) VALUES (?1, ?2)").bind(`pad ${at}`, pad)));
  await run({ LEDGER_MAX_MB: "1" });
  await env.DB.prepare("DELETE FROM typical_time WHERE sort LIKE 'pad %'").run();
  expect(await inD1(account)).toBe(40);
  for (const LEDGER_DAYS of ["8", "366", "soon"])
    await expect(async () => run({ LEDGER_DAYS })).rejects.toThrow("the variable LEDGER_DAYS");
});

test("entries that ended late stay in D1 until their end is old enough", async () => {
  const account = await newAccount(null);
  const [late] = await addEntries(account, { from: 50, to: 40, count: 20 });
  await env.DB.prepare("UPDATE entry SET closed_at = ?2 WHERE task_id = ?1").bind(late, Date.now()).run();
  await run();
  expect([await inD1(account), await archived(account)]).toEqual([1, 19]);
  const expected = (await readAll(account)).map(({ taskId }) => taskId);
  expect(expected).toHaveLength(20);
  await env.DB.prepare("UPDATE entry SET closed_at = at + 5000 WHERE task_id = ?1").bind(late).run();
  await run();
  expect([await inD1(account), await archived(account)]).toEqual([0, 20]);
  expect((await readAll(account)).map(({ taskId }) => taskId)).toEqual(expected);
});

test("lists and events can continue from an archived task of the account, but not of another account", async () => {
  const [account, other] = [await newAccount(null), await newAccount(null)];
  const [old] = await addEntries(account, { from: 50, to: 40, count: 20 });
  const [recent] = await addEntries(account, { from: 3, to: 2, count: 1 });
  await run();
  expect(await inD1(account)).toBe(1);
  const event = (id: string) => id.replace("task_", "evt_");
  expect((await call(`/v1/tasks?after=${old}`, { key: account.key })).body).toEqual({ object: "list", data: [], has_more: false });
  const { body } = await call(`/v1/events?after=${event(old!)}`, { key: account.key });
  expect(body.data.map(({ task }: { task: string }) => task)).toEqual([recent]);
  for (const path of [`/v1/tasks?after=${old}`, `/v1/events?after=${event(old!)}`])
    expect((await call(path, { key: other.key })).body.error).toMatchObject({ param: "after" });
  for (const id of [`task_${"A".repeat(43)}`, toTaskId(env.TASKS.newUniqueId())])
    expect((await call(`/v1/events?after=${event(id)}`, { key: account.key })).body.error).toMatchObject({ param: "after" });
});

test("a damaged file causes an alert, does not stop the archive, and reading it is an error", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 50, to: 48, count: 10 });
  await run();
  const [file] = await readFiles(account);
  const whole = await (await env.ASSETS.get(file!))!.arrayBuffer();
  await env.ASSETS.put(file!, whole.slice(0, -40));
  const received = alertReceiver();
  for (let round = 0; readChanges(received, "archive_damaged").length === 0 && round < 30; round++) await runOnce();
  expect(readChanges(received, "archive_damaged")).toEqual([["alert.began", [file]]]);
  await expect(async () => readAll(account)).rejects.toThrow("is not readable");
  await addEntries(account, { from: 49, to: 48, count: 10 });
  await run();
  expect([await inD1(account), (await readParts(account)).length]).toEqual([0, 2]);
  await env.ASSETS.put(file!, whole);
  expect(await readAll(account)).toHaveLength(20);
  for (let round = 0; readChanges(received, "archive_damaged").length < 2 && round < 30; round++) await runOnce();
  expect(readChanges(received, "archive_damaged").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("a restored database finds its files again, and the entries that it has again are archived again", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 60, to: 50, count: 30 });
  await run();
  await addEntries(account, { from: 55, to: 1, count: 30 });
  const expected = await readAll(account);
  const backup = await backUp();
  const [file] = (await readParts(account)).map((part) => part.file);
  await run();
  expect((await readParts(account)).map((part) => part.file)).not.toContain(file);
  await restore(backup);
  expect(await readAll(account)).toEqual(expected);
  await run();
  expect(await readAll(account)).toEqual(expected);
  expect(await readDrift(account)).toEqual([]);
  // Files that no row refers to are deleted once no backup can refer to them either.
  const named = (await readParts(account)).map((part) => part.file);
  expect((await readFiles(account)).length).toBeGreaterThan(named.length);
  await sweepArchive(env, Date.now() + 35 * dayMs);
  expect((await readFiles(account)).length).toBeGreaterThan(named.length);
  for (let round = 0; round < 3; round++) await sweepArchive(env, Date.now() + 37 * dayMs);
  expect((await readFiles(account)).sort()).toEqual(named.sort());
});

test("the archive contains no references of an erased account; its amounts stay, also after a database restore", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 70, to: 40, count: 60 });
  await run();
  await addEntries(account, { from: 71, to: 1, count: 30 });
  await run();
  const before = await readAll(account);
  const text = async () => JSON.stringify(await Promise.all((await readParts(account)).map((part) => readPart(env.ASSETS, part))));
  expect(await text()).toContain("order ");
  const [files, backup] = [await readFiles(account), await backUp()];
  const bucket = bindings.bucket();
  const put = bucket["put"]!;
  const broken = vi.spyOn(bucket, "put").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    const stored = await put.apply(this, values);
    if (String(values[0]).startsWith("archive/")) throw new Error("scripted fault");
    return stored;
  });
  expect((await asAdmin(`/accounts/${account.id}`, { method: "DELETE" })).status).toBe(500);
  broken.mockRestore();
  expect((await asAdmin(`/accounts/${account.id}`, { method: "DELETE" })).status).toBe(204);
  expect(await text()).not.toContain("order ");
  for (const file of await readFiles(account)) expect(files).not.toContain(file);
  expect((await readFiles(account)).sort()).toEqual((await readParts(account)).map((part) => part.file).sort());
  const amounts = (entries: Entry[]) => entries.map(({ taskId, held, charged }) => [taskId, held, charged]);
  expect(amounts(await readAll(account))).toEqual(amounts(before));
  expect(await readDrift(account)).toEqual([]);
  await restore(backup);
  expect(amounts(await readAll(account))).toEqual(amounts(before));
});

test("a bucket that lists fewer files than it was asked for hides none from an erasure and from the removal of unused files", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 100, to: 40, count: 30 });
  await run();
  const files = await readFiles(account);
  expect(files.length).toBeGreaterThan(1);
  const bucket = bindings.bucket();
  const list = bucket["list"]!;
  const listOne = () =>
    vi.spyOn(bucket, "list").mockImplementation(function (this: unknown, options: unknown) {
      return list.call(this, { ...(options as R2ListOptions), limit: 1 });
    });
  const short = listOne();
  expect((await asAdmin(`/accounts/${account.id}`, { method: "DELETE" })).status).toBe(204);
  short.mockRestore();
  for (const file of await readFiles(account)) expect(files).not.toContain(file);

  const unused = `archive/${account.id}/9999-12/1-1-unused.jsonl.gz`;
  await env.ASSETS.put(unused, "");
  const { objects } = await env.ASSETS.list({ prefix: "archive/" });
  const shortAgain = listOne();
  for (let round = 0; round <= objects.length; round++) await sweepArchive(env, Date.now() + 37 * dayMs);
  shortAgain.mockRestore();
  expect(await env.ASSETS.head(unused)).toBeNull();
});

test("the pages of ended tasks are deleted with their last task, and those of later tasks stay", async () => {
  const account = await newAccount(null);
  const end = async (name: string, days: number[]) => {
    const entries = days.map((ago, n) => settledImage(account, `task_${name}_${n}`, Date.now() - ago * dayMs));
    await writeEntries(env.DB, account.id, 0, entries);
  };
  const pages = async () =>
    (await env.DB.prepare("SELECT tasks FROM ended_page WHERE account_id = ?1 ORDER BY ended_at").bind(account.id).run()).results.map(
      ({ tasks }) => JSON.parse(tasks as string),
    );
  await end("first", [50, 49]);
  await end("second", [40, 20]);
  await end("third", [10, 1]);
  expect(await pages()).toHaveLength(3);
  await run();
  expect([await inD1(account), await archived(account)]).toEqual([3, 3]);
  expect(await pages()).toEqual([
    ["task_second_0", "task_second_1"],
    ["task_third_0", "task_third_1"],
  ]);
  vi.setSystemTime(Date.now() + 30 * dayMs);
  await run();
  expect(await pages()).toEqual([["task_third_0", "task_third_1"]]);
  vi.setSystemTime(Date.now() + 30 * dayMs);
  await run();
  expect([await inD1(account), await pages()]).toEqual([0, []]);
});

test("a wallet does not write an archived entry again after a database restore", async () => {
  const account = await newAccount(10);
  await complete(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const { used: price } = await readBalance(account);
  vi.setSystemTime(Date.now() + 40 * dayMs);
  await run();
  expect([await inD1(account), await archived(account)]).toEqual([0, 1]);
  const backup = await backUp();
  // In the same page of the wallet's storage as the archived entry.
  await complete(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const before = await readBalance(account);
  await restore(backup);
  await asAdmin(`/reconcile?account=${account.id}`, { method: "POST" });
  expect(await readBalance(account)).toEqual(before);
  expect(before.used).toBeCloseTo(2 * price, 6);
  expect(await inD1(account)).toBe(1);
  expect(await readDrift(account)).toEqual([]);
});

test("an audit that continues slice by slice finds no drift in entries that are archived meanwhile", async () => {
  const account = await newAccount(null);
  await addEntries(account, { from: 60, to: 5, count: 1_200 });
  const step = (slices: number) => audit(env.DB, new Objects(env), undefined, slices);
  // Continues to the middle of this account's entries, in the round that reaches it.
  let found = await step(1);
  for (let turn = 0; found.current !== account.id && turn < 200; turn++) found = await step(1);
  expect(found).toMatchObject({ current: account.id, isComplete: false });
  for (const LEDGER_DAYS of ["59", "50", "30", "9"]) {
    await run({ LEDGER_DAYS });
    found = await step(1);
    expect(found.drift.map(({ id }) => id)).not.toContain(account.id);
  }
  for (let turn = 0; !found.isComplete && turn < 200; turn++) found = await step(1);
  expect(found.drift.filter(({ id }) => [account.id, account.keyId].includes(id))).toEqual([]);
  // A charge without an entry in the ledger is found, archived or not.
  await env.DB.prepare("UPDATE archive_sum SET charged = charged - 1 WHERE account_id = ?1").bind(account.id).run();
  expect(await readDrift(account)).toHaveLength(2);
});

test("the regular jobs do not change a task that ends today, and a fault of one job does not stop the others", async () => {
  const account = await newAccount(10);
  const id = await complete(account, "/v1/images/generations", { model: "imgA-4", prompt: unique(), reference: "mine" });
  await readBalance(account);
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  await env.DB.prepare("INSERT INTO invitation VALUES ('old', ?1, 1)").bind(account.id).run();
  await runUpkeep({ DB: env.DB, ASSETS: env.ASSETS, LEDGER_DAYS: "none" }, new Objects(env));
  expect(errors.mock.calls.flat().join()).toContain("the variable LEDGER_DAYS must be a whole number");
  expect(await env.DB.prepare("SELECT 1 FROM invitation WHERE token_hash = 'old'").first()).toBeNull();
  await runUpkeep({ DB: env.DB, ASSETS: env.ASSETS }, new Objects(env));
  expect((await call("/v1/tasks?reference=mine", { key: account.key })).body.data.map((task: { id: string }) => task.id)).toEqual([id]);
});

test("one run deletes as many expired rows as a busy account makes in five minutes, so that none of its tables grows for ever", async () => {
  const account = await newAccount();
  const numbers = JSON.stringify(Array.from({ length: 1_600 }, (_, at) => `${account.id}-${at}`));
  const insert = (sql: string) => env.DB.prepare(`INSERT INTO ${sql} FROM json_each(?2)`).bind(account.id, numbers);
  await env.DB.batch([
    insert("delivery_event (task_id, account_id, at, outcome) SELECT value, ?1, 1, 'delivered'"),
    insert("audit_log (account_id, at, id, act, actor) SELECT ?1, 1, value, 'webhook_changed', 'key'"),
    insert(
      "file (account_id, id, type, bytes, object, created_at, expires_at) SELECT ?1, 'file_' || value, 'image/png', 1, 'files/' || value, 1, 2",
    ),
  ]);
  await expire(env, Date.now());
  for (const table of ["delivery_event", "audit_log", "file"]) {
    const left = env.DB.prepare(
      `SELECT count(*) AS count FROM ${table} WHERE account_id = ?1 AND ${table === "file" ? "expires_at" : "at"} < 3`,
    );
    expect(await left.bind(account.id).first("count"), table).toBe(0);
  }
});

test("expired rows are deleted, and daily sums older than thirteen months are replaced by monthly ones", async () => {
  const account = await newAccount(null);
  const now = Date.now();
  const old = Date.UTC(new Date(now).getUTCFullYear() - 2, 2);
  await env.DB.batch([
    env.DB.prepare("UPDATE account SET created_at = ?2 WHERE id = ?1").bind(account.id, old + 5 * dayMs),
    env.DB.prepare("DELETE FROM upkeep WHERE job = 'sums'"),
    ...[old, old + 3 * dayMs, old + 20 * dayMs, old + 31 * dayMs, old + 33 * dayMs].map((day) =>
      env.DB.prepare("INSERT INTO spending VALUES (?1, ?2, 'imgA-4', ?3, 10, 1, 1, 0)").bind(account.id, day, account.keyId),
    ),
    env.DB.prepare("INSERT INTO spending VALUES (?1, ?2, 'imgA-4', ?3, 7, 1, 1, 0)").bind(account.id, now - (now % dayMs), account.keyId),
    env.DB.prepare("UPDATE wallet SET used = 57 WHERE id IN (?1, ?2)").bind(account.id, account.keyId),
    ...[30, 40].map((days) =>
      env.DB.prepare(
        `INSERT INTO character (id, account_id, username, display_name, model, provider, picture_type, picture_digest, created_at, deleted_at)
         VALUES (?1, ?2, '', '', 'vidA-2', 'sandbox', 'image/png', '', 1, ?3)`,
      ).bind(`ch_${days}_${account.id}`, account.id, now - days * dayMs),
    ),
  ]);
  const usage = async () => {
    const { results } = await env.DB.prepare("SELECT day, charged FROM spending WHERE account_id = ?1 ORDER BY day").bind(account.id).run();
    return results.map(({ day, charged }) => [day, charged]);
  };
  for (let turn = 0; turn < 60; turn++) await expire(env, now);
  expect(await usage()).toEqual([
    [old, 30],
    [old + 31 * dayMs, 20],
    [now - (now % dayMs), 7],
  ]);
  const characters = await env.DB.prepare("SELECT id FROM character WHERE account_id = ?1").bind(account.id).run();
  expect(characters.results).toEqual([{ id: `ch_30_${account.id}` }]);
});
