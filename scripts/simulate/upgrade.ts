/** `npm run tools -- upgrade ENTRIES NUMBER`: times each statement of the migrations from the one with this number on, on a database file with this many settled entries. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { unstable_splitSqlQuery as splitStatements } from "wrangler";

const [entries = 8_000_000, from = 2] = process.argv.slice(2).map(Number);
const migrations = join(import.meta.dirname, "../../migrations");
/** D1 ends a statement after this time. */
const limitMs = 30_000;
const perStatement = 500_000;

const folder = mkdtempSync(join(tmpdir(), "upgrade-"));
const file = join(folder, "d1.sqlite");
const sqlite = new DatabaseSync(file);
// Little memory: D1 has 128 MB for all that it does.
sqlite.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -32000");

const readMigration = (name: string) => splitStatements(readFileSync(join(migrations, name), "utf8"));
const timed = (sql: string) => {
  const started = performance.now();
  sqlite.exec(sql);
  return performance.now() - started;
};

// A task in five is a chat, one in ten failed; the first of a hundred accounts has half of the entries.
const insert = (first: number, count: number) => `
  WITH RECURSIVE n (i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${first + count - 1})
  INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
  SELECT 'task_' || lower(hex(randomblob(21))) || 'x', 'acc_' || printf('%022d', iif(i % 2, 0, i % 200 / 2) * 7919 * 1000003),
    'key_' || printf('%022d', i % 300), CASE i % 5 WHEN 0 THEN 'chat' WHEN 1 THEN 'video' ELSE 'image' END, 'model-' || i % 12, 30000, 30000,
    iif(i % 10, 'completed', 'provider_error'), 1760000000000 + i * 75, 1760000000000 + i * 75 + 20000 FROM n`;

try {
  const names = readdirSync(migrations).sort();
  const isMeasured = (name: string) => Number(name.slice(0, 4)) >= from;
  for (const name of names.filter((one) => !isMeasured(one))) for (const sql of readMigration(name)) sqlite.exec(sql);
  for (let first = 0; first < entries; first += perStatement) sqlite.exec(insert(first, Math.min(perStatement, entries - first)));
  sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  console.log(`${entries} entries, ${Math.round(statSync(file).size / 1e6)} MB`);
  for (const name of names.filter(isMeasured)) {
    sqlite.exec("BEGIN");
    let total = 0;
    for (const sql of readMigration(name)) {
      const ms = timed(sql);
      total += ms;
      if (ms > 100)
        console.log(`${ms > limitMs ? "TOO LONG " : ""}${(ms / 1000).toFixed(1)} s  ${name}: ${sql.replace(/\s+/g, " ").slice(0, 90)}`);
    }
    const commitMs = timed("COMMIT");
    console.log(`${name}: ${(total / 1000).toFixed(1)} s, its commit ${(commitMs / 1000).toFixed(1)} s`);
  }
  sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  console.log(`after it ${Math.round(statSync(file).size / 1e6)} MB`);
} finally {
  sqlite.close();
  rmSync(folder, { recursive: true });
}
