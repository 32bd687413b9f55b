/** Migrations are additive: the previous version's code runs on the new schema. Each migration is applied to a database that contains rows in all tables of the previous one. */

import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { readMigration } from "../../scripts/support/migrations.ts";

const folder = new URL("../../migrations/", import.meta.url);
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".sql"))
  .sort();

/** The rows that the code of a migration's version writes into its tables; `n` makes ids unique. A new table needs a line here. */
const writes: Record<string, (n: string) => string> = {
  "0015": (n) => `
    INSERT INTO batch (account_id, id, created_at, key_id, bytes, begins_at) VALUES ('acc_${n}', 'batch_own_${n}', 1, 'key_${n}', 5, 1);
    UPDATE file SET key_id = 'key_${n}' WHERE account_id = 'acc_${n}';`,
  "0024": (n) => `UPDATE batch SET is_open = 1 WHERE id = 'batch_${n}';`,
  "0005": (n) => `INSERT INTO batch (account_id, id, created_at) VALUES ('acc_${n}', 'batch_${n}', 1);`,
  "0001": (n) => `
    INSERT INTO account (id, email, name, created_at) VALUES ('acc_${n}', '${n}@example.com', 'Name', 1);
    UPDATE account SET keys_revision = 1 WHERE id = 'acc_${n}';
    INSERT INTO wallet (id, quota) VALUES ('acc_${n}', 1000), ('key_${n}', NULL);
    UPDATE wallet SET granted = 40, used = 60, revision = 1, reserved_at = 4 WHERE id = 'acc_${n}';
    UPDATE wallet SET budget = 500, budget_window = 'day' WHERE id = 'key_${n}';
    INSERT INTO api_key (id, account_id, name, hash, prefix, created_at) VALUES ('key_${n}', 'acc_${n}', 'k', 'hash${n}', 'sk-', 1);
    INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at) VALUES
      ('task_${n}', 'acc_${n}', 'key_${n}', 'video', 'vidA-2', 100, 60, 'completed', 2, 3);
    INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at, paged) VALUES
      ('task_paged_${n}', 'acc_${n}', 'key_${n}', 'image', 'imgA-4', 40, 40, 'completed', 4, 5, 1);
    INSERT INTO ended_page VALUES ('acc_${n}', 5, '["task_paged_${n}"]');
    INSERT INTO spending VALUES ('acc_${n}', 86400000, 'other', 'key_${n}', 5, 1, 1, 0);
    INSERT INTO quota_change (account_id, at, before, after) VALUES ('acc_${n}', 1, NULL, 100);
    INSERT INTO archive_part VALUES ('acc_${n}', 0, 1, 'archive/${n}', 2, 0, 10, 10, 1, 2);
    INSERT INTO archive_sum VALUES ('acc_${n}', 'key_${n}', 2, 10);
    INSERT INTO task_reference VALUES ('acc_${n}', 'mine', 1, 'task_${n}');
    INSERT INTO character (id, account_id, username, display_name, model, provider, picture_type, picture_digest, created_at) VALUES
      ('ch_${n}', 'acc_${n}', 'fox', 'Fox', 'vidA-2', 'sandbox', 'image/png', 'digest', 1);
    INSERT INTO webhook (account_id, url, secret) VALUES ('acc_${n}', 'https://receiver.example/', 'whsec_');
    INSERT INTO request_page VALUES ('acc_${n}', 1, 2, 1, '{}');
    INSERT INTO typical_time VALUES ('image imgA-4 ${n}', '[1]');
    INSERT INTO outcome_sum VALUES (0, 'image ${n}', 1, 8, 1);
    INSERT INTO alert (name, began_at, causes) VALUES ('alert_${n}', 1, '[]');
    INSERT INTO incident VALUES ('provider', 'p_${n}', 1);
    INSERT INTO call_sum VALUES (0, 'route fal ${n}', 1, 1);
    INSERT INTO upkeep VALUES ('archive_${n}', '{}');
    INSERT INTO erasure VALUES ('acc_${n}', 1, 1, '');
    INSERT INTO auth_user VALUES ('u_${n}', 'Name', '${n}@example.com', 1, NULL, '2026', '2026');
    INSERT INTO auth_session VALUES ('s_${n}', 'u_${n}', 'token${n}', '2027', NULL, NULL, '2026', '2026');
    INSERT INTO auth_account (id, userId, accountId, providerId, createdAt, updatedAt) VALUES ('l_${n}', 'u_${n}', 'a', 'credential', '2026', '2026');
    INSERT INTO auth_passkey (id, publicKey, userId, credentialID, counter, deviceType, backedUp) VALUES ('p_${n}', 'k', 'u_${n}', 'c${n}', 0, 'd', 0);
    INSERT INTO auth_verification (id, identifier, value, expiresAt) VALUES ('v_${n}', 'i', 'v', '2027');
    INSERT INTO auth_rate_limit VALUES ('r_${n}', 'key${n}', 1, 1);
    INSERT INTO member (user_id, account_id, created_at) VALUES ('u_${n}', 'acc_${n}', 1);
    INSERT INTO invitation VALUES ('hash${n}', 'acc_${n}', 2);`,
  "0002": (n) => `
    INSERT INTO model (revision, id, entry, at) SELECT coalesce(max(revision), 0) + 1, 'my-model-${n}', '{}', 1 FROM model;`,
  "0003": (n) => `INSERT INTO fingerprint VALUES (CAST('${n}' AS BLOB), 'image', 'image/png', 'none', 1);`,
  "0004": (n) => `
    INSERT INTO file (account_id, id, type, bytes, name, object, created_at, expires_at) VALUES ('acc_${n}', 'file_${n}', 'image/png', 5, NULL, 'files/acc_${n}/1', 1, 2);`,
  "0016": (n) => `INSERT INTO conversation VALUES ('conv_${n}', 'acc_${n}', 'u_${n}', 'A question', 1, '[]');`,
  "0013": (n) => `
    INSERT INTO payer VALUES ('acc_${n}', 'cus_${n}', 1, NULL);
    INSERT INTO payment (id, account_id, created_at, money, currency, amount, state, session_id, intent_id, paid_at)
      VALUES ('pay_${n}', 'acc_${n}', 1, 1000, 'usd', 10000000, 'paid', 'cs_${n}', 'pi_${n}', 2);
    INSERT INTO payment (id, account_id, created_at, money, currency, amount, state, automatic, method_id)
      VALUES ('pay_auto_${n}', 'acc_${n}', 1, 1000, 'usd', 10000000, 'open', 1, 'pm_${n}');
    INSERT INTO top_up (account_id, threshold, money, currency, amount, ceiling, method_id) VALUES ('acc_${n}', 5, 1000, 'usd', 10000000, 5000, 'pm_${n}');
    INSERT INTO payment_return VALUES ('re_${n}', 'pay_${n}', 'refund', 500, 'taken', 3);
    INSERT INTO payment_event VALUES ('evt_${n}', 2);`,
  "0017": (n) => `
    UPDATE auth_account SET password = 'hash' WHERE userId = 'u_${n}';
    UPDATE auth_user SET email = 'new-${n}@example.com' WHERE id = 'u_${n}';
    DELETE FROM auth_passkey WHERE userId = 'u_${n}';`,
  "0020": (n) => `UPDATE payment SET card = 'Visa 4242' WHERE id = 'pay_${n}';`,
  "0018": (n) => `INSERT INTO low_balance VALUES ('acc_${n}', 5000000, NULL);`,
  "0019": (n) => `INSERT INTO in_flight (at, tasks) SELECT coalesce(max(at), 0) + 1, length('${n}') FROM in_flight;`,
  "0014": (n) => `UPDATE api_key SET paused_at = 5 WHERE id = 'key_${n}';`,
  "0012": (n) => `INSERT INTO account_day VALUES (0, 'acc_${n}', 60, 30, 1, 0, 0);`,
  "0008": (n) => `
    INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at, cost, attempts) VALUES
      ('task_costs_${n}', 'acc_${n}', 'key_${n}', 'video', 'vidA-2', 100, 60, 'completed', 6, 7, 30, '[["0 fal v",30]]');
    INSERT INTO settled_sum VALUES (0, 'image', 'imgA-4', 'fal ${n}', 'completed', 8, 1, 60, 30, 0);
    INSERT INTO settled_hour VALUES (0, 'image', 'imgA-4', 'fal ${n}', 1, 0, 0, 0, 60, 30, 0, 8, 8);`,
  "0006": (n) => `
    INSERT INTO destination VALUES ('acc_${n}', 'shop', 's3', 'https://s3.example', 'b', 'auto', 'AKIA', 'sealed:', '', 1, 1);
    INSERT INTO delivery_event VALUES ('task_${n}', 'acc_${n}', 3, 'delivered');`,
  "0011": (n) => `
    UPDATE wallet SET debt = 7 WHERE id = 'acc_${n}';
    INSERT INTO credit VALUES ('code:${n}', 'acc_${n}', 'code', 5, 1, 'note');
    UPDATE quota_change SET credit_id = 'code:${n}' WHERE account_id = 'acc_${n}';
    INSERT INTO code (id, hash, series, amount, created_at) VALUES ('code_${n}', 'hash${n}', 'codes_1', 5, 1);`,
  "0010": (n) => `
    INSERT INTO auth_user VALUES ('v_${n}', 'Name', '${n}@other.example', 1, NULL, '2026', '2026');
    INSERT INTO membership (id, account_id, user_id, role, created_at) VALUES ('mem_${n}', 'acc_${n}', 'v_${n}', 'viewer', 1);
    INSERT INTO member_invitation (id, account_id, token_hash, role, max_uses, invited_by, created_at, expires_at) VALUES
      ('inv_${n}', 'acc_${n}', 'token${n}', 'member', 20, 'u_${n}', 1, 2);
    INSERT INTO audit_log (account_id, at, id, act, actor) VALUES ('acc_${n}', 1, 'aud_${n}', 'key_created', 'operator');`,
};

