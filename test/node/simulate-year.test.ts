/** The simulated year (`npm run tools -- year`), smaller: the database stops growing, the archive gets the rest, and every charge is in one of them. */

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { simulate, type Day, type Plan } from "../../scripts/simulate/run.ts";
import { entryReader } from "../../src/storage/archived-entries.ts";
import { audit } from "../../src/db/audit.ts";

afterEach(() => vi.useRealTimers());

const from = Date.UTC(2027, 0, 1);
const none = { granted: 0, isGrantRight: true, held: 0, open: 0, lost: 0 };

async function run(plan: Pick<Plan, "tasks" | "days" | "vars">) {
  const folder = await mkdtemp(join(tmpdir(), "archive-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  vi.useFakeTimers({ toFake: ["Date"], now: from });
  const simulation = simulate({ accounts: 3, chatEvery: 5, runsPerDay: 1, folder, setTime: (ms) => vi.setSystemTime(ms), ...plan }, from);
  const days: Day[] = [];
  for await (const day of simulation.days) days.push(day);
  return { ...simulation, days };
}

/**
 * 10 tasks a second for the week and 70 minutes, to a whole hour, that they stay at least are 3 GB at 489 bytes each. Here pages fill evenly, because
 * nothing is deleted yet: the same rows take 6 % more later. One column of an id, or one more index, is above the limit.
 */
const maxBytesPerEntry = 440;

test("twenty thousand tasks in sixty days: five weeks of them stay in D1, and lists and audit include all", async () => {
  const { db, bucket, accounts, days } = await run({ tasks: 20_000, days: 60, vars: {} });
  const [steady, last] = [days.at(41)!, days.at(-1)!];
  const [early, late] = [days.at(1)!, days.at(33)!];
  expect((late.bytes - early.bytes) / (late.rows - early.rows)).toBeLessThan(maxBytesPerEntry);
  for (const { rows, archived, tasks, damaged } of days) expect([rows + archived, damaged]).toEqual([tasks, []]);
  expect(last.rows).toBeLessThanOrEqual((20_000 / 60) * 37);
  expect(last.rows).toBeLessThan(1.05 * steady.rows);
  // Only daily sums and one row per file grow.
  expect(last.bytes).toBeLessThan(1.2 * steady.bytes);
  expect(last.fileBytes).toBeGreaterThan(0);
  const found = await audit(db, { auditWallet: async () => none }, undefined, Number.MAX_SAFE_INTEGER);
  expect(found).toMatchObject({ accounts: 3, drift: [], isComplete: true });
  let entries = 0;
  for (const account of accounts) {
    const read = entryReader(db, bucket, account);
    for (
      let page = await read({ since: 0, limit: 3_000 });
      page.length > 0;
      page = await read({ since: 0, limit: 3_000, after: page.at(-1) })
    )
      entries += page.length;
  }
  expect(entries).toBe(20_000);
});

test("if the database would exceed its limit, entries are archived as soon as the records of their tasks are deleted", async () => {
  const { days } = await run({ tasks: 8_000, days: 16, vars: { LEDGER_MAX_MB: "2" } });
  const perDay = 8_000 / 16;
  const last = days.at(-1)!;
  expect(last.rows + last.archived).toBe(8_000);
  expect(last.rows).toBeLessThanOrEqual(8 * perDay);
  expect(last.rows).toBeGreaterThanOrEqual(7 * perDay);
});

test("`npm run tools -- year` runs as a program, which loads the gateway's text files without a bundler", async () => {
  const { stdout } = await promisify(execFile)("npm", ["run", "--silent", "tools", "--", "year", "500", "2"], {
    cwd: join(import.meta.dirname, "../.."),
  });
  expect(stdout).toContain("found 0 differences");
});
