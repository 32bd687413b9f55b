/** The gateway account of each user: the console's own rows in D1, without money. */

import { type Account, accountById, insertAccount } from "../db/accounts.ts";
import { type Caller } from "../db/callers.ts";
import { insertKey } from "../db/api-keys.ts";
import { sha256Hex } from "../ids.ts";
import { openWallet } from "../db/ledger.ts";
import { reachesPeople } from "./mail.ts";
import { signup, signupQuota } from "./settings.ts";

export interface Member {
  account: Account;
  /** The key of the account that is charged for runs from the pages; null if there is none, or it was deleted. */
  keyId: string | null;
  /** The language of the user's latest page; null before there was one. */
  language: string | null;
}

/** A user's membership, or undefined if the user has no account yet. */
export async function findMember(db: D1Database, userId: string): Promise<Member | undefined> {
  const row = await db
    .prepare(
      `SELECT m.account_id AS accountId, k.id AS keyId, m.language FROM member m LEFT JOIN api_key k ON k.id = m.key_id AND k.deleted_at IS NULL
       WHERE m.user_id = ?1`,
    )
    .bind(userId)
    .first<{ accountId: string; keyId: string | null; language: string | null }>();
  const account = row && (await accountById(db, row.accountId));
  return account ? { account, keyId: row.keyId, language: row.language } : undefined;
}

/** Stores the language of the user's pages for later e-mail. */
export async function setLanguage(db: D1Database, userId: string, language: string): Promise<void> {
  await db.prepare("UPDATE member SET language = ?2 WHERE user_id = ?1").bind(userId, language).run();
}

/** The language in which the account's user last opened the console; null before the first time. */
export const findLanguage = async (db: D1Database, accountId: string): Promise<string | null> =>
  (await db.prepare("SELECT language FROM member WHERE account_id = ?1").bind(accountId).first<{ language: string | null }>())?.language ??
  null;

/** The e-mail address of the user who signs in to an account, or null if no user does. */
export const findPerson = async (db: D1Database, accountId: string) =>
  (
    await db
      .prepare("SELECT u.email FROM member m JOIN auth_user u ON u.id = m.user_id WHERE m.account_id = ?1")
      .bind(accountId)
      .first<{ email: string }>()
  )?.email ?? null;

/** The name of the key that is charged for runs from the pages. */
const consoleKeyName = "Console";

/** The caller as which the gateway's API is called. The key is created when it is first needed, and again after its deletion; its secret is not kept. */
export async function toCaller(db: D1Database, { account, keyId }: Member): Promise<Caller> {
  if (keyId !== null) return { accountId: account.id, keyId };
  const { apiKey, statement } = await insertKey(db, account.id, consoleKeyName, null, { max: Number.MAX_SAFE_INTEGER });
  const results = await db.batch<{ keyId: string }>([
    statement,
    openWallet(db, apiKey.id, null),
    // Pages that are opened at the same time use the first one's key; their own keys are created as deleted.
    db
      .prepare(
        `UPDATE member SET key_id = ?2 WHERE account_id = ?1
         AND NOT EXISTS (SELECT 1 FROM api_key WHERE id = member.key_id AND deleted_at IS NULL)`,
      )
      .bind(account.id, apiKey.id),
    db.prepare("UPDATE api_key SET deleted_at = created_at WHERE id = ?1 AND changes() = 0").bind(apiKey.id),
    db.prepare("SELECT key_id AS keyId FROM member WHERE account_id = ?1").bind(account.id),
  ]);
  const chosen = results.at(-1)?.results[0]?.keyId;
  if (chosen === undefined) throw new Error(`the console has no key of ${account.id}`);
  return { accountId: account.id, keyId: chosen };
}

export interface Person {
  id: string;
  email: string;
  emailVerified: boolean;
  name: string;
}

/**
 * The account of a user, created if the user has no account and may have one. undefined if the operator has created an account with the same
 * e-mail address, unless the user has verified the address: an unverified address gives no access to its money. If e-mail can be sent,
 * users get an account only after they have verified their address.
 */
export async function openAccount(env: ConsoleEnv, user: Person): Promise<Member | undefined> {
  const known = await findMember(env.DB, user.id);
  if (known) return known;
  const { DB: db } = env;
  const { account, statement } = insertAccount(db, user.email, user.name);
  const mayOpen = signup(env) === "open" && (user.emailVerified || !reachesPeople(env));
  // All or nothing: after a crash the user signs in again and finds either an account or none.
  await db.batch([
    ...(mayOpen ? [statement, openWallet(db, account.id, signupQuota(env))] : []),
    db
      .prepare(
        `INSERT INTO member (user_id, account_id, created_at)
         SELECT ?1, id, ?4 FROM account WHERE id = ?2 OR (?5 AND email = ?3) ON CONFLICT DO NOTHING`,
      )
      .bind(user.id, account.id, account.email, Date.now(), user.emailVerified ? 1 : 0),
    db.prepare("DELETE FROM invitation WHERE account_id = (SELECT account_id FROM member WHERE user_id = ?1)").bind(user.id),
  ]);
  return findMember(db, user.id);
}

/** True if there is a valid invitation to the account with this address. A user with a verified address does not need its token. */
export const isInvited = async (db: D1Database, email: string): Promise<boolean> =>
  (await db
    .prepare("SELECT 1 FROM invitation i JOIN account a ON a.id = i.account_id WHERE a.email = ?1 AND i.expires_at > ?2")
    .bind(email.toLowerCase(), Date.now())
    .first()) !== null;

/** Records that a user has verified their address by e-mail. Older passkeys are deleted, because they may belong to someone who only claimed the address. */
export async function proveAddress(db: D1Database, userId: string): Promise<void> {
  await db.batch([
    db.prepare("DELETE FROM auth_passkey WHERE userId = (SELECT id FROM auth_user WHERE id = ?1 AND emailVerified = 0)").bind(userId),
    db.prepare("UPDATE auth_user SET emailVerified = 1 WHERE id = ?1").bind(userId),
  ]);
}

/**
 * Copies a user's name to the account, and their address once it is verified: an unverified address gives no access. An
 * address of another account stays with that account.
 */
export async function followPerson(db: D1Database, userId: string): Promise<void> {
  await db.batch([
    db
      .prepare(
        `UPDATE account SET name = (SELECT name FROM auth_user WHERE id = ?1)
         WHERE id = (SELECT account_id FROM member WHERE user_id = ?1)`,
      )
      .bind(userId),
    db
      .prepare(
        `UPDATE account SET email = (SELECT lower(email) FROM auth_user WHERE id = ?1)
         WHERE id = (SELECT account_id FROM member WHERE user_id = ?1)
           AND EXISTS (SELECT 1 FROM auth_user WHERE id = ?1 AND emailVerified = 1)
           AND NOT EXISTS (SELECT 1 FROM account WHERE email = (SELECT lower(email) FROM auth_user WHERE id = ?1))`,
      )
      .bind(userId),
  ]);
}

/** The account of an invitation, or undefined: unknown, used, or expired. */
export async function invitedTo(db: D1Database, token: string): Promise<Account | undefined> {
  const row = await db
    .prepare("SELECT account_id AS id FROM invitation WHERE token_hash = ?1 AND expires_at > ?2")
    .bind(await sha256Hex(token), Date.now())
    .first<{ id: string }>();
  return (row && (await accountById(db, row.id))) ?? undefined;
}

/** Makes a user the member of the invitation's account, if their e-mail address is the account's. Uses the invitation up. */
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
