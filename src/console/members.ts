/** Which gateway account a person has: the console's own rows in D1, and never money. */

import { type Account, accountById, insertAccount } from "../accounts.ts";
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