type Row = Record<string, SQLOutputValue>;
interface Column {
  name: string;
  type: string;
  pk: number;
}

/** With bytes as text, because two arrays of bytes are never the same. */
const comparable = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value]),
  );

const toNumber = (name: string) => name.slice(0, 4);

function readAll(db: DatabaseSync): Map<string, { columns: Column[]; rows: Map<string, Row> }> {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all() as { name: string }[];
  return new Map(
    tables.map(({ name }) => {
      const columns = db.prepare(`SELECT name, type, pk FROM pragma_table_info('${name}')`).all() as unknown as Column[];
      const keys = columns.filter(({ pk }) => pk > 0).map((column) => column.name);
      const rows = (db.prepare(`SELECT * FROM ${name}`).all() as Row[]).map(comparable);
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
    for (const { statements, repeatWhile } of readMigration(readFileSync(new URL(name, folder), "utf8"))) {
      const isDone = repeatWhile === undefined ? () => true : () => db.prepare(repeatWhile).get() === undefined;
      do db.exec(`BEGIN; ${statements.join("; ")}; COMMIT`);
      while (!isDone());
    }
    const after = readAll(db);
    for (const [table, { columns, rows }] of before) {
      expect(after.get(table)?.columns, `${name}: ${table}`).toEqual(expect.arrayContaining(columns));
      for (const [key, row] of rows) {
        const kept = after.get(table)?.rows.get(key) ?? {};
        // A migration may fill in empty columns: the previous version's code did not read them.
        const changed = columns.filter(
          // By value: blobs are read as new arrays.
          ({ name: column }) => !isDeepStrictEqual(row[column], kept[column]) && row[column] !== null && row[column] !== 0,
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
  // Rows from before 0021 too: it sums what small files count, which no earlier trigger did.
  db.exec("DELETE FROM file WHERE account_id = 'acc_before_0006'; DELETE FROM batch WHERE account_id = 'acc_before_0021'");
  const counted = db.prepare(`
    SELECT account_id, bytes, padding, (SELECT count(*) FROM file f WHERE f.account_id = s.account_id) AS files,
      (SELECT count(*) FROM batch b WHERE b.account_id = s.account_id AND b.bytes > 0) AS inputs FROM file_space s`);
  for (const { account_id: id, files, inputs, ...space } of counted.all()) {
    const count = Number(files) + Number(inputs);
    expect(space, String(id)).toEqual({ bytes: 5 * count, padding: (65_536 - 5) * count });
  }
  db.close();
});

// A deployed D1 splits the text of a migration into statements itself, and misreads these in comments (workers-sdk 4713, 4767, 3892).
test("comments of migrations contain no quote, semicolon or word that starts a statement", () => {
  const starts =
    /\b(?:select|insert|update|delete|create|drop|alter|begin|end|commit|rollback|pragma|replace|attach|values|trigger|case)\b/i;
  for (const name of names) {
    const text = readFileSync(new URL(name, folder), "utf8");
    expect(text, name).not.toContain("\r");
    const comments = [...text.matchAll(/--.*/g)].map(([comment]) => comment);
    expect(
      comments.filter((comment) => /['"`;]/.test(comment) || starts.test(comment)),
      name,
    ).toEqual([]);
    expect(text, name).not.toContain("/*");
  }
});
