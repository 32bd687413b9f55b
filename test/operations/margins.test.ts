/** The operator's sums: what is settled is in them once, in days of accounts, hours and health of routes, whenever the jobs run. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type SettledEntry, writeEntries } from "../../src/db/grants.ts";
import { readMargins } from "../../src/db/margins.ts";
import { readHours, readProviderHealth, readRouteHealth } from "../../src/db/operator-series.ts";
import { foldSettled } from "../../src/db/settled-sums.ts";
import { sumAccountDays } from "../../src/operations/account-days.ts";
import { type Account, asAdmin, holdTime, newAccount } from "../support/gateway.ts";
import { alertReceiver, readChanges, runOnce } from "./support.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
let entries = 0;

beforeEach(holdTime);
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  const tables = ["alert", "settled_sum", "settled_hour", "account_day", "upkeep", "entry", "spending"];
  await env.DB.batch(tables.map((table) => env.DB.prepare(`DELETE FROM ${table}`)));
});

/** Settles tasks of an account; `seconds` is how long each took. */
async function settle(account: Account, closedAt: number, count: number, more: Partial<SettledEntry> & { seconds?: number } = {}) {
  const { seconds = 4, ...changed } = more;
  const all = Array.from({ length: count }, (_, at): SettledEntry => ({
    taskId: `task_${++entries}`,
    keyId: account.keyId,
    kind: "image",
    model: "imgA-4",
    held: 30_000,
    charged: 30_000,
    outcome: "completed",
    at: closedAt - 1_000 * seconds,
    closedAt: closedAt + at,
    attempts: [{ route: "0 fal seedream", cost: 20_000 }],
    ...changed,
  }));
  await writeEntries(env.DB, account.id, 0, all, { isGranted: false });
  return all;
}

const total = (rows: { revenue: number; cost: number; completed: number; failed: number; uncosted: number }[]) =>
  rows.reduce(
    (sum, row) => ({
      revenue: sum.revenue + row.revenue,
      cost: sum.cost + row.cost,
      completed: sum.completed + row.completed,
      failed: sum.failed + row.failed,
      uncosted: sum.uncosted + row.uncosted,
    }),
    { revenue: 0, cost: 0, completed: 0, failed: 0, uncosted: 0 },
  );

test("settlements of three days are in the margins once, before and after they are folded and summed, by each group", async () => {
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  const [one, other] = [await newAccount(), await newAccount()];
  for (const daysAgo of [3, 2, 1]) {
    const noon = today - daysAgo * dayMs + dayMs / 2;
    await settle(one, noon, 3);
    await settle(other, noon + hourMs, 2, { outcome: "provider_error", charged: 0, attempts: [{ route: "0 fal seedream", cost: 5_000 }] });
    await settle(other, noon + 2 * hourMs, 1, { model: "imgC-3", attempts: [{ route: "0 google nano", cost: null }] });
  }
  // The last millisecond of a day.
  await settle(one, today - dayMs - 1, 1);
  const span = { first: today - 3 * dayMs, last: today - dayMs };
  const expected = { revenue: 13 * 30_000, cost: 10 * 20_000 + 6 * 5_000, completed: 13, failed: 6, uncosted: 3 };
  const readAll = () => Promise.all((["model", "route", "account", "day"] as const).map((group) => readMargins(env.DB, span, group)));
  const before = await readAll();
  for (const rows of before) expect(total(rows)).toEqual(expected);
  vi.setSystemTime(today + 4 * hourMs);
  for (let round = 0; round < 2; round++) {
    await foldSettled(env.DB, Date.now());
    await sumAccountDays(env, Date.now());
    expect(await readAll()).toEqual(before);
  }
  expect(await env.DB.prepare("SELECT count(*) AS n FROM settled_hour").first("n")).toBeGreaterThan(3);
  expect(await env.DB.prepare("SELECT count(*) AS n FROM account_day").first("n")).toBe(6);
  // The archive takes the entries away: the days of accounts stay.
  await env.DB.prepare("DELETE FROM entry").run();
  expect(await readAll()).toEqual(before);
  expect(await readMargins(env.DB, { first: span.first, last: span.first }, "account")).toEqual([
    { name: one.id, revenue: 90_000, cost: 60_000, completed: 3, failed: 0, uncosted: 0 },
    { name: other.id, revenue: 30_000, cost: 10_000, completed: 1, failed: 2, uncosted: 1 },
  ]);
});

test("an entry that is written after its hour was folded is added to it", async () => {
  const account = await newAccount();
  const hour = Math.floor(Date.now() / hourMs) * hourMs - 30 * hourMs;
  await settle(account, hour + 1_000, 2, { seconds: 4 });
  await foldSettled(env.DB, Date.now());
  await settle(account, hour + 2_000, 1, { seconds: 400 });
  await foldSettled(env.DB, Date.now());
  const rows = await env.DB.prepare("SELECT hour, route, completed, charged, cost, p50 FROM settled_hour").all();
  expect(rows.results).toEqual([{ hour, route: "fal seedream", completed: 3, charged: 90_000, cost: 60_000, p50: 19 }]);
  expect(await readHours(env.DB, hour, hour + hourMs)).toEqual([
    { hour, revenue: 90_000, cost: 60_000, completed: 3, failed: 0, caller: 0 },
  ]);
});

