/** The operator's models: revisions of entries, and the revision that this isolate saw last. */

import { type Actor, auditRowIfChanged } from "./audit-log.ts";
import { queryRow, queryRows } from "./query.ts";

/** A revision of a model's entry. */
export interface ModelRow {
  revision: number;
  id: string;
  /** JSON of an `Entry`. */
  entry: string;
  /** 1 if this revision took the entry away. */
  removed: number;
  /** Milliseconds since the epoch. */
  at: number;
}

/** The number of old revisions of a model that are kept. */
export const maxRevisions = 100;

/** The revision of the whole catalogue, as a column of another query. */
export const selectRevision = "(SELECT coalesce(max(revision), 0) FROM model)";

const seen = new WeakMap<D1Database, { revision: number; at: number }>();

/** Notes the revision that a query of this database returned. */
export const noteRevision = (db: D1Database, revision: number): void => void seen.set(db, { revision, at: Date.now() });

/** The revision that this isolate saw last, and when; undefined if it has seen none. */
export const seenRevision = (db: D1Database) => seen.get(db);

/** The newest revision of each model, and that of the catalogue. Read from the primary. */
export async function readModels(db: D1Database): Promise<{ revision: number; rows: ModelRow[] }> {
  const rows = await queryRows<ModelRow>(
    db,
    "SELECT revision, id, entry, removed, at FROM model WHERE revision IN (SELECT max(revision) FROM model GROUP BY id) ORDER BY revision",
  );
  return { revision: rows.at(-1)?.revision ?? 0, rows };
}

/** Reads the revision of the catalogue from the nearest replica. */
export async function readRevision(db: D1Database): Promise<number> {
  const row = await queryRow<{ revision: number }>(db.withSession("first-unconstrained"), `SELECT ${selectRevision} AS revision`);
  return row?.revision ?? 0;
}

/** The revisions of a model that are kept, newest first. */
export const listRevisions = (db: D1Database, id: string): Promise<ModelRow[]> =>
  queryRows(db, "SELECT revision, id, entry, removed, at FROM model WHERE id = ?1 ORDER BY revision DESC LIMIT ?2", [id, maxRevisions]);

/**
 * Writes a revision if the model's newest one is `after` (0: it has none) and the catalogue's is `checkedAt`, with which the entry was
 * checked. `before` is the entry that it replaces. Returns the new revision; undefined if another change came first, and nothing was written.
 */
export async function writeModel(
  db: D1Database,
  by: Actor,
  { id, entry, isRemoved, after, checkedAt }: { id: string; entry: string; isRemoved: boolean; after: number; checkedAt: number },
  before: string | undefined,
): Promise<number | undefined> {
  const [written] = await db.batch<{ revision: number }>([
    db
      .prepare(
        `INSERT INTO model (revision, id, entry, removed, at)
         SELECT ${selectRevision} + 1, ?1, ?2, ?3, ?4
         WHERE coalesce((SELECT max(revision) FROM model WHERE id = ?1), 0) = ?5 AND ${selectRevision} = ?6
         RETURNING revision`,
      )
      .bind(id, entry, isRemoved ? 1 : 0, Date.now(), after, checkedAt),
    auditRowIfChanged(db, "", by, {
      act: isRemoved ? "model_removed" : "model_changed",
      target: id,
      ...(before !== undefined && { before: { entry: before } }),
      ...(!isRemoved && { after: { entry } }),
    }),
    db
      .prepare(
        "DELETE FROM model WHERE id = ?1 AND revision < (SELECT revision FROM model WHERE id = ?1 ORDER BY revision DESC LIMIT 1 OFFSET ?2)",
      )
      .bind(id, maxRevisions - 1),
  ]);
  return written?.results[0]?.revision;
}
