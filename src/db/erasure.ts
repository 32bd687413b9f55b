/** Erasure of an account in D1: personal data is deleted, the ledger's amounts stay. */

import { type Announcer, changeKeys, removeTopUp } from "./account-changes.ts";
import { type Actor, auditRowIfChanged, eraseAuditLog } from "./audit-log.ts";
import { eraseConversations } from "./conversations.ts";
import { removeThreshold } from "./low-balances.ts";
import { ofAccount } from "./ledger.ts";
import { eraseCards, eraseCustomer } from "./payments.ts";
import { execute, queryIds, queryRow, queryRows } from "./query.ts";
import { eraseReasons } from "./quota-changes.ts";
import { eraseRequests } from "./request-pages.ts";

/** An incomplete erasure. `at` and `taskId` identify the last of the account's entries whose task has been erased. */
export interface Erasure {
  accountId: string;
  beganAt: number;
  at: number;
  taskId: string;
}

const columns = "account_id AS accountId, began_at AS beganAt, at, task_id AS taskId";

/** Records that an account is to be erased; a crash after that only delays the erasure. False if the account does not exist, is already erased, or is being erased. */
export async function beginErasure(db: D1Database, by: Actor, accountId: string, now: number): Promise<boolean> {
  const [begun] = await db.batch([
    db
      .prepare(
        `INSERT INTO erasure (account_id, began_at, at, task_id) SELECT id, ?2, 0, '' FROM account WHERE id = ?1 AND erased_at IS NULL
         ON CONFLICT DO NOTHING RETURNING account_id`,
      )
      .bind(accountId, now),
    // In the log of the deployment: that of the account is erased too.
    auditRowIfChanged(db, "", by, { act: "account_erased", target: accountId }, now),
  ]);
  return begun?.results.length === 1;
}

export const findErasure = (db: D1Database, accountId: string): Promise<Erasure | undefined> =>
  queryRow(db, `SELECT ${columns} FROM erasure WHERE account_id = ?1`, [accountId]);

/** A random selection of incomplete erasures, so that those which take days, or cannot continue, do not delay the others. */
export const listErasures = (db: D1Database, limit: number): Promise<Erasure[]> =>
  queryRows(db, `SELECT ${columns} FROM erasure ORDER BY random() LIMIT ?1`, [limit]);

export const moveErasure = (db: D1Database, { accountId, at, taskId }: Erasure): Promise<void> =>
  execute(db, "UPDATE erasure SET at = ?2, task_id = ?3 WHERE account_id = ?1", [accountId, at, taskId]);

export const endErasure = (db: D1Database, accountId: string): Promise<void> =>
  execute(db, "DELETE FROM erasure WHERE account_id = ?1", [accountId]);

/**
 * Erases the account's people, in one transaction: its members, those who are in no other account with their sessions and logins, keys, invitations, webhook, destinations, log of requests, conversations, name and address. Rows
 * that the ledger refers to stay without names. Repeating is safe.
 */
export async function erasePerson(db: D1Database, announcer: Announcer, accountId: string, now: number): Promise<void> {
  // Users of other accounts too are only members here: they stay users there.
  const users = await queryRows<{ id: string; email: string }>(
    db,
    `SELECT u.id, u.email FROM membership m JOIN auth_user u ON u.id = m.user_id WHERE m.account_id = ?1
      AND NOT EXISTS (SELECT 1 FROM membership o WHERE o.user_id = m.user_id AND o.account_id <> ?1)`,
    [accountId],
  );
  const ids = JSON.stringify(users.map(({ id }) => id));
  const emails = JSON.stringify(users.map(({ email }) => email));
  const ofUsers = ["auth_session", "auth_account", "auth_passkey"].map((table) =>
    db.prepare(`DELETE FROM ${table} WHERE userId IN (SELECT value FROM json_each(?1))`).bind(ids),
  );
  const statements = [
    db
      .prepare(
        `DELETE FROM auth_verification WHERE value IN (SELECT value FROM json_each(?2)) OR EXISTS (
           SELECT 1 FROM (SELECT email FROM account WHERE id = ?1 UNION SELECT lower(value) FROM json_each(?3)) WHERE email <> ''
             AND (instr(lower(identifier), email) > 0 OR instr(lower(auth_verification.value), email) > 0))`,
      )
      .bind(accountId, ids, emails),
    // Their keys end with the address or the user's id.
    db
      .prepare(
        `DELETE FROM auth_rate_limit WHERE EXISTS (SELECT 1 FROM (SELECT email AS word FROM account WHERE id = ?1
           UNION SELECT lower(value) FROM json_each(?2) UNION SELECT lower(value) FROM json_each(?3)) WHERE substr(lower(key), -length(word) - 1) = ' ' || word)`,
      )
      .bind(accountId, ids, emails),
    ...ofUsers,
    db.prepare("DELETE FROM membership WHERE account_id = ?1").bind(accountId),
    db
      .prepare("DELETE FROM member_invitation WHERE account_id = ?1 OR email IN (SELECT lower(value) FROM json_each(?2))")
      .bind(accountId, emails),
    db.prepare("DELETE FROM auth_user WHERE id IN (SELECT value FROM json_each(?1))").bind(ids),
    db.prepare("DELETE FROM invitation WHERE account_id = ?1").bind(accountId),
    db.prepare("DELETE FROM webhook WHERE account_id = ?1").bind(accountId),
    db.prepare("DELETE FROM destination WHERE account_id = ?1").bind(accountId),
    eraseRequests(db, accountId),
    eraseConversations(db, accountId),
    ...eraseReasons(db, accountId),
    eraseAuditLog(db, accountId),
    eraseCustomer(db, accountId, now),
    eraseCards(db, accountId),
    removeTopUp(db, accountId),
    removeThreshold(db, accountId),
    db
      .prepare(
        "UPDATE api_key SET deleted_at = coalesce(deleted_at, ?2), hash = 'erased:' || id, name = '', prefix = '' WHERE account_id = ?1",
      )
      .bind(accountId, now),
    db
      .prepare(
        "UPDATE account SET email = 'erased:' || id, name = NULL, disabled = 1, admin = 0, erased_at = coalesce(erased_at, ?2) WHERE id = ?1",
      )
      .bind(accountId, now),
  ];
  await changeKeys(db, announcer, accountId, statements, { act: "erased" });
}

