/** Migration files: reads one into steps for D1, and applies the steps so that a run that broke off can continue. */

import { readdir } from "node:fs/promises";

/** Statements that are committed together. D1 ends a call after 30 seconds, so longer work is divided into steps. */
export interface Step {
  /** Each is one line without comments and without a semicolon at its end: D1 splits a file at semicolons itself, and trips over comments. */
  statements: string[];
  /** The step is repeated while this query returns a row; undefined: it runs once. */
  repeatWhile: string | undefined;
}

/** A database, as far as migrations use it. */
export interface MigratedDatabase {
  /** The names in the table `d1_migrations`; none if it does not exist. */
  applied(): Promise<string[]>;
  /** True if the query returns a row. */
  hasRow(query: string): Promise<boolean>;
  /** Runs the statements in one transaction. */
  commit(statements: string[]): Promise<unknown>;
}

/** The names of the migrations in a folder, in their order. */
export const migrationNames = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();

const tokens = /--[^\n]*|\/\*[^]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\s+|\w+|[^]/g;
const trigger = /^CREATE (?:TEMP(?:ORARY)? )?TRIGGER /i;

/**
 * Reads a migration. The comment `-- step` on its own line begins a step, `-- step while SELECT ...` a step that is repeated while the query
 * returns a row. Throws if D1 is known to split a statement of this form in the wrong place.
 */
export function readMigration(text: string): Step[] {
  const steps: Step[] = [{ statements: [], repeatWhile: undefined }];
  let statement = "";
  const end = () => {
    if (statement.trim() !== "") steps.at(-1)!.statements.push(checked(statement.trim()));
    statement = "";
  };
  for (const [token] of text.matchAll(tokens)) {
    const directive = /^-- step(?: while (.+?))?\s*$/.exec(token);
    if (directive) {
      end();
      steps.push({ statements: [], repeatWhile: directive[1] });
    } else if (token === ";" && (!trigger.test(statement) || /\bEND\s*$/i.test(statement))) end();
    else if (!/^(?:--|\/\*|\s)/.test(token)) statement += token;
    else if (!/(?:^| )$/.test(statement)) statement += " ";
  }
  end();
  return steps.filter(({ statements }, at) => at > 0 || statements.length > 0);
}

/** Throws if D1's own splitting of this statement is not reliable: it does not always know quotes, `CASE`, or `BEGIN` and `END` in small letters. */
function checked(statement: string): string {
  const quoted = statement.match(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g) ?? [];
  const words: string[] = statement.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, "''").match(/\w+/g) ?? [];
  const blocks = words.filter((word) => /^(?:BEGIN|END|CASE)$/i.test(word)).join(" ");
  const fault = quoted.some((literal) => /[;\r\n]|--|\/\*|["'].*["'].*["']/.test(literal))
    ? "a quoted text with a semicolon, a quote, a line break or the beginning of a comment"
    : blocks !== (trigger.test(statement) ? "BEGIN END" : "")
      ? "CASE (use iif), a transaction, or a trigger whose BEGIN and END are not in capitals"
      : undefined;
  if (fault !== undefined) throw new Error(`D1 may split this statement in the wrong place, because it has ${fault}: ${statement}`);
  return statement;
}

/** The same table as wrangler's own, so that wrangler's commands work on the database too. */
const createTable =
  "CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)";

/**
 * Applies a migration and returns the number of calls. Each call commits one step together with its mark in `d1_migrations`, so a repeated run
 * continues after the last step that was committed, and none is applied twice. The last call replaces the marks with the migration's name.
 */
export async function applyMigration(name: string, steps: Step[], database: MigratedDatabase, signal?: AbortSignal): Promise<number> {
  const marks = (await database.applied()).filter((mark) => mark.startsWith(`${name}#`)).map((mark) => mark.slice(name.length + 1));
  const done = Math.max(0, ...marks.map(Number).filter(Number.isInteger));
  let calls = 0;
  const commit = async (mark: string, statements: string[]) => {
    signal?.throwIfAborted();
    calls++;
    // First, so that a step that was committed already is refused before anything is changed.
    await database.commit([createTable, `INSERT INTO d1_migrations (name) VALUES ('${mark}')`, ...statements]);
  };
  const removeMarks = `DELETE FROM d1_migrations WHERE name GLOB '${name}#*'`;
  for (const [at, { statements, repeatWhile }] of steps.entries()) {
    if (at < done) continue;
    const step = at + 1;
    if (repeatWhile !== undefined)
      for (let turn = marks.filter((mark) => mark.startsWith(`${step}.`)).length; await database.hasRow(repeatWhile);)
        await commit(`${name}#${step}.${++turn}`, statements);
    else if (step < steps.length) await commit(`${name}#${step}`, statements);
    else {
      await commit(name, [...statements, removeMarks]);
      return calls;
    }
  }
  await commit(name, [removeMarks]);
  return calls;
}

/**
 * Applies migrations in turn and returns the number of calls. In a new database, where they take no time, those of a single step that follow each
 * other are committed by one call: each call of a deployment takes seconds.
 */
export async function applyMigrations(
  migrations: readonly { name: string; steps: Step[] }[],
  database: MigratedDatabase,
  signal?: AbortSignal,
): Promise<number> {
  const isNew = (await database.applied()).length === 0;
  let calls = 0;
  for (let at = 0; at < migrations.length;) {
    const rest = migrations.slice(at);
    const longer = rest.findIndex(({ steps }) => steps.length !== 1 || steps[0]?.repeatWhile !== undefined);
    const together = isNew ? rest.slice(0, longer < 0 ? rest.length : longer) : [];
    const [one] = rest;
    if (together.length > 1) {
      signal?.throwIfAborted();
      const names = together.map(({ name }) => `('${name}')`).join(", ");
      await database.commit([
        createTable,
        `INSERT INTO d1_migrations (name) VALUES ${names}`,
        ...together.flatMap(({ steps }) => steps.flatMap(({ statements }) => statements)),
      ]);
      calls++;
      at += together.length;
    } else if (one) {
      calls += await applyMigration(one.name, one.steps, database, signal);
      at++;
    }
  }
  return calls;
}
