/** Conversations on the console's chat page in D1: a user's own, in one account, the newest kept. */

import { execute, hasRow, queryRow, queryRows } from "./query.ts";

/** A conversation. `at` is the time of its last change in milliseconds, and its revision. */
export interface ConversationRow {
  id: string;
  title: string;
  at: number;
  /** JSON, opaque here. */
  turns: string;
}

/** Whose conversations are meant. */
export interface Owner {
  accountId: string;
  userId: string;
}

/** How many conversations of a user are kept, and how many bytes of them: a question is stored also if its answers are refused, so that it costs nothing. */
const maxConversations = 200;
const maxBytes = 10 * 1024 * 1024;

/** The titles, the last changed first. */
export const listConversations = (db: D1Database, { accountId, userId }: Owner): Promise<Omit<ConversationRow, "turns">[]> =>
  queryRows(
    db,
    `SELECT id, title, at FROM conversation WHERE account_id = ?1 AND user_id = ?2 ORDER BY at DESC LIMIT ${maxConversations}`,
    [accountId, userId],
  );

export const findConversation = (db: D1Database, { accountId, userId }: Owner, id: string): Promise<ConversationRow | undefined> =>
  queryRow(db, "SELECT id, title, at, turns FROM conversation WHERE id = ?3 AND account_id = ?1 AND user_id = ?2", [accountId, userId, id]);

/** Deletes the oldest conversations of the owner beyond the limits. */
const dropOldest = (db: D1Database, { accountId, userId }: Owner): D1PreparedStatement =>
  db
    .prepare(
      `DELETE FROM conversation WHERE id IN (SELECT id FROM (
         SELECT id, row_number() OVER newest AS number, sum(octet_length(turns)) OVER newest AS bytes FROM conversation
         WHERE account_id = ?1 AND user_id = ?2 WINDOW newest AS (ORDER BY at DESC, id))
       WHERE number > ${maxConversations} OR bytes > ${maxBytes})`,
    )
    .bind(accountId, userId);

/** Stores a new conversation, and deletes the oldest ones of its owner beyond the limits. */
export async function insertConversation(db: D1Database, { accountId, userId }: Owner, { id, title, at, turns }: ConversationRow) {
  await db.batch([
    db
      .prepare("INSERT INTO conversation (id, account_id, user_id, title, at, turns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
      .bind(id, accountId, userId, title, at, turns),
    dropOldest(db, { accountId, userId }),
  ]);
}

/** Stores the turns of a conversation at a new revision, in place of the oldest ones as above. False if it is not at the revision `before` any more, or is deleted. */
export async function updateConversation(
  db: D1Database,
  { accountId, userId }: Owner,
  { id, at, turns }: Omit<ConversationRow, "title">,
  before: number,
): Promise<boolean> {
  const [updated] = await db.batch([
    db
      .prepare("UPDATE conversation SET at = ?5, turns = ?6 WHERE id = ?3 AND account_id = ?1 AND user_id = ?2 AND at = ?4 RETURNING id")
      .bind(accountId, userId, id, before, at, turns),
    dropOldest(db, { accountId, userId }),
  ]);
  return updated?.results.length === 1;
}

export const renameConversation = (db: D1Database, { accountId, userId }: Owner, id: string, title: string): Promise<void> =>
  execute(db, "UPDATE conversation SET title = ?4 WHERE id = ?3 AND account_id = ?1 AND user_id = ?2", [accountId, userId, id, title]);

/** False if the owner has no such conversation. */
export const deleteConversation = (db: D1Database, { accountId, userId }: Owner, id: string): Promise<boolean> =>
  hasRow(db, "DELETE FROM conversation WHERE id = ?3 AND account_id = ?1 AND user_id = ?2 RETURNING id", [accountId, userId, id]);

export const eraseConversations = (db: D1Database, accountId: string): D1PreparedStatement =>
  db.prepare("DELETE FROM conversation WHERE account_id = ?1").bind(accountId);
