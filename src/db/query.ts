/** Runs a single statement; `values` are ?1, ?2 and so on. */

/** D1, or one of its replicas. */
type Database = Pick<D1Database, "prepare">;

const bound = (db: Database, sql: string, values: unknown[]) => db.prepare(sql).bind(...values);

/** All rows that the statement returns. */
export const queryRows = async <Row>(db: Database, sql: string, values: unknown[] = []): Promise<Row[]> =>
  (await bound(db, sql, values).run<Row>()).results;

/** The column `id` of all rows. */
export const queryIds = async (db: Database, sql: string, values: unknown[]): Promise<string[]> =>
  (await queryRows<{ id: string }>(db, sql, values)).map(({ id }) => id);

/** The first row; undefined without any. */
export const queryRow = async <Row>(db: Database, sql: string, values: unknown[] = []): Promise<Row | undefined> =>
  (await bound(db, sql, values).first<Row>()) ?? undefined;

/** True if the statement returns a row: a query finds one, or a change with RETURNING is made. */
export const hasRow = async (db: Database, sql: string, values: unknown[]): Promise<boolean> =>
  (await bound(db, sql, values).first()) !== null;

export async function execute(db: Database, sql: string, values: unknown[]): Promise<void> {
  await bound(db, sql, values).run();
}
