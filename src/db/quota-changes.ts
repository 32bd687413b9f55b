/** The changes of accounts' quotas: a database trigger records each; an admin's page adds who made it and the reason. */

import { execute, queryRows } from "./query.ts";

export interface QuotaChange {
  /** Later changes have higher ones. */
  id: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** In millionths; null is no limit. */
  before: number | null;
  after: number | null;
  /** The admin's e-mail address; null if the change was made with the operator's API, or by a credit. */
  admin: string | null;
  /** What the admin wrote: for admins only. */
  reason: string | null;
  /** Of the code that was redeemed. */
  note: string | null;
  /** The kind of the credit that made it (`credits.ts`); null if an operator did. */
  kind: string | null;
}

/** A page of the account's changes, newest first, those before the change `after`. */
export const listQuotaChanges = (
  db: D1Database,
  accountId: string,
  { limit, after }: { limit: number; after?: Pick<QuotaChange, "id"> | undefined },
): Promise<QuotaChange[]> =>
  queryRows(
    db,
    `SELECT q.id, q.at, q.before, q.after, q.reason, d.reason AS note, a.email AS admin, d.kind FROM quota_change q
      LEFT JOIN account a ON a.id = q.admin_id LEFT JOIN credit d ON d.id = q.credit_id
      WHERE q.account_id = ?1 AND (?3 IS NULL OR q.id < ?3) ORDER BY q.id DESC LIMIT ?2`,
    [accountId, limit, after?.id ?? null],
  );

/** Adds the admin and the reason to the change that was just made. */
export async function explainQuotaChange(db: D1Database, accountId: string, adminId: string, reason: string): Promise<void> {
  await execute(
    db,
    `UPDATE quota_change SET admin_id = ?2, reason = ?3
      WHERE id = (SELECT max(id) FROM quota_change WHERE account_id = ?1 AND credit_id IS NULL) AND admin_id IS NULL`,
    [accountId, adminId, reason || null],
  );
}

/** Deletes the reasons that admins wrote about the account, and the notes of its codes. The amounts stay, like those of the ledger. */
export const eraseReasons = (db: D1Database, accountId: string): D1PreparedStatement[] =>
  ["quota_change", "credit"].map((table) => db.prepare(`UPDATE ${table} SET reason = NULL WHERE account_id = ?1`).bind(accountId));
