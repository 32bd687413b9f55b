/** Applies migrations to a deployed database, by D1's import of files: other ways split a file at semicolons inside triggers. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { applyMigrations as applyAll, readMigration } from "../support/migrations.ts";
import type { CloudflareApi } from "./api.ts";
import type { Run } from "./run.ts";
import { writePrivate } from "./state.ts";

/** A deployed database and its migrations. */
export interface Migrated {
  name: string;
  /** Its path in Cloudflare's API. */
  path: string;
  migrationsDir: string;
  /** A derived configuration that binds it: wrangler reads the account from it. */
  config: string;
}

const rows = z.array(z.object({ results: z.array(z.unknown()) }));
const names = z.array(z.object({ name: z.string() }));

/** The rows of one query without quotes or comments around semicolons. */
async function ask(api: CloudflareApi, path: string, sql: string): Promise<unknown[]> {
  return rows.parse((await api.call("POST", `${path}/query`, { sql })).result)[0]?.results ?? [];
}

/** The names in the table `d1_migrations` of a database: its migrations, and the marks of one that is not complete. */
export async function appliedMigrations(api: CloudflareApi, path: string): Promise<string[]> {
  const table = await ask(api, path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'd1_migrations'");
  return table.length === 0 ? [] : names.parse(await ask(api, path, "SELECT name FROM d1_migrations")).map(({ name }) => name);
}

/** The tables of a database. */
export const tableNames = async (api: CloudflareApi, path: string): Promise<string[]> =>
  names.parse(await ask(api, path, "SELECT name FROM sqlite_master WHERE type = 'table'")).map(({ name }) => name);

/** Applies these migrations in turn. Each call commits one step; the next run continues after the last one that was committed. */
export async function applyMigrations(
  run: Run,
  api: CloudflareApi,
  migrated: Migrated,
  files: string[],
  folder: string,
  signal: AbortSignal,
) {
  const { name: database, path, migrationsDir, config } = migrated;
  const upload = join(folder, "migration.sql");
  const migrations = await Promise.all(
    files.map(async (name) => ({ name, steps: readMigration(await readFile(join(migrationsDir, name), "utf8")) })),
  );
  const calls = await applyAll(
    migrations,
    {
      applied: () => appliedMigrations(api, path),
      hasRow: async (query) => (await ask(api, path, query)).length > 0,
      commit: async (statements) => {
        await writePrivate(upload, `${statements.join(";\n")};\n`);
        await run.wrangler("d1", "execute", database, "--remote", "--yes", "--file", upload, "-c", config);
      },
    },
    signal,
  );
  return calls > files.length ? `${calls} steps` : undefined;
}
