/** Migration files reach D1 in a form that its own splitting cannot break, in steps that a run can continue. */

import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { unstable_splitSqlQuery } from "wrangler";
import { applyMigration, applyMigrations, type MigratedDatabase, readMigration } from "../../scripts/support/migrations.ts";
import { cutImport, cutQuery } from "../deploy/d1-statements.ts";

const folder = new URL("../../migrations/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".sql"));
const read = (name: string) => readFileSync(new URL(name, folder), "utf8");

/** The schema that these statements make, without white space and comments. */
const readSchema = (statements: string[]) => {
  const db = new DatabaseSync(":memory:");
  for (const statement of statements) db.exec(statement);
  const rows = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").all();
  db.close();
  return rows.map(({ name, sql }) => [name, String(sql).replaceAll(/--[^\n]*|\s+/g, "")]);
};

/** A database like D1's import: one transaction a call, cut by the emulated splitter. `failAt` counts calls. */
function importing(db: DatabaseSync) {
  const calls: string[] = [];
  const state = { failAt: Infinity };
  const names = () =>
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'd1_migrations'").get() ? db.prepare("SELECT name FROM d1_migrations").all() : [];
  const database: MigratedDatabase = {
    applied: async () => names().map(({ name }) => String(name)),
    hasRow: async (query) => db.prepare(query).get() !== undefined,
    commit: async (statements) => {
      const file = `${statements.join(";\n")};\n`;
      calls.push(file);
      if (calls.length === state.failAt) throw new Error("D1 ended the call");
      db.exec("BEGIN");
      try {
        for (const statement of cutImport(file)) db.exec(statement);
        db.exec("COMMIT");
      } catch (error) {
        db.exec("ROLLBACK");
        throw error;
      }
    },
  };
  return { database, calls, state };
}

test("each migration is cut by D1's import into its statements, and makes the same schema as the file in SQLite", async () => {
  const db = new DatabaseSync(":memory:");
  const { database, calls } = importing(db);
  for (const name of files) {
    const steps = readMigration(read(name));
    const statements = steps.flatMap((step) => step.statements);
    expect(cutImport(statements.join(";\n")), name).toEqual(statements);
    expect(unstable_splitSqlQuery(statements.join(";\n")), name).toEqual(statements);
    await applyMigration(name, steps, database);
  }
  for (const file of calls) expect(file).not.toMatch(/--|\/\*|\r/);
  const imported = db
    .prepare(
      "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND tbl_name NOT IN ('d1_migrations', 'sqlite_sequence') ORDER BY name",
    )
    .all();
  expect(imported.map(({ name, sql }) => [name, String(sql).replaceAll(/\s+/g, "")])).toEqual(readSchema(files.map(read)));
  expect(await database.applied()).toEqual(files);
});

test("the emulated D1 refuses what was reported for the real one: comments with quotes or semicolons, triggers in a query, CRLF in a trigger", () => {
  const trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  UPDATE a SET n = 1;\nEND;";
  expect(() => cutQuery("-- the account's keys\nCREATE TABLE a (n);\nCREATE TABLE b (n);")).toThrow("must contain only one statement");
  expect(() => cutQuery("CREATE TABLE a (n); -- one; two")).toThrow("did not contain a statement");
  expect(() => cutQuery(trigger)).toThrow("incomplete input");
  expect(() => cutQuery("SELECT ?; SELECT 1", [1])).toThrow("must contain only one statement");
  expect(cutImport(trigger)).toHaveLength(1);
  expect(() => cutImport(trigger.replaceAll("\n", "\r\n"))).toThrow("incomplete input");
  expect(() => cutImport(trigger.replace("BEGIN", "begin"))).toThrow("incomplete input");
});

test("comments, CRLF and quotes in comments do not change a migration's statements, and texts keep theirs", () => {
  const text =
    "-- it's; a comment\r\nCREATE TABLE a (n TEXT DEFAULT 'two  spaces'); /* \"; */\r\nCREATE TRIGGER t AFTER INSERT ON a BEGIN -- why;\r\n  UPDATE a SET n = 1;\r\nEND;\r\n";
  expect(readMigration(text)).toEqual([
    {
      statements: ["CREATE TABLE a (n TEXT DEFAULT 'two  spaces')", "CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE a SET n = 1; END"],
      repeatWhile: undefined,
    },
  ]);
});

test.each([
  "INSERT INTO a VALUES ('one; two')",
  "INSERT INTO a VALUES ('it''s')",
  "INSERT INTO a VALUES ('-- no comment')",
  "UPDATE a SET n = CASE WHEN n THEN 1 END",
  "BEGIN; SELECT 1; COMMIT",
  "CREATE TRIGGER t AFTER INSERT ON a begin UPDATE a SET n = 1; end",
])("a migration with a form that D1 may cut wrongly is refused: %s", (sql) => {
  expect(() => readMigration(sql)).toThrow("D1 may split this statement in the wrong place");
});

const sliced = `ALTER TABLE a ADD COLUMN m;
-- step while SELECT 1 FROM a WHERE m IS NULL LIMIT 1
UPDATE a SET m = n + 1 WHERE rowid IN (SELECT rowid FROM a WHERE m IS NULL LIMIT 10);
-- step
UPDATE a SET m = m * 2;
ALTER TABLE a DROP COLUMN n;
`;

test("a migration in steps continues after a run that broke off at any call, and applies no step twice", async () => {
  for (let failAt = 1; failAt <= 5; failAt++) {
    const db = new DatabaseSync(":memory:");
    db.exec(
      "CREATE TABLE a (n); WITH RECURSIVE i (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 24) INSERT INTO a SELECT n FROM i",
    );
    const { database, calls, state } = importing(db);
    state.failAt = failAt;
    await expect(applyMigration("0001_a.sql", readMigration(sliced), database)).rejects.toThrow("D1 ended the call");
    expect(await database.applied()).toHaveLength(failAt - 1);
    await applyMigration("0001_a.sql", readMigration(sliced), database);
    expect(calls).toHaveLength(6);
    expect(new Set(calls).size).toBe(5);
    expect(
      db
        .prepare("SELECT m FROM a ORDER BY m")
        .all()
        .map(({ m }) => m),
    ).toEqual(Array.from({ length: 25 }, (_, n) => 2 * (n + 1)));
    expect(await database.applied()).toEqual(["0001_a.sql"]);
    db.close();
  }
});

test("a new database gets the migrations of one step together, whatever call breaks off, and a database in use one by one", async () => {
  const migrations = files.map((name) => ({ name, steps: readMigration(read(name)) }));
  const whole = new DatabaseSync(":memory:");
  const { database, calls } = importing(whole);
  const count = await applyMigrations(migrations, database);
  expect([count, calls.length]).toEqual([calls.length, calls.length]);
  expect(count).toBeLessThan(6);
  expect(await database.applied()).toEqual(files);
  const schema = "SELECT name, sql FROM sqlite_schema ORDER BY name";
  for (let failAt = 1; failAt <= count; failAt++) {
    const db = new DatabaseSync(":memory:");
    const broken = importing(db);
    broken.state.failAt = failAt;
    await expect(applyMigrations(migrations, broken.database)).rejects.toThrow("D1 ended the call");
    const applied = await broken.database.applied();
    await applyMigrations(
      migrations.filter(({ name }) => !applied.includes(name)),
      broken.database,
    );
    expect(db.prepare(schema).all()).toEqual(whole.prepare(schema).all());
    expect(await broken.database.applied()).toEqual(files);
  }
  const used = importing(new DatabaseSync(":memory:"));
  await applyMigrations(migrations.slice(0, 1), used.database);
  used.calls.length = 0;
  await applyMigrations(migrations.slice(1), used.database);
  expect(used.calls.length).toBeGreaterThanOrEqual(files.length - 1);
});

test("a step whose answer was lost is not applied again", async () => {
  const db = new DatabaseSync(":memory:");
  db.exec("CREATE TABLE a (n)");
  const { database } = importing(db);
  const steps = readMigration("INSERT INTO a VALUES (1);\n-- step\nINSERT INTO a VALUES (2);");
  const commit = database.commit.bind(database);
  database.commit = async (statements) => {
    await commit(statements);
    throw new Error("the answer was lost");
  };
  for (const _ of steps) await expect(applyMigration("0001_a.sql", steps, database)).rejects.toThrow("the answer was lost");
  // Another run at the same time, which has read the names before.
  database.commit = commit;
  await expect(applyMigration("0001_a.sql", steps, { ...database, applied: async () => ["0001_a.sql#1"] })).rejects.toThrow("UNIQUE");
  expect(db.prepare("SELECT n FROM a").all()).toHaveLength(2);
});
