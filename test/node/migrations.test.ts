/** Migrations are additive: the previous version's code runs on the new schema. Each migration is applied to a database that contains rows in all tables of the previous one. */

import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { expect, test } from "vitest";

const folder = new URL("../../migrations/", import.meta.url);
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".sql"))
  .sort();

/** The rows that the code of a migration's version writes into its tables; `n` makes ids unique. A new table needs a line here. */
const writes: Record<string, (n: string) => string> = {
  "0001": (n) => `
    INSERT INTO account (id, email, name, created_at) VALUES ('acc_${n}', '${n}@example.com', 'Name', 1);
    INSERT INTO wallet (id, quota) VALUES ('acc_${n}', 1000), ('key_${n}', NULL);
    INSERT INTO api_key (id, account_id, name, hash, prefix, created_at) VALUES ('key_${n}', 'acc_${n}', 'k', 'hash${n}', 'sk-', 1);
    INSERT INTO entry (task_id, step, account_id, key_id, kind, model, held, at) VALUES
      ('task_open_${n}', 'reserve', 'acc_${n}', 'key_${n}', 'image', 'imgA-4', 40, 1),
      ('task_${n}', 'reserve', 'acc_${n}', 'key_${n}', 'video', 'vidA-2', 100, 2);
    INSERT INTO entry (task_id, step, account_id, key_id, kind, model, held, charged, outcome, at) VALUES
      ('task_${n}', 'close', 'acc_${n}', 'key_${n}', 'video', 'vidA-2', 100, 60, 'completed', 3);
    INSERT INTO character (id, account_id, username, display_name, model, picture_type, picture_digest, created_at) VALUES
      ('ch_${n}', 'acc_${n}', 'fox', 'Fox', 'vidA-2', 'image/png', 'digest', 1);`,
  "0002": (n) => `
    INSERT INTO auth_user VALUES ('u_${n}', 'Name', '${n}@example.com', 1, NULL, '2026', '2026');
    INSERT INTO auth_session VALUES ('s_${n}', 'u_${n}', 'token${n}', '2027', NULL, NULL, '2026', '2026');
    INSERT INTO auth_account (id, userId, accountId, providerId, createdAt, updatedAt) VALUES ('l_${n}', 'u_${n}', 'a', 'credential', '2026', '2026');
    INSERT INTO auth_verification (id, identifier, value, expiresAt) VALUES ('v_${n}', 'i', 'v', '2027');
    INSERT INTO auth_rate_limit VALUES ('r_${n}', 'key${n}', 1, 1);
    INSERT INTO member (user_id, account_id, created_at) VALUES ('u_${n}', 'acc_${n}', 1);`,
  "0003": (n) => `INSERT INTO invitation VALUES ('hash${n}', 'acc_${n}', 2);`,
  "0007": (n) => `
    INSERT INTO auth_passkey (id, publicKey, userId, credentialID, counter, deviceType, backedUp) VALUES ('p_${n}', 'k', 'u_${n}', 'c${n}', 0, 'd', 0);`,
  "0009": (n) => `
    INSERT INTO spending VALUES ('acc_${n}', 86400000, 'other', 'key_${n}', 5, 1, 1, 0);
    INSERT INTO audit_progress VALUES (1, '{}') ON CONFLICT DO UPDATE SET state = excluded.state;`,
  "0010": (n) => `
    UPDATE wallet SET reserved = reserved + 10, granted = granted + 10, revision = revision + 1 WHERE id = 'acc_${n}';
    INSERT INTO entry (task_id, step, account_id, key_id, kind, model, held, charged, outcome, at, closed_at) VALUES
      ('task_wallet_${n}', 'reserve', 'acc_${n}', 'key_${n}', 'image', 'imgA-4', 40, 40, 'completed', 4, 5);`,
  "0011": (n) => `UPDATE wallet SET budget = 500, budget_window = 'day' WHERE id = 'key_${n}';`,
  "0013": (n) => `
    INSERT INTO task_reference VALUES ('acc_${n}', 'mine', 1, 'task_${n}');
    INSERT INTO typical_time VALUES ('image imgA-4 ${n}', '[1]');`,
  "0014": (n) => `INSERT INTO webhook (account_id, url, secret) VALUES ('acc_${n}', 'https://receiver.example/', 'whsec_');`,
  "0016": (n) => `
    INSERT INTO alert (name, began_at, causes) VALUES ('alert_${n}', 1, '[]');
    INSERT INTO incident VALUES ('provider', 'p_${n}', 1);
    INSERT INTO check_progress VALUES (1, '{}') ON CONFLICT DO UPDATE SET state = excluded.state;
    INSERT INTO outcome_sum VALUES (0, 'image ${n}', 1, 8, 1);
    INSERT INTO erasure VALUES ('acc_${n}', 1, 1, '');`,
  "0018": (n) => `
    INSERT INTO archive_part VALUES ('acc_${n}', 0, 1, 'archive/${n}', 2, 0, 10, 10, 1, 2);
    INSERT INTO archive_sum VALUES ('acc_${n}', 'key_${n}', 2, 10);
    INSERT INTO upkeep VALUES ('archive_${n}', '{}');`,
  "0022": (n) => `
    INSERT INTO request_page VALUES ('acc_${n}', 1, 2, 1, '{}');
    INSERT INTO quota_change (account_id, at, before, after) VALUES ('acc_${n}', 1, NULL, 100);`,
  "0027": (n) => `
    INSERT INTO ended_page VALUES ('acc_${n}', 5, '["task_paged_${n}"]');
    INSERT INTO entry (task_id, step, account_id, key_id, kind, model, held, charged, outcome, at, closed_at, paged) VALUES
      ('task_paged_${n}', 'reserve', 'acc_${n}', 'key_${n}', 'image', 'imgA-4', 40, 40, 'completed', 4, 5, 1);`,
  "0026": (n) => `UPDATE account SET keys_revision = 1 WHERE id = 'acc_${n}';`,
};

