/** Which gateway account a person has: the console's own rows in D1, and never money. */

import { type Account, accountById, type Caller, insertAccount, insertKey } from "../accounts.ts";
import { sha256Hex } from "../ids.ts";
import { openWallet } from "../quota.ts";

export interface Member {
  account: Account;
  /** The key of the account that pays for what is run from the pages; null when there is none, or no more. */
  keyId: string | null;
}

/** What a person is a member of, or undefined when they have no account yet. */
export async function memberOf(db: D1Database, userId: string): Promise<Member | undefined> {
  const row = await db
    .prepare(
      `SELECT m.account_id AS accountId, k.id AS keyId FROM member m LEFT JOIN api_key k ON k.id = m.key_id AND k.deleted_at IS NULL
       WHERE m.user_id = ?1`,
    )
    .bind(userId)
    .first<{ accountId: string; keyId: string | null }>();
  const account = row && (await accountById(db, row.accountId));
  return account ? { account, keyId: row.keyId } : undefined;
}

/** The e-mail address of the person who signs in to an account, or null when there is none. */
export const personOf = async (db: D1Database, accountId: string) =>
  (
    await db
      .prepare("SELECT u.email FROM member m JOIN auth_user u ON u.id = m.user_id WHERE m.account_id = ?1")
      .bind(accountId)
      .first<{ email: string }>()
  )?.email ?? null;

/** The name of the key that pays for what is run from the pages. */
const consoleKeyName = "Console";

/** In whose name the gateway's API is asked. The key is made when it is first needed, and again when it was deleted; nobody has its secret. */
export async function callerOf(db: D1Database, { account, keyId }: Member): Promise<Caller> {
  if (keyId !== null) return { accountId: account.id, keyId };
  const { apiKey, statement } = await insertKey(db, account.id, consoleKeyName, null);
  await db.batch([
    statement,
    openWallet(db, apiKey.id, null),
    db.prepare("UPDATE member SET key_id = ?2 WHERE account_id = ?1").bind(account.id, apiKey.id),
  ]);
  return { accountId: account.id, keyId: apiKey.id };
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
  const known = await memberOf(db, user.id);
  if (known) return known.account;
  const { account, statement } = insertAccount(db, user.email, user.name);
  // All or nothing: whoever crashes here signs in again and finds either an account or none.
  await db.batch([
    statement,
    openWallet(db, account.id, quota),
    db
      .prepare("INSERT INTO member (user_id, account_id, created_at) SELECT ?1, id, ?3 FROM account WHERE id = ?2 ON CONFLICT DO NOTHING")
      .bind(user.id, account.id, Date.now()),
  ]);
  return (await memberOf(db, user.id))?.account;
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