test("the health of routes counts attempts that another route followed, and what tasks took", async () => {
  const account = await newAccount();
  const now = Date.now();
  await settle(account, now - 2_000, 90, { seconds: 4 });
  await settle(account, now - 2_000, 10, { seconds: 60 });
  const attempts = [
    { route: "0 replicate slow", cost: 0 },
    { route: "1 fal seedream", cost: 20_000 },
  ];
  await settle(account, now - 1_000, 3, { attempts });
  await settle(account, now - 1_000, 1, { outcome: "cancelled", charged: 0 });
  const health = await readRouteHealth(env.DB, now - hourMs, now);
  expect(health).toMatchObject([
    { provider: "fal", model: "seedream", calls: 104, completed: 103, failures: 0, revenue: 103 * 30_000, state: "ok" },
    { provider: "replicate", model: "slow", calls: 3, completed: 0, failures: 3, p50: null, p95: null, spend: 0, state: "down" },
  ]);
  expect(health[0]!.p50).toBeGreaterThan(3.5);
  expect(health[0]!.p50).toBeLessThan(4.5);
  expect(health[0]!.p95).toBeGreaterThan(50);
});

test("a route whose makers bill more than callers paid: an alert begins and ends", async () => {
  const account = await newAccount();
  const received = alertReceiver();
  const dear = { attempts: [{ route: "0 fal dear", cost: 40_000 }] };
  await settle(account, Date.now() - 60_000, 9, dear);
  await runOnce();
  expect(readChanges(received, "route_loses_money")).toEqual([]);
  await settle(account, Date.now() - 50_000, 1, dear);
  await settle(account, Date.now() - 50_000, 20);
  await runOnce();
  expect(readChanges(received, "route_loses_money")).toEqual([["alert.began", ["fal dear"]]]);
  vi.setSystemTime(Date.now() + 25 * hourMs);
  await runOnce();
  expect(readChanges(received, "route_loses_money").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("a few attempts that cost much more than callers paid are a loss too, the largest first, over all times of the day", async () => {
  const account = await newAccount();
  const received = alertReceiver();
  const settleAt = (minutes: number, route: string, cost: number) =>
    settle(account, Date.now() - minutes * 60_000, 1, { attempts: [{ route: `0 fal ${route}`, cost }] });
  await settleAt(31, "grand", 1_029_999);
  await runOnce();
  expect(readChanges(received, "route_loses_money")).toEqual([]);
  await settleAt(1, "grand", 30_001);
  await settleAt(31, "huge", 1_000_000);
  await settleAt(21, "huge", 1_000_000);
  await settleAt(1, "huge", 10_000);
  await runOnce();
  expect(readChanges(received, "route_loses_money")).toEqual([["alert.began", ["fal huge", "fal grand"]]]);
});

test("the operator's table of margins", async () => {
  const account = await newAccount();
  await settle(account, Date.now(), 2, { model: 'a "b"' });
  const { status, headers, body } = await asAdmin("/margins?format=csv");
  expect([status, headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"]);
  expect(new TextDecoder().decode(body as ArrayBuffer)).toBe(
    'model,revenue,cost,margin,completed,failed,uncosted\r\n"a ""b""",0.06,0.04,0.02,2,0,0\r\n',
  );
});

test("the health of providers is in steps, and its state is that of the last hour", async () => {
  const account = await newAccount();
  const now = Math.floor(Date.now() / hourMs) * hourMs + hourMs / 2;
  vi.setSystemTime(now);
  await settle(account, now - 5 * hourMs, 8, { seconds: 4 });
  const failed = { outcome: "provider_error" as const, charged: 0, attempts: [{ route: "0 fal other", cost: null }] };
  await settle(account, now - 1_000, 4, failed);
  await settle(account, now - 2 * hourMs, 2, { attempts: [{ route: "0 google nano", cost: 5_000 }] });
  // Of the day before, folded into hours.
  await settle(account, now - 30 * hourMs, 3, { attempts: [{ route: "0 google nano", cost: 5_000 }] });
  await foldSettled(env.DB, now);
  const read = (hours: number) =>
    readProviderHealth(env.DB, {
      since: Math.floor(now / hourMs) * hourMs - (hours - 1) * hourMs,
      recent: now - hourMs,
      now,
      stepMs: hourMs,
    });
  expect(await read(24)).toMatchObject([
    {
      provider: "fal",
      calls: 12,
      failures: 4,
      spend: 160_000,
      uncosted: 4,
      state: "down",
      steps: [
        { calls: 8, failures: 0 },
        { calls: 4, failures: 4 },
      ],
    },
    { provider: "google", calls: 2, failures: 0, state: "ok" },
  ]);
  expect(await read(48)).toMatchObject([{ provider: "fal" }, { provider: "google", calls: 5, spend: 25_000 }]);
});

test("the sums of the operator's page are found by ranges of their keys", async () => {
  const plans: string[] = [];
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
  const [from, now] = [Date.now() - dayMs, Date.now()];
  await readHours(env.DB, from, now);
  await readProviderHealth(env.DB, { since: from, recent: now - hourMs, now, stepMs: hourMs });
  const statements = prepare.mock.calls.map(([sql]) => sql);
  prepare.mockRestore();
  for (const sql of statements) {
    const bound = sql.includes("?2") ? [from, now] : [from];
    const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .bind(...bound)
      .run<{ detail: string }>();
    plans.push(...results.map(({ detail }) => detail).filter((detail) => /settled_/.test(detail)));
  }
  expect(plans.length).toBeGreaterThan(4);
  for (const plan of plans) expect(plan).toMatch(/^SEARCH settled_(sum|hour) USING PRIMARY KEY \((slot|hour)>\?/);
});
