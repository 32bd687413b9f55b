/** The balances below which the owners of accounts get an e-mail, in D1. */

import { type Act, type Actor, auditRowIfChanged } from "./audit-log.ts";
import { execute, queryRow } from "./query.ts";

/** An account whose settled balance has fallen below its threshold since its owners' last e-mail about it. Millionths. */
export interface LowBalance {
  accountId: string;
  threshold: number;
  left: number;
}

/** Below which balance the owners get an e-mail, millionths; null without such an e-mail. */
export const findThreshold = async (db: D1Database, accountId: string): Promise<number | null> =>
  (await queryRow<{ threshold: number }>(db, "SELECT threshold FROM low_balance WHERE account_id = ?1", [accountId]))?.threshold ?? null;

/** Sets the threshold, or ends the e-mails (null). Another threshold can be reached again at once. */
export async function setThreshold(db: D1Database, by: Actor, accountId: string, threshold: number | null): Promise<void> {
  const before = await findThreshold(db, accountId);
  const statement =
    threshold === null
      ? removeThreshold(db, accountId)
      : db
          .prepare(
            `INSERT INTO low_balance (account_id, threshold) VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET threshold = excluded.threshold, told_at = NULL WHERE threshold <> excluded.threshold`,
          )
          .bind(accountId, threshold);
  const act: Act = {
    act: "low_balance_changed",
    target: accountId,
    ...(before !== null && { before: { below: before / 1e6 } }),
    ...(threshold !== null && { after: { below: threshold / 1e6 } }),
  };
  await db.batch([statement, auditRowIfChanged(db, accountId, by, act)]);
}

export const removeThreshold = (db: D1Database, accountId: string): D1PreparedStatement =>
  db.prepare("DELETE FROM low_balance WHERE account_id = ?1").bind(accountId);

/** What is left of a quota, without open holds: a hold that is released would otherwise end and begin a low balance. */
const left = "w.quota - w.debt - w.used";

/** The accounts whose owners are due an e-mail, in any order, so that those whose e-mail is refused delay no other. Before, accounts that have enough again are reset. */
export async function listLow(db: D1Database, limit: number): Promise<LowBalance[]> {
  const [, found] = await db.batch<LowBalance>([
    db.prepare(
      `UPDATE low_balance SET told_at = NULL WHERE told_at IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM wallet w WHERE w.id = low_balance.account_id AND ${left} < low_balance.threshold)`,
    ),
    db
      .prepare(
        `SELECT l.account_id AS accountId, l.threshold, ${left} AS left FROM low_balance l
         JOIN wallet w ON w.id = l.account_id AND ${left} < l.threshold
         JOIN account a ON a.id = l.account_id AND a.disabled = 0
         WHERE l.told_at IS NULL ORDER BY random() LIMIT ?1`,
      )
      .bind(limit),
  ]);
  return found?.results ?? [];
}

/** Notes that the owners got the e-mail about this threshold. */
export async function setTold(db: D1Database, { accountId, threshold }: LowBalance, now: number): Promise<void> {
  await execute(db, "UPDATE low_balance SET told_at = ?3 WHERE account_id = ?1 AND threshold = ?2", [accountId, threshold, now]);
}
