/** A replica of the database that lags behind it: sessions read what `replicate` copied last, until the mocks are restored. */

import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { bindings } from "./faults.ts";

/** The tables that sessions read, each after those that it refers to. */
const tables = ["account", "wallet", "api_key", "typical_time", "model"];

/** From now on sessions read a copy of the database as it is now. */
export async function startReplica(): Promise<void> {
  const queries = env.TEST_MIGRATIONS.flatMap((migration) => migration.queries);
  const isNew = (await env.REPLICA.prepare("SELECT name FROM sqlite_master WHERE name = 'account'").first()) === null;
  if (isNew) await env.REPLICA.batch(queries.map((query) => env.REPLICA.prepare(query)));
  await replicate();
  vi.spyOn(bindings.database(), "withSession").mockImplementation((() => ({ prepare: statement })) as never);
}

/** The replica catches up. */
export async function replicate(): Promise<void> {
  const copies = await Promise.all(
    tables.map(async (table) =>
      (await env.DB.prepare(`SELECT * FROM ${table}`).run()).results.map((row) =>
        env.REPLICA.prepare(`INSERT INTO ${table} (${Object.keys(row).join()}) VALUES (${Object.keys(row).fill("?").join()})`).bind(
          ...Object.values(row),
        ),
      ),
    ),
  );
  await env.REPLICA.batch([...tables.toReversed().map((table) => env.REPLICA.prepare(`DELETE FROM ${table}`)), ...copies.flat()]);
}

/** A statement of a session. Its answer states its origin, like the platform's. */
const statement = (sql: string, values: unknown[] = []) => {
  const run = async () => {
    const answer = await env.REPLICA.prepare(sql)
      .bind(...values)
      .run();
    return { ...answer, meta: { ...answer.meta, served_by_primary: false } };
  };
  return { bind: (...bound: unknown[]) => statement(sql, bound), run, first: async () => (await run()).results[0] ?? null };
};
