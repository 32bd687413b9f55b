/** A gateway whose operator sells other routes and prices: its database answers as if these entries were stored. */

import { env } from "cloudflare:workers";
import { builtInCatalog } from "../../src/catalog/catalog.ts";
import type { Entry, Route } from "../../src/catalog/models.ts";
import { readCatalog } from "../../src/current-catalog.ts";
import { selectRevision } from "../../src/db/models.ts";

/** Variables of a gateway, and what its operator's entries change: the routes of models, and prices in millionths. */
export type Vars = Partial<Env> & { ROUTES?: Record<string, object[]>; PRICES?: Record<string, Record<string, number>> };

/** The test environment with these variables and entries. */
export function toEnv({ ROUTES, PRICES, ...vars }: Vars): Env {
  const changed = { ...env, ...vars };
  if (!ROUTES && !PRICES) return changed;
  const entries = [...new Set([...Object.keys(ROUTES ?? {}), ...Object.keys(PRICES ?? {})])].map((id): Entry => {
    const units = ([name, amount]: [string, number]) => [name, name.endsWith("_x") ? amount : amount / 1e6];
    return {
      id,
      ...(ROUTES?.[id] && { routes: ROUTES[id] as Entry["routes"] }),
      ...(PRICES?.[id] && { price: Object.fromEntries(Object.entries(PRICES[id]).map(units)) }),
    };
  });
  return { ...changed, DB: databaseWith(changed.DB, entries) };
}

/** Built-in model that is sold -> its routes. */
export const builtInRoutes = (): Record<string, readonly Route[]> =>
  Object.fromEntries(builtInCatalog().live.map(({ id, routes }) => [id, routes]));

/** Deletes the operator's stored entries. */
export async function deleteModels(): Promise<void> {
  await env.DB.exec("DELETE FROM model");
  await readCatalog(env.DB);
}

let revision = 1_000_000;

/** The database, with these entries as the only ones. */
function databaseWith(db: D1Database, entries: Entry[]): D1Database {
  const newest = ++revision;
  const rows = entries.map((entry) => ({ revision: newest, id: entry.id, entry: JSON.stringify(entry), removed: 0, at: 0 }));
  // oxlint-disable-next-line typescript/no-explicit-any -- rows of any statement
  const patch = (row: any) =>
    row && { ...row, ...("revision" in row && !("keyId" in row) && { revision: newest }), ...("models" in row && { models: newest }) };
  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    if (sql.includes("FROM model GROUP BY id"))
      return { bind: () => wrap(statement, sql), run: () => Promise.resolve({ results: rows }) } as never;
    if (!sql.includes(selectRevision)) return statement;
    return {
      bind: (...values: unknown[]) => wrap(statement.bind(...values), sql),
      run: async () => {
        const answer = await statement.run();
        return { ...answer, results: answer.results.map(patch) };
      },
      first: async () => patch(await statement.first()),
    } as never;
  };
  const over = (prepare: (sql: string) => D1PreparedStatement) => ({ value: (sql: string) => wrap(prepare(sql), sql) });
  const withSession = (constraint?: string) => {
    const session = db.withSession(constraint);
    return Object.create(session, { prepare: over((sql) => session.prepare(sql)) }) as D1DatabaseSession;
  };
  return Object.create(db, { prepare: over((sql) => db.prepare(sql)), withSession: { value: withSession } }) as D1Database;
}
