/** Automatic top-ups in D1: their settings, and the payments that they begin. At most one of an account is under way. */

import { type Act, type Actor, auditRow, auditRowIfChanged } from "./audit-log.ts";
import { type Announcer, changeKeys, putTopUp, removeTopUp, type TopUpSettings } from "./account-changes.ts";
import { type Change, type Payment, paymentColumns } from "./payments.ts";
import { execute, hasRow, queryIds, queryRow, queryRows } from "./query.ts";

/** Automatic top-up of an account. Times in milliseconds. */
export interface TopUp extends TopUpSettings {
  accountId: string;
  /** The stored card; null until a person has stored one. */
  methodId: string | null;
  pausedAt: number | null;
  pausedFor: PauseReason | null;
}

type PauseReason = "declined" | "disputed";

const columns = `account_id AS accountId, threshold, money, currency, amount, ceiling, method_id AS methodId, paused_at AS pausedAt, paused_for AS pausedFor`;
const system: Actor = { kind: "system", id: "stripe", address: null };

export const monthStart = (now: number) => Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth());
const ofMonth = (month: string) =>
  `(SELECT coalesce(sum(p.money), 0) FROM payment p WHERE p.account_id = t.account_id AND p.automatic = 1 AND p.state IN ('open', 'paid') AND p.created_at >= ${month})`;

/** The settings with the money that was taken this month; undefined if automatic top-up is off. */
export const findTopUp = (db: D1Database, accountId: string, now: number): Promise<(TopUp & { taken: number }) | undefined> =>
  queryRow(db, `SELECT ${columns}, ${ofMonth("?2")} AS taken FROM top_up t WHERE account_id = ?1`, [accountId, monthStart(now)]);

const toFacts = ({ threshold, amount, money, ceiling, currency }: TopUpSettings) => ({
  below: threshold / 1e6,
  add: amount / 1e6,
  money: money / 100,
  at_most_a_month: ceiling / 100,
  currency,
});

/** Sets automatic top-up, or switches it off (null), so that a restored database cannot undo it. It is not paused then; a stored card stays. */
export async function setTopUp(
  db: D1Database,
  announcer: Announcer,
  by: Actor,
  accountId: string,
  settings: TopUpSettings | null,
  now: number,
): Promise<void> {
  const before = await findTopUp(db, accountId, now);
  const act: Act = {
    act: "top_up_changed",
    target: accountId,
    ...(before && { before: toFacts(before) }),
    ...(settings && { after: toFacts(settings) }),
  };
  const statements = settings
    ? [putTopUp(db, accountId, settings), auditRow(db, accountId, by, act)]
    : [removeTopUp(db, accountId), auditRowIfChanged(db, accountId, by, act)];
  await changeKeys(db, announcer, accountId, statements, { act: "top_up", settings });
}

/** A person has stored a card of the customer at Stripe; one that was stored later stays. */
export const setMethod = (db: D1Database, accountId: string, customerId: string, methodId: string, at: number): Change =>
  db
    .prepare(
      `UPDATE top_up SET method_id = ?3, method_at = ?4, paused_at = NULL, paused_for = NULL, mailed_at = NULL
       WHERE account_id = ?1 AND method_at < ?4 AND EXISTS (SELECT 1 FROM payer WHERE account_id = ?1 AND customer_id = ?2)`,
    )
    .bind(accountId, customerId, methodId, at);

/**
 * The next accounts whose balance may be below the threshold, those first that were not looked at for longest: the wallet knows it exactly, and
 * whether the account owes. One with a debt need not: what a refund took beyond the quota may have come back from an open task.
 */
export async function nextLow(db: D1Database, now: number, limit: number): Promise<{ accountId: string; threshold: number }[]> {
  const rows = await queryRows<{ accountId: string; threshold: number }>(
    db,
    `SELECT t.account_id AS accountId, t.threshold FROM top_up t JOIN wallet w ON w.id = t.account_id
      WHERE t.paused_at IS NULL AND t.method_id IS NOT NULL AND w.quota - w.debt - w.used - w.granted < t.threshold
      ORDER BY t.looked_at LIMIT ?1`,
    [limit],
  );
  if (rows.length > 0)
    await execute(db, "UPDATE top_up SET looked_at = ?2 WHERE account_id IN (SELECT value FROM json_each(?1))", [
      JSON.stringify(rows.map(({ accountId }) => accountId)),
      now,
    ]);
  return rows;
}

/**
 * Begins an automatic payment of the money that was agreed to, which adds what it buys by today's `tariff`. undefined if one is under way or
 * was made since the balance was read (`readAt`), if the month's ceiling does not allow it, if the tariff has another currency or a lower
 * maximum by now, or if top-up is off or paused: whatever runs in parallel, at most one begins.
 */
