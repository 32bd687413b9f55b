/** A D1 database on Node's SQLite, for runs that need more rows than the local runtime can write in the available time: its statements and transactions, no network. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

const folder = join(import.meta.dirname, "../../migrations");
const pageBytes = 4096;

/** An empty database in memory with all migrations. */
export function openDatabase(): DatabaseSync {
  const sqlite = new DatabaseSync(":memory:");
  sqlite.exec("PRAGMA cache_size = -4000000");
  for (const file of readdirSync(folder).sort()) sqlite.exec(readFileSync(join(folder, file), "utf8"));
  return sqlite;
}

/** The size of its used pages in bytes: the value that D1 reports as its size. */
export const measureSize = (sqlite: DatabaseSync): number => {
  const row = sqlite
    .prepare("SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count) AS pages")
    .get();
  return pageBytes * Number(row?.["pages"]);
};

class Statement {
  readonly #sqlite: DatabaseSync;
  readonly #sql: string;
  readonly #values: SQLInputValue[];

  constructor(sqlite: DatabaseSync, sql: string, values: SQLInputValue[] = []) {
    this.#sqlite = sqlite;
    this.#sql = sql;
    this.#values = values;
  }

  bind(...values: SQLInputValue[]): Statement {
    return new Statement(this.#sqlite, this.#sql, values);
  }

  /** Passes only the values that the statement uses: D1 accepts more. */
  read() {
    const named = Object.fromEntries(
      this.#values.map((value, at) => [`?${at + 1}`, value] as const).filter(([name]) => new RegExp(`\\${name}(?!\\d)`).test(this.#sql)),
    );
    const results = this.#sqlite.prepare(this.#sql).all(named);
    return { results, success: true, meta: { size_after: measureSize(this.#sqlite) } };
  }

  async run() {
    return this.read();
  }

  async first(column?: string) {
    const row = this.read().results[0];
    return row === undefined ? null : column === undefined ? row : row[column];
  }
}

/** The methods of this database's binding that the gateway uses. */
export const toBinding = (sqlite: DatabaseSync) =>
  ({
    prepare: (sql: string) => new Statement(sqlite, sql),
    batch: async (statements: Statement[]) => {
      sqlite.exec("BEGIN");
      try {
        const results = statements.map((statement) => statement.read());
        sqlite.exec("COMMIT");
        return results;
      } catch (error) {
        sqlite.exec("ROLLBACK");
        throw error;
      }
    },
  }) as unknown as D1Database;
