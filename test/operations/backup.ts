/** A backup of the whole database, and its restoration, as Time Travel does it. */

import { env } from "cloudflare:workers";

type Row = Record<string, unknown>;

/** Copies every table except the platform's own. */
export async function backUp(): Promise<Map<string, Row[]>> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'd1%'",
  ).run<{ name: string }>();
  const tables = await Promise.all(
    results.map(async ({ name }) => [name, (await env.DB.prepare(`SELECT * FROM ${name}`).run<Row>()).results] as const),
  );
  return new Map(tables);
}

/** Resets every table to the backup, without its triggers, which would change sums a second time. */
export async function restore(backup: Map<string, Row[]>): Promise<void> {
  const triggers = await env.DB.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").run<{ name: string; sql: string }>();
  const statements = [
    "PRAGMA defer_foreign_keys = on",
    ...triggers.results.map(({ name }) => `DROP TRIGGER ${name}`),
    ...[...backup.keys()].map((name) => `DELETE FROM ${name}`),
  ].map((sql) => env.DB.prepare(sql));
  for (const [name, rows] of backup)
    for (const row of rows)
      statements.push(
        env.DB.prepare(
          `INSERT INTO ${name} (${Object.keys(row).join()}) VALUES (${Object.keys(row)
            .map(() => "?")
            .join()})`,
        ).bind(...Object.values(row)),
      );
  await env.DB.batch([...statements, ...triggers.results.map(({ sql }) => env.DB.prepare(sql))]);
}
