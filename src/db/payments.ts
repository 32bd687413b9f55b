/** Payments by Stripe in D1: customers, payments with their refunds and disputes, and the events that were handled. The quota moves in the wallet (`writeCredit`). */

import { type Actor, auditRow } from "./audit-log.ts";
import { execute, hasRow, queryIds, queryRow, queryRows } from "./query.ts";

/** A statement to be written with others. */
export type Change = D1PreparedStatement;

/** Money is in the smallest unit of its currency, amounts are millionths, times milliseconds. */
export interface Payment {
  id: string;
  accountId: string;
  createdAt: number;
  money: number;
  currency: string;
  amount: number;
  state: "open" | "paid" | "expired" | "failed";
  sessionId: string | null;
  intentId: string | null;
  paidAt: number | null;
  /** 1: an automatic top-up, with this stored card. */
  automatic: 0 | 1;
  methodId: string | null;
  /** The card that paid: `Visa 4242`; null if it is not known, or no card paid. */
  card: string | null;
}

/** A payment with what was refunded or disputed of it. */
export interface ListedPayment extends Payment {
  refunded: number;
  disputed: number;
}

/** A refund or dispute: its money was taken from the balance, or came back because a dispute was won or a refund failed. */
export interface PaymentReturn {
  id: string;
  paymentId: string;
  kind: "refund" | "dispute";
  money: number;
  state: "taken" | "returned";
}

/** The columns of a payment `p`. */
export const paymentColumns = `p.id, p.account_id AS accountId, p.created_at AS createdAt, p.money, p.currency, p.amount, p.state,
  p.session_id AS sessionId, p.intent_id AS intentId, p.paid_at AS paidAt, p.automatic, p.method_id AS methodId, p.card`;

/** The customer of an account; undefined before its first payment, and for an erased account. */
export const findCustomer = async (db: D1Database, accountId: string): Promise<string | undefined> =>
  (await db
    .prepare("SELECT customer_id FROM payer WHERE account_id = ?1 AND erased_at IS NULL")
    .bind(accountId)
    .first<string>("customer_id")) ?? undefined;

/** Forgets a customer that Stripe does not know. */
export const forgetCustomer = (db: D1Database, accountId: string, customerId: string): Promise<void> =>
  execute(db, "DELETE FROM payer WHERE account_id = ?1 AND customer_id = ?2 AND erased_at IS NULL", [accountId, customerId]);

/** Stores customers of accounts that have none yet. That of an account that was erased meanwhile is to be deleted at Stripe. */
export const insertCustomers = (
  db: D1Database,
  customers: { accountId: string | undefined; customerId: string }[],
  at: number,
): Promise<void> =>
  execute(
    db,
    `INSERT INTO payer (account_id, customer_id, created_at, erased_at)
      SELECT a.id, j.value ->> 'customerId', ?2, a.erased_at FROM json_each(?1) j JOIN account a ON a.id = j.value ->> 'accountId'
      WHERE true ON CONFLICT DO NOTHING`,
    [JSON.stringify(customers), at],
  );

/** Notes that the customer of an erased account is to be deleted at Stripe. */
export const eraseCustomer = (db: D1Database, accountId: string, at: number): D1PreparedStatement =>
  db.prepare("UPDATE payer SET erased_at = coalesce(erased_at, ?2) WHERE account_id = ?1").bind(accountId, at);

/** Forgets the cards with which an erased account paid. What it paid stays, as the law asks. */
export const eraseCards = (db: D1Database, accountId: string): D1PreparedStatement =>
  db.prepare("UPDATE payment SET card = NULL WHERE account_id = ?1").bind(accountId);

/** Customers that are to be deleted at Stripe. */
export const listErasedCustomers = (db: D1Database, limit: number): Promise<{ accountId: string; customerId: string }[]> =>
  queryRows(
    db,
    "SELECT account_id AS accountId, customer_id AS customerId FROM payer WHERE erased_at IS NOT NULL ORDER BY erased_at LIMIT ?1",
    [limit],
  );

export const deleteCustomer = (db: D1Database, accountId: string): Promise<void> =>
  execute(db, "DELETE FROM payer WHERE account_id = ?1 AND erased_at IS NOT NULL", [accountId]);

type NewPayment = Pick<Payment, "id" | "accountId" | "createdAt" | "money" | "currency" | "amount">;

/** Stores a payment that is about to be asked of Stripe, and who began it. */
export const insertPayment = async (
  db: D1Database,
  { id, accountId, createdAt, money, currency, amount }: NewPayment,
  by: Actor,
): Promise<void> => {
  await db.batch([
    db
      .prepare("INSERT INTO payment (id, account_id, created_at, money, currency, amount, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'open')")
      .bind(id, accountId, createdAt, money, currency, amount),
    auditRow(
      db,
      accountId,
      by,
      { act: "payment_begun", target: id, after: { amount: amount / 1e6, money: money / 100, currency } },
      createdAt,
    ),
  ]);
};

export const setSession = (db: D1Database, id: string, sessionId: string): Promise<void> =>
  execute(db, "UPDATE payment SET session_id = ?2 WHERE id = ?1", [id, sessionId]);

