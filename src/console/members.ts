/** Which gateway account a person has: the console's own rows in D1, and never money. */

import { type Account, accountById, insertAccount } from "../accounts.ts";
import { sha256Hex } from "../ids.ts";
import { openWallet } from "../quota.ts";

/** The account of a person, or undefined when there is none yet. */
export async function accountOf(db: D1Database, userId: string): Promise<Account | undefined> {
  const row = await db.prepare("SELECT account_id AS id FROM member WHERE user_id = ?1").bind(userId).first<{ id: string }>();
  return (row && (await accountById(db, row.id))) ?? undefined;
}

/**
 * The account of a person, opened with this quota (millionths) when there is none. undefined when an account with the same
 * e-mail address is the operator's: an address that nobody has proved is no claim to its money.
 */
export async function openAccount(
  db: D1Database,
  user: { id: string; email: string; name: string },
  quota: number,
): Promise<Account | undefined> {
  const known = await accountOf(db, user.id);
  if (known) return known;
  const { account, statement } = insertAccount(db, user.email, user.name);
  // All or nothing: whoever crashes here signs in again and finds either an account or none.
  await db.batch([
    statement,
    openWallet(db, account.id, quota),
    db
      .prepare("INSERT INTO member (user_id, account_id, created_at) SELECT ?1, id, ?3 FROM account WHERE id = ?2 ON CONFLICT DO NOTHING")
      .bind(user.id, account.id, Date.now()),
  ]);
  return accountOf(db, user.id);
}

/** The account that an invitation is for, or undefined: never given out, used, or too old. */
export async function invitedTo(db: D1Database, token: string): Promise<Account | undefined> {
  const row = await db
    .prepare("SELECT account_id AS id FROM invitation WHERE token_hash = ?1 AND expires_at > ?2")
    .bind(await sha256Hex(token), Date.now())
    .first<{ id: string }>();
  return (row && (await accountById(db, row.id))) ?? undefined;
}

/** Makes a person the one of the account that the invitation is for, when their e-mail address is the account's. It is used up by that. */
export async function acceptInvitation(db: D1Database, user: { id: string; email: string }, token: string): Promise<void> {
  const account = await invitedTo(db, token);
  if (!account || account.email !== user.email.toLowerCase()) return;
  await db.batch([
    db
      .prepare("INSERT INTO member (user_id, account_id, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
      .bind(user.id, account.id, Date.now()),
    db.prepare("DELETE FROM invitation WHERE token_hash = ?1").bind(await sha256Hex(token)),
  ]);
}
