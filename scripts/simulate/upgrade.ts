/** `npm run tools -- upgrade ENTRIES NUMBER`: times each statement of the migrations from the one with this number on, on a database file with this many settled entries. */

import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { applyMigration, type MigratedDatabase, migrationNames, readMigration } from "../support/migrations.ts";

const [entries = 8_000_000, from = 2] = process.argv.slice(2).map(Number);
const migrations = join(import.meta.dirname, "../../migrations");
/** D1 ends a call after this time, and each step of a migration is one call. */
const limitMs = 30_000;
/** Faster statements are not printed. */
const shownMs = 100;
const perStatement = 500_000;

const folder = mkdtempSync(join(tmpdir(), "upgrade-"));
const file = join(folder, "d1.sqlite");
const sqlite = new DatabaseSync(file);
// Little memory: D1 has 128 MB for all that it does.
sqlite.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -32000");

const toSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const timed = (sql: string) => {
  const started = performance.now();
  sqlite.exec(sql);
  return performance.now() - started;
};

/** Applies a migration like a deployment does. Returns the duration of each call. */
async function apply(name: string): Promise<number[]> {
  const calls: number[] = [];
  const database: MigratedDatabase = {
    applied: async () => [],
    hasRow: async (query) => sqlite.prepare(query).get() !== undefined,
    async commit(statements) {
      const times = ["BEGIN", ...statements, "COMMIT"].map((sql) => [sql, timed(sql)] as const);
      for (const [sql, ms] of times) if (ms > shownMs) console.log(`${toSeconds(ms)}  ${name}: ${sql.slice(0, 90)}`);
      calls.push(times.reduce((sum, [, ms]) => sum + ms, 0));
    },
  };
  await applyMigration(name, readMigration(readFileSync(join(migrations, name), "utf8")), database);
  return calls;
}

// A task in five is a chat, one in ten failed; the first of a hundred accounts has half of the entries.
const insert = (first: number, count: number) => `
  WITH RECURSIVE n (i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${first + count - 1})
  INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
  SELECT 'task_' || lower(hex(randomblob(21))) || 'x', 'acc_' || printf('%022d', iif(i % 2, 0, i % 200 / 2) * 7919 * 1000003),
    'key_' || printf('%022d', i % 300), CASE i % 5 WHEN 0 THEN 'chat' WHEN 1 THEN 'video' ELSE 'image' END, 'model-' || i % 12, 30000, 30000,
    iif(i % 10, 'completed', 'provider_error'), 1760000000000 + i * 75, 1760000000000 + i * 75 + 20000 FROM n`;

try {
  const names = await migrationNames(migrations);
  const isMeasured = (name: string) => Number(name.slice(0, 4)) >= from;
  for (const name of names.filter((one) => !isMeasured(one))) await apply(name);
  for (let first = 0; first < entries; first += perStatement) sqlite.exec(insert(first, Math.min(perStatement, entries - first)));
  sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  console.log(`${entries} entries, ${Math.round(statSync(file).size / 1e6)} MB`);
  for (const name of names.filter(isMeasured)) {
    const calls = await apply(name);
    const longest = Math.max(...calls);
    const total = calls.reduce((sum, ms) => sum + ms, 0);
    console.log(
      `${longest > limitMs ? "TOO LONG " : ""}${name}: ${toSeconds(total)}, calls: ${calls.length}, the longest ${toSeconds(longest)}`,
    );
  }
  sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  console.log(`after it ${Math.round(statSync(file).size / 1e6)} MB`);
} finally {
  sqlite.close();
  rmSync(folder, { recursive: true });
}