/** A payment succeeded. Stores it again if a restored database lost it. */
export const setPaid = (
  db: D1Database,
  {
    id,
    accountId,
    createdAt,
    money,
    currency,
    amount,
    intentId,
    paidAt,
    isAutomatic,
    card,
  }: NewPayment & { intentId: string; paidAt: number; isAutomatic: boolean; card: string | null },
): D1PreparedStatement =>
  db
    .prepare(
      `INSERT INTO payment (id, account_id, created_at, money, currency, amount, state, intent_id, paid_at, automatic, card)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'paid', ?7, ?8, ?9, (SELECT ?10 FROM account WHERE id = ?2 AND erased_at IS NULL))
       ON CONFLICT (id) DO UPDATE SET state = 'paid', money = excluded.money, amount = excluded.amount,
         intent_id = excluded.intent_id, paid_at = coalesce(paid_at, excluded.paid_at), card = coalesce(excluded.card, card)`,
    )
    .bind(id, accountId, createdAt, money, currency, amount, intentId, paidAt, Number(isAutomatic), card);

/** Ends payments that a person did not make: those that got no session, because the request stopped, and those whose events are lost. Times in milliseconds. */
export const expirePayments = (db: D1Database, withoutSessionBefore: number, before: number): Promise<void> =>
  execute(
    db,
    "UPDATE payment SET state = 'expired' WHERE state = 'open' AND automatic = 0 AND created_at < iif(session_id IS NULL, ?1, ?2)",
    [withoutSessionBefore, before],
  );

/** Nobody paid in time. Without effect on a payment that succeeded: events arrive in any order. */
export const setExpired = (db: D1Database, id: string): D1PreparedStatement =>
  db.prepare("UPDATE payment SET state = 'expired' WHERE id = ?1 AND state = 'open'").bind(id);

export const findPaid = (db: D1Database, intentId: string): Promise<Payment | undefined> =>
  queryRow(db, `SELECT ${paymentColumns} FROM payment p WHERE p.intent_id = ?1 AND p.state = 'paid'`, [intentId]);

/** Those of the payment intents that are known as paid. */
export const knownIntents = async (db: D1Database, intentIds: string[]): Promise<Set<string>> =>
  new Set(
    await queryIds(db, "SELECT intent_id AS id FROM payment WHERE intent_id IN (SELECT value FROM json_each(?1)) AND state = 'paid'", [
      JSON.stringify(intentIds),
    ]),
  );

export const findPayment = (db: D1Database, accountId: string, id: string): Promise<Payment | undefined> =>
  queryRow(db, `SELECT ${paymentColumns} FROM payment p WHERE p.id = ?2 AND p.account_id = ?1`, [accountId, id]);

/** A page of the account's payments that succeeded, newest first, after the payment `after`. */
export const listPaid = (
  db: D1Database,
  accountId: string,
  { limit, after }: { limit: number; after?: Pick<Payment, "createdAt" | "id"> | undefined },
): Promise<ListedPayment[]> =>
  queryRows(
    db,
    `SELECT ${paymentColumns},
        (SELECT coalesce(sum(money), 0) FROM payment_return r WHERE r.payment_id = p.id AND kind = 'refund' AND r.state = 'taken') AS refunded,
        (SELECT coalesce(sum(money), 0) FROM payment_return r WHERE r.payment_id = p.id AND kind = 'dispute' AND r.state = 'taken') AS disputed
      FROM payment p WHERE p.account_id = ?1 AND p.state = 'paid'
        AND (?3 IS NULL OR (p.created_at, p.id) < (?3, ?4)) ORDER BY p.created_at DESC, p.id DESC LIMIT ?2`,
    [accountId, limit, after?.createdAt ?? null, after?.id ?? null],
  );

/** Stores a refund or dispute. What came back stays so, whatever older event arrives later. */
export const setReturn = (db: D1Database, { id, paymentId, kind, money, state }: PaymentReturn, at: number): D1PreparedStatement =>
  db
    .prepare(
      `INSERT INTO payment_return (id, payment_id, kind, money, state, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT (id) DO UPDATE SET state = excluded.state WHERE excluded.state = 'returned'`,
    )
    .bind(id, paymentId, kind, money, state, at);

/** Those of these refunds and disputes that are known in this state. */
export const knownReturns = async (db: D1Database, returns: Pick<PaymentReturn, "id" | "state">[]): Promise<Set<string>> =>
  new Set(
    await queryIds(
      db,
      `SELECT r.id FROM json_each(?1) j JOIN payment_return r ON r.id = j.value ->> 0
        WHERE r.state = j.value ->> 1 OR r.state = 'returned'`,
      [JSON.stringify(returns.map(({ id, state }) => [id, state]))],
    ),
  );

export const isHandled = (db: D1Database, eventId: string): Promise<boolean> =>
  hasRow(db, "SELECT 1 FROM payment_event WHERE id = ?1", [eventId]);

/** Writes what an event changes, together with the event itself. */
export async function writeEvent(db: D1Database, eventId: string, at: number, changes: D1PreparedStatement[]): Promise<void> {
  await db.batch([...changes, db.prepare("INSERT INTO payment_event (id, at) VALUES (?1, ?2) ON CONFLICT DO NOTHING").bind(eventId, at)]);
}

/** Writes changes that no event brought. */
export async function writeChanges(db: D1Database, changes: D1PreparedStatement[]): Promise<void> {
  if (changes.length > 0) await db.batch(changes);
}

/** Deletes handled events from before `before` (milliseconds): Stripe does not send them again, and their credits are known by their causes. */
export const deleteOldEvents = (db: D1Database, before: number): Promise<void> =>
  execute(db, "DELETE FROM payment_event WHERE at < ?1", [before]);