export async function beginTopUp(
  db: D1Database,
  id: string,
  accountId: string,
  tariff: { currency: string; perCent: number; max: number },
  readAt: number,
  now: number,
): Promise<Payment | undefined> {
  const isBegun = await hasRow(
    db,
    `INSERT INTO payment (id, account_id, created_at, money, currency, amount, state, automatic, method_id)
      SELECT ?1, t.account_id, ?4, t.money, t.currency, t.money * ?6, 'open', 1, t.method_id
      FROM top_up t JOIN account a ON a.id = t.account_id AND a.disabled = 0 AND a.erased_at IS NULL
      WHERE t.account_id = ?2 AND t.currency = ?7 AND t.money <= ?8 AND t.paused_at IS NULL AND t.method_id IS NOT NULL AND t.money + ${ofMonth("?5")} <= t.ceiling
        AND NOT EXISTS (SELECT 1 FROM payment p WHERE p.account_id = ?2 AND p.automatic = 1
          AND (p.state = 'open' OR max(p.created_at, coalesce(p.paid_at, 0)) >= ?3))
      ON CONFLICT DO NOTHING
      RETURNING id`,
    [id, accountId, readAt, now, monthStart(now), tariff.perCent, tariff.currency, tariff.max],
  );
  return isBegun ? queryRow(db, `SELECT ${paymentColumns} FROM payment p WHERE p.id = ?1`, [id]) : undefined;
}

/** Those of these payments that the database has, in any state. */
export const knownPayments = async (db: D1Database, ids: string[]): Promise<Set<string>> =>
  new Set(await queryIds(db, "SELECT id FROM payment WHERE id IN (SELECT value FROM json_each(?1))", [JSON.stringify(ids)]));

/**
 * Puts an automatic payment that a restored database lost in the place of one that was begun without knowing of it. Its outcome is asked for
 * like that of every open one.
 */
export const exchangeTopUp = (db: D1Database, begun: Payment, lost: { id: string; intentId: string; createdAt: number }): Change[] => [
  db.prepare("UPDATE payment SET state = 'expired' WHERE id = ?1 AND state = 'open'").bind(begun.id),
  db
    .prepare(
      `INSERT INTO payment (id, account_id, created_at, money, currency, amount, state, automatic, method_id, intent_id)
       SELECT ?2, account_id, ?4, money, currency, amount, 'open', 1, method_id, ?3 FROM payment WHERE id = ?1 AND changes() > 0
       ON CONFLICT DO NOTHING`,
    )
    .bind(begun.id, lost.id, lost.intentId, lost.createdAt),
];

/** Automatic payments whose outcome is not known yet, in any order: those on which banks work for days keep no other waiting. */
export const listOpenTopUps = (db: D1Database, limit: number): Promise<Payment[]> =>
  queryRows(db, `SELECT ${paymentColumns} FROM payment p WHERE p.automatic = 1 AND p.state = 'open' ORDER BY random() LIMIT ?1`, [limit]);

/** The payment intent of an automatic payment that a bank is still working on. */
export const setIntent = (db: D1Database, id: string, intentId: string): Change =>
  db.prepare("UPDATE payment SET intent_id = ?2 WHERE id = ?1 AND state = 'open'").bind(id, intentId);

/** An automatic payment failed: it is not tried again, and top-up is paused. Without effect on one that succeeded. */
export const setFailed = (db: D1Database, { id, accountId }: Pick<Payment, "id" | "accountId">, now: number): Change[] => [
  db.prepare("UPDATE payment SET state = 'failed' WHERE id = ?1 AND state = 'open'").bind(id),
  db
    .prepare(
      "UPDATE top_up SET paused_at = ?2, paused_for = 'declined', mailed_at = NULL WHERE account_id = ?1 AND paused_at IS NULL AND changes() > 0",
    )
    .bind(accountId, now),
  auditRowIfChanged(db, accountId, system, { act: "top_up_changed", target: id, after: { paused: "declined" } }, now),
];

/** Pauses top-up for a dispute, when the dispute is first seen: to be put before the statement that stores it. */
export const pauseForDispute = (db: D1Database, accountId: string, disputeId: string, now: number): Change[] => [
  db
    .prepare(
      `UPDATE top_up SET paused_at = ?3, paused_for = 'disputed', mailed_at = NULL
       WHERE account_id = ?1 AND paused_at IS NULL AND NOT EXISTS (SELECT 1 FROM payment_return WHERE id = ?2)`,
    )
    .bind(accountId, disputeId, now),
  auditRowIfChanged(db, accountId, system, { act: "top_up_changed", target: disputeId, after: { paused: "disputed" } }, now),
];

/** Top-ups that are paused since `since`, and whose owners got no e-mail yet, in any order, so that those whose e-mail is refused delay no other. */
export const listUntold = (db: D1Database, since: number, limit: number): Promise<TopUp[]> =>
  queryRows(db, `SELECT ${columns} FROM top_up WHERE paused_at >= ?1 AND mailed_at IS NULL ORDER BY random() LIMIT ?2`, [since, limit]);

export const setTold = (db: D1Database, { accountId, pausedAt }: TopUp, now: number): Promise<void> =>
  execute(db, "UPDATE top_up SET mailed_at = ?3 WHERE account_id = ?1 AND paused_at = ?2", [accountId, pausedAt, now]);