type Row = Record<string, SQLOutputValue>;
interface Column {
  name: string;
  type: string;
  pk: number;
}

const toNumber = (name: string) => name.slice(0, 4);

function readAll(db: DatabaseSync): Map<string, { columns: Column[]; rows: Map<string, Row> }> {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all() as { name: string }[];
  return new Map(
    tables.map(({ name }) => {
      const columns = db.prepare(`SELECT name, type, pk FROM pragma_table_info('${name}')`).all() as unknown as Column[];
      const keys = columns.filter(({ pk }) => pk > 0).map((column) => column.name);
      const rows = db.prepare(`SELECT * FROM ${name}`).all() as Row[];
      return [name, { columns, rows: new Map(rows.map((row) => [JSON.stringify(keys.map((key) => row[key])), row])) }];
    }),
  );
}

test("each migration keeps earlier tables, columns and rows, and the previous version can still write", () => {
  const db = new DatabaseSync(":memory:");
  db.exec("PRAGMA foreign_keys = ON");
  for (const [at, name] of names.entries()) {
    const before = readAll(db);
    for (const [table, { rows }] of before) expect(rows.size, `${table} needs a line in "writes"`).toBeGreaterThan(0);
    db.exec(`BEGIN; ${readFileSync(new URL(name, folder), "utf8")}; COMMIT`);
    const after = readAll(db);
    for (const [table, { columns, rows }] of before) {
      expect(after.get(table)?.columns, `${name}: ${table}`).toEqual(expect.arrayContaining(columns));
      for (const [key, row] of rows) {
        const kept = after.get(table)?.rows.get(key) ?? {};
        // A migration may fill in empty columns: the previous version's code did not read them.
        const changed = columns.filter(
          (column) => row[column.name] !== kept[column.name] && row[column.name] !== null && row[column.name] !== 0,
        );
        expect(changed, `${name}: ${table} ${key}`).toEqual([]);
      }
    }
    for (const [written, revision] of [
      ["before", names.slice(0, at)],
      ["now", names.slice(0, at + 1)],
    ] as const)
      for (const migration of revision) db.exec(writes[toNumber(migration)]?.(`${written}_${toNumber(name)}`) ?? "");
    expect(db.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
    expect(db.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  }
  for (const [table, { rows }] of readAll(db)) expect(rows.size, `${table} needs a line in "writes"`).toBeGreaterThan(0);
  db.close();
});
