/** `npm run tools -- year TASKS DAYS CHAT_EVERY`: ten million tasks in a year, or in other days, and the size of the database and the archive over time. Takes LEDGER_DAYS and LEDGER_MAX_MB. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { audit } from "../../src/db/audit.ts";
import { simulate } from "./run.ts";

const [tasks = 10_000_000, days = 365, chatEvery = 5] = process.argv.slice(2).map(Number);
const { LEDGER_DAYS = "", LEDGER_MAX_MB = "" } = process.env;
const folder = mkdtempSync(join(tmpdir(), "archive-"));
const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0).padStart(7);
const started = performance.now();
let now = Date.UTC(2027, 0, 1);
Date.now = () => now;

try {
  const rate = tasks / days / 86_400;
  console.log(`${tasks} tasks in ${days} days: ${rate.toFixed(2)} a second`);
  console.log("    day      tasks   rows in D1   MB of D1     archived   files  MB of files");
  const plan = {
    tasks,
    days,
    chatEvery,
    accounts: 12,
    runsPerDay: days > 60 ? 1 : 12,
    folder,
    vars: { LEDGER_DAYS, LEDGER_MAX_MB },
    setTime: (ms: number) => (now = ms),
  };
  const { db, days: all } = simulate(plan, now);
  let largest = 0;
  for await (const { day, tasks: written, rows, bytes, archived, files, fileBytes, damaged } of all) {
    largest = Math.max(largest, bytes);
    if (damaged.length > 0) throw new Error(`damaged: ${damaged.join()}`);
    if (rows + archived !== written) throw new Error(`${written} tasks, ${rows} rows in D1 and ${archived} in the archive`);
    if (day % Math.ceil(days / 26) !== 0 && day !== days) continue;
    const columns = [String(written).padStart(10), String(rows).padStart(12), `   ${megabytes(bytes)}`, String(archived).padStart(12)];
    console.log(`${String(day).padStart(7)} ${columns.join(" ")} ${String(files).padStart(7)} ${megabytes(fileBytes)}`);
  }
  const unlimited = Number.MAX_SAFE_INTEGER;
  const none = { granted: 0, isGrantRight: true, held: 0, open: 0, lost: 0 };
  const { accounts, drift } = await audit(db, { auditWallet: async () => none }, undefined, unlimited);
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(`at most ${megabytes(largest).trim()} MB; the audit of ${accounts} accounts found ${drift.length} differences; ${seconds} s`);
  if (drift.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
