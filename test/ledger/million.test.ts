/** An account with a million entries: lists, usage pages and slices of the audit read few rows. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { Objects } from "../../src/rpc/objects.ts";
import { entryReader } from "../../src/storage/archived-entries.ts";
import { builtInCatalog } from "../../src/catalog/catalog.ts";
import { audit } from "../../src/db/audit.ts";
import { listTasks, readCost, spentByDay, startOfDays } from "../../src/db/ledger-reports.ts";
import { listGrantedAccounts } from "../../src/db/accounts.ts";
import { bindings, spyOn } from "../support/faults.ts";
import { type Account, call, holdTime, newAccount, submit, unique } from "../support/gateway.ts";

holdTime();

const entries = 1_000_000;
const maxRows = 2_000;
const charge = 30_000;
let account: Account;

/** Generated in SQLite for speed. They cover 90 days, every tenth is a chat and every seventh failed. */
const generate = () =>
  env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${entries})
     INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
     SELECT printf('m%07d', i), ?1, ?2, iif(i % 10 = 0, 'chat', iif(i % 3 = 0, 'video', 'image')),
       iif(i % 10 = 0, 'textA-1', iif(i % 3 = 0, 'vidD-02', 'imgA-4')), ${charge}, iif(i % 7 = 0, 0, ${charge}),
       iif(i % 7 = 0, 'provider_error', 'completed'), CAST(?3 AS INTEGER) + i * 7776, CAST(?3 AS INTEGER) + i * 7776 + 5000
     FROM n`,
  ).bind(account.id, account.keyId, Date.now() - 60_000 - entries * 7776);

beforeAll(async () => {
  account = await newAccount(null);
  const { results: indexes } = await env.DB.prepare(
    "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'entry' AND sql IS NOT NULL",
  ).run<{ name: string; sql: string }>();
  // Indexes of existing rows are built ten times as fast.
  await env.DB.batch(indexes.map(({ name }) => env.DB.prepare(`DROP INDEX ${name}`)));
  await generate().run();
  for (const { sql } of indexes) await env.DB.prepare(sql).run();
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO spending SELECT account_id, at / 86400000 * 86400000, model, key_id, sum(charged), sum(held - charged),
         sum(outcome = 'completed'), sum(outcome <> 'completed')
       FROM entry WHERE account_id = ?1 GROUP BY 1, 2, 3, 4`,
    ).bind(account.id),
    env.DB.prepare("UPDATE wallet SET used = (SELECT sum(charged) FROM spending WHERE account_id = ?1) WHERE id IN (?1, ?2)").bind(
      account.id,
      account.keyId,
    ),
  ]);
}, 120_000);

interface Read {
  meta: { rows_read: number };
}

/** Rows that D1 read since then, per single statement and batch: this is what blocks the database. */
function rowsRead(): () => Promise<{ most: number; sum: number }> {
  const single = [spyOn(bindings.statement(), "run").mockClear(), spyOn(bindings.statement(), "all").mockClear()];
  const batches = spyOn(bindings.database(), "batch").mockClear();
  return async () => {
    const runs = await Promise.all(single.flatMap(({ mock }) => mock.results.map((result) => result.value as Promise<Read>)));
    const transactions = await Promise.all(batches.mock.results.map((result) => result.value as Promise<Read[]>));
    const counts = [...runs.map((run) => [run]), ...transactions].map((reads) => reads.reduce((sum, { meta }) => sum + meta.rows_read, 0));
    return { most: Math.max(0, ...counts), sum: counts.reduce((sum, count) => sum + count, 0) };
  };
}

const all = builtInCatalog().live.flatMap(({ id, actions }) =>
  (["image", "video", "character", "remix"] as const).filter((kind) => actions[kind]).map((kind) => ({ model: id, kind: kind as string })),
);
const week = 7 * 86_400_000;

test.each([
  ["no filter", all, undefined, 0],
  ["no filter, deep", all, undefined, 3 * 86_400_000],
  ["completed", all, "completed", 0],
  ["failed", all, "failed", 86_400_000],
  ["open", all, "open", 0],
  ["a kind", all.filter(({ kind }) => kind === "video"), undefined, 0],
  ["a kind without tasks", all.filter(({ kind }) => kind === "remix"), undefined, 0],
  ["a model and an outcome", all.filter(({ model }) => model === "imgA-4"), "failed", 0],
] as const)("a page of tasks, %s", async (_, sorts, outcome, age) => {
  const rows = rowsRead();
  const after = age === 0 ? undefined : { at: Date.now() - age, taskId: "" };
  const page = await listTasks(env.DB, account.id, {
    limit: 101,
    after,
    sorts: [...sorts],
    isNarrowed: sorts.length < all.length,
    outcome,
    endedSince: Date.now() - week,
    longestMs: 600_000,
  });
  expect(page).toHaveLength(outcome === "open" || sorts[0]!.kind === "remix" ? 0 : 101);
  expect((await rows()).sum).toBeLessThanOrEqual(maxRows);
});

test.each([7, 30, 90])("a usage page of %i days, and a late page of the list", async (days) => {
  const since = startOfDays(days, Date.now());
  const rows = rowsRead();
  const spent = await spentByDay(env.DB, account.id, since);
  expect(new Set(spent.map(({ model }) => model))).toEqual(new Set(["textA-1", "imgA-4", "vidD-02"]));
  const page = await entryReader(env.DB, env.ASSETS, account.id)({ since, limit: 51 });
  expect(page).toHaveLength(51);
  const place = { at: Date.now() - (days - 1) * 86_400_000, taskId: "" };
  expect(await entryReader(env.DB, env.ASSETS, account.id)({ since, limit: 51, after: place })).toHaveLength(51);
  expect(await readCost(env.DB, account.id, page[0]!.taskId)).toBeDefined();
  expect((await rows()).sum).toBeLessThanOrEqual(maxRows);
});

test("a part of the CSV file of charges", async () => {
  const rows = rowsRead();
  expect(await entryReader(env.DB, env.ASSETS, account.id)({ since: 0, limit: 600 })).toHaveLength(600);
  expect((await rows()).most).toBeLessThanOrEqual(maxRows);
});

test("open tasks of all accounts, a submission, and its settlement written by its wallet", async () => {
  const rows = rowsRead();
  const body = { model: "imgA-4", prompt: unique() };
  const id = await submit(account, "/v1/images/generations", body);
  expect(await listGrantedAccounts(env.DB, 100)).toContain(account.id);
  await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  await env.WALLETS.getByName(account.id).writeEnded();
  expect(await readCost(env.DB, account.id, id)).toEqual({ held: 30_000, charged: 0 });
  expect((await rows()).sum).toBeLessThanOrEqual(maxRows);
});

test("the audit continues slice by slice to the end", async () => {
  await newAccount();
  const rows = rowsRead();
  const first = await audit(env.DB, new Objects(env));
  expect(first).toMatchObject({ isComplete: false, current: account.id, drift: [] });
  expect((await rows()).most).toBeLessThanOrEqual(maxRows);
  const second = await audit(env.DB, new Objects(env));
  expect(second.entries).toBeGreaterThan(first.entries);
  expect(second.startedAt).toBe(first.startedAt);
});