/** Ends what a restored database brought back for the account's user: sessions, links by e-mail and invitations. */
export const endSessions = (db: D1Database, accountId: string): D1PreparedStatement[] => [
  db.prepare("DELETE FROM auth_session WHERE userId IN (SELECT user_id FROM membership WHERE account_id = ?1)").bind(accountId),
  db
    .prepare(
      `DELETE FROM auth_verification WHERE EXISTS (
         SELECT 1 FROM membership m JOIN auth_user u ON u.id = m.user_id WHERE m.account_id = ?1
           AND (value = u.id OR instr(lower(identifier), lower(u.email)) > 0 OR instr(lower(value), lower(u.email)) > 0))`,
    )
    .bind(accountId),
  db.prepare("DELETE FROM invitation WHERE account_id = ?1").bind(accountId),
  db.prepare("DELETE FROM member_invitation WHERE account_id = ?1").bind(accountId),
];

/** The same for every user. */
export const endAllSessions = async (db: D1Database): Promise<void> => {
  await db.batch(
    ["auth_session", "auth_verification", "invitation", "member_invitation"].map((table) => db.prepare(`DELETE FROM ${table}`)),
  );
};

/** The next tasks of the account after the erasure's place that were submitted since `since` (milliseconds), oldest first. */
export const tasksToErase = (
  db: D1Database,
  { accountId, at, taskId }: Erasure,
  since: number,
  limit: number,
): Promise<{ at: number; taskId: string }[]> =>
  queryRows(
    db,
    `SELECT at, task_id AS taskId FROM entry INDEXED BY entry_by_account
      WHERE ${ofAccount()} AND (kind = 'chat') = 0 AND at >= ?2 AND at >= ?3 AND (at > ?3 OR task_id > ?4)
      ORDER BY at, task_id LIMIT ?5`,
    [accountId, since, at, taskId, limit],
  );

/** Some of the account's characters that still have a name or an image. */
export const charactersToErase = (db: D1Database, accountId: string, limit: number): Promise<string[]> =>
  queryIds(db, "SELECT id FROM character WHERE account_id = ?1 AND username <> '' LIMIT ?2", [accountId, limit]);

/** Removes the names of characters whose images are deleted. The rows stay, so that a repeated settlement does not create the characters again. */
export const eraseCharacters = (db: D1Database, ids: string[], now: number): Promise<void> =>
  execute(
    db,
    `UPDATE character SET username = '', display_name = '', handle = NULL, picture_digest = '', deleted_at = coalesce(deleted_at, ?2)
      WHERE id IN (SELECT value FROM json_each(?1))`,
    [JSON.stringify(ids), now],
  );

/** Deletes some of the account's references of tasks. Returns how many. */
export const eraseReferences = async (db: D1Database, accountId: string, limit: number): Promise<number> =>
  (
    await queryRows(
      db,
      `DELETE FROM task_reference WHERE (account_id, reference, at, task_id) IN (
        SELECT account_id, reference, at, task_id FROM task_reference WHERE account_id = ?1 LIMIT ?2) RETURNING task_id`,
      [accountId, limit],
    )
  ).length;
