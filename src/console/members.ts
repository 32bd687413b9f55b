/** The accounts of each user: the console's own rows in D1, without money. */

import { type Account, accountById, insertAccount } from "../db/accounts.ts";
import { countAttempt } from "../db/attempts.ts";
import { type Actor, auditRow, auditRowIfChanged } from "../db/audit-log.ts";
import { type Caller, listOwnWallets } from "../db/callers.ts";
import { insertKey } from "../db/api-keys.ts";
import { findInvitation, isInvitedMember, join, type OpenInvitation } from "../db/member-invitations.ts";
import { newId, sha256Hex } from "../base/ids.ts";
import type { Role } from "../base/roles.ts";
import type { ConsoleApi } from "../rpc/console-api.ts";
import { openWallet } from "../db/ledger.ts";
import { execute, hasRow, queryIds, queryRow, queryRows } from "../db/query.ts";
import { reachesPeople } from "./mail.ts";
import { signup, signupQuota } from "./settings.ts";

/** A user's membership of an account. */
export interface Member {
  id: string;
  account: Account;
  role: Role;
  /** True if an owner or admin has disabled the member. */
  isDisabled: boolean;
  /** The user's key of the account that is charged for runs from the pages; null if there is none, or it was deleted. */
  keyId: string | null;
  /** The language of the user's latest page; null before there was one. */
  language: string | null;
  /** The accounts that the user may open, this one included. */
  accounts: { id: string; name: string }[];
}

interface MemberRow extends Account {
  membershipId: string;
  role: Role;
  memberDisabled: 0 | 1;
  keyId: string | null;
  language: string | null;
}

/**
 * A user's membership of the account with the id `chosen`, or else of the first account that is open to the user; undefined if the user has
 * no account yet. Of an account that the user is not a member of nothing is read.
 */
export async function findMember(db: D1Database, userId: string, chosen?: string): Promise<Member | undefined> {
  const rows = await queryRows<MemberRow>(
    db,
    `SELECT a.id, a.email, a.name, a.disabled, a.admin, a.created_at AS createdAt, a.keys_revision AS keysRevision,
       m.id AS membershipId, m.role, m.disabled AS memberDisabled, k.id AS keyId, m.language
     FROM membership m JOIN account a ON a.id = m.account_id AND a.erased_at IS NULL
     LEFT JOIN api_key k ON k.id = m.key_id AND k.deleted_at IS NULL
     WHERE m.user_id = ?1 ORDER BY m.created_at, m.id`,
    [userId],
  );
  const open = rows.filter(({ disabled, memberDisabled }) => !disabled && !memberDisabled);
  const row = open.find(({ id }) => id === chosen) ?? open[0] ?? rows[0];
  if (!row) return undefined;
  const { membershipId, role, memberDisabled, keyId, language, ...account } = row;
  const accounts = open.map(({ id, name, email }) => ({ id, name: name || email }));
  return { id: membershipId, account, role, isDisabled: memberDisabled === 1, keyId, language, accounts };
}

/** The accounts of which a user is a member. */
export const accountsOf = (db: D1Database, userId: string): Promise<string[]> =>
  queryIds(db, "SELECT account_id AS id FROM membership WHERE user_id = ?1 ORDER BY created_at", [userId]);

/** Stores the language of the user's pages for later e-mail. */
export const setLanguage = (db: D1Database, userId: string, language: string): Promise<void> =>
  execute(db, "UPDATE membership SET language = ?2 WHERE user_id = ?1", [userId, language]);

/** Who gets e-mail that no request causes, with the language of the latest page; null before there was one. */
export interface Recipient {
  email: string;
  name: string;
  language: string | null;
}

/** The active owners of an account, or the member with this membership. */
export const findRecipients = (db: D1Database, accountId: string, membershipId?: string): Promise<Recipient[]> =>
  queryRows(
    db,
    `SELECT u.email, u.name, m.language FROM membership m JOIN auth_user u ON u.id = m.user_id
     WHERE m.account_id = ?1 AND m.disabled = 0 AND iif(?2 IS NULL, m.role = 'owner', m.id = ?2) ORDER BY m.created_at`,
    [accountId, membershipId ?? null],
  );

/** The owners and admins of the accounts that operate this deployment. */
export const findOperators = (db: D1Database): Promise<Recipient[]> =>
  queryRows(
    db,
    `SELECT DISTINCT u.email, u.name, m.language FROM account a JOIN membership m ON m.account_id = a.id JOIN auth_user u ON u.id = m.user_id
     WHERE a.admin = 1 AND a.disabled = 0 AND m.disabled = 0 AND m.role IN ('owner', 'admin') ORDER BY u.email`,
  );

/** The e-mail address of the first owner of an account, or null if no user signs in to it. */
export const findPerson = async (db: D1Database, accountId: string) => (await findRecipients(db, accountId))[0]?.email ?? null;

/** The name of the key that is charged for runs from the pages. */
const consoleKeyName = "Console";

/**
 * The caller as which the gateway's API is called. The key is created when it is first needed, and again after its deletion; its secret is
 * not kept. Viewers have one that can do nothing.
 */
export async function toCaller(db: D1Database, userId: string, { id, account, role, keyId }: Member): Promise<Caller> {
  const caller = {
    accountId: account.id,
    userId,
    ...(role !== "owner" && { role }),
    ...(role === "member" && { ownWallets: await listOwnWallets(db, account.id, userId) }),
  };
  if (keyId !== null) return { ...caller, keyId };
  const { apiKey, statement } = await insertKey(db, account.id, consoleKeyName, null, { max: Number.MAX_SAFE_INTEGER, ownerId: userId });
  const results = await db.batch<{ keyId: string }>([
    statement,
    openWallet(db, apiKey.id, null),
    // Pages that are opened at the same time use the first one's key; their own keys are created as deleted.
    db
      .prepare(
        `UPDATE membership SET key_id = ?2 WHERE id = ?1
         AND NOT EXISTS (SELECT 1 FROM api_key WHERE id = membership.key_id AND deleted_at IS NULL)`,
      )
      .bind(id, apiKey.id),
    db.prepare("UPDATE api_key SET deleted_at = created_at WHERE id = ?1 AND changes() = 0").bind(apiKey.id),
    db.prepare("SELECT key_id AS keyId FROM membership WHERE id = ?1").bind(id),
  ]);
  const chosen = results.at(-1)?.results[0]?.keyId;
  if (chosen === undefined) throw new Error(`the console has no key of ${account.id}`);
  return { ...caller, keyId: chosen, ...(caller.ownWallets && { ownWallets: [...caller.ownWallets, chosen] }) };
}

/** The role of each user of an account, and the id of the console's own key of the user, whose secret was not kept; null without one. */
export const listRoles = (db: D1Database, accountId: string) =>
  queryRows<{ userId: string; role: Role; keyId: string | null }>(
    db,
    "SELECT user_id AS userId, role, key_id AS keyId FROM membership WHERE account_id = ?1",
    [accountId],
  );

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
export async function openAccount(env: ConsoleEnv, user: Person, chosen?: string): Promise<Member | undefined> {
  const known = await findMember(env.DB, user.id, chosen);
  if (known) return known;
  const { DB: db } = env;
  const { account, statement } = insertAccount(db, user.email, user.name);
  const mayOpen = signup(env) === "open" && (user.emailVerified || !reachesPeople(env));
  const membershipId = newId("mem_");
  // All or nothing: after a crash the user signs in again and finds either an account or none.
  await db.batch([
    ...(mayOpen ? [statement, openWallet(db, account.id, signupQuota(env))] : []),
    // Not an account that has members: its address may still be that of someone who has left it.
    db
      .prepare(
        `INSERT INTO membership (id, user_id, account_id, role, created_at)
         SELECT ?6, ?1, a.id, 'owner', ?4 FROM account a WHERE (a.id = ?2 OR (?5 AND a.email = ?3))
           AND NOT EXISTS (SELECT 1 FROM membership WHERE account_id = a.id) ON CONFLICT DO NOTHING`,
      )
      .bind(user.id, account.id, account.email, Date.now(), user.emailVerified ? 1 : 0, membershipId),
    db.prepare("INSERT INTO wallet (id) SELECT ?1 WHERE changes() > 0").bind(membershipId),
    db.prepare("DELETE FROM invitation WHERE account_id = (SELECT account_id FROM membership WHERE id = ?1)").bind(membershipId),
    logOpened(db, user.id, membershipId),
  ]);
  return findMember(db, user.id);
}

/** Logs that a user has become the owner of an account, if the membership is there. */
const logOpened = (db: D1Database, userId: string, membershipId: string) =>
  db
    .prepare(
      `INSERT INTO audit_log (account_id, at, id, act, actor, actor_id, target, after)
       SELECT account_id, created_at, ?3, 'member_joined', 'user', ?1, ?1, json_object('role', role) FROM membership WHERE id = ?2`,
    )
    .bind(userId, membershipId, newId("aud_"));

/** True if there is a valid invitation for this address. A user with a verified address does not need its token. */
export const isInvited = async (db: D1Database, email: string): Promise<boolean> =>
  (await hasRow(db, "SELECT 1 FROM invitation i JOIN account a ON a.id = i.account_id WHERE a.email = ?1 AND i.expires_at > ?2", [
    email.toLowerCase(),
    Date.now(),
  ])) || isInvitedMember(db, email);

export async function userByEmail(db: D1Database, email: string): Promise<Person | undefined> {
  const row = await queryRow<Omit<Person, "emailVerified"> & { emailVerified: 0 | 1 }>(
    db,
    "SELECT id, email, emailVerified, name FROM auth_user WHERE email = ?1",
    [email.toLowerCase()],
  );
  return row ? { ...row, emailVerified: row.emailVerified === 1 } : undefined;
}

/** True for the address of a user who has not opened the link in the e-mail. Not of a member of an account, who joined it when no e-mail could be sent. */
export const isUnconfirmed = (db: D1Database, address: string): Promise<boolean> =>
  hasRow(
    db,
    "SELECT 1 FROM auth_user u WHERE email = ?1 AND emailVerified = 0 AND NOT EXISTS (SELECT 1 FROM membership WHERE user_id = u.id)",
    [address],
  );

/** Records that a user has verified their address by e-mail. Older passkeys are deleted, because they may belong to someone who only claimed the address. */
export async function proveAddress(db: D1Database, userId: string): Promise<void> {
  await db.batch([
    db.prepare("DELETE FROM auth_passkey WHERE userId = (SELECT id FROM auth_user WHERE id = ?1 AND emailVerified = 0)").bind(userId),
    db.prepare("UPDATE auth_user SET emailVerified = 1 WHERE id = ?1").bind(userId),
  ]);
}

/** What a user signs in with: the password's hash, and the ids of all logins and passkeys. */
export async function readLogins(
  db: D1Database,
  userId: string,
): Promise<{ password: string | null; logins: string[]; passkeys: string[] }> {
  const [accounts, passkeys] = await db.batch<{ id: string; password: string | null }>([
    db.prepare("SELECT id, password FROM auth_account WHERE userId = ?1 ORDER BY id").bind(userId),
    db.prepare("SELECT id, NULL AS password FROM auth_passkey WHERE userId = ?1 ORDER BY id").bind(userId),
  ]);
  const logins = accounts?.results ?? [];
  return {
    password: logins.find(({ password }) => password !== null)?.password ?? null,
    logins: logins.map(({ id }) => id),
    passkeys: (passkeys?.results ?? []).map(({ id }) => id),
  };
}

/** Ends a user's links to reset the password: after a change of password or address they would still open the account to who reads the old mail. */
export const endResetLinks = (db: D1Database, userId: string): Promise<void> =>
  execute(db, "DELETE FROM auth_verification WHERE value = ?1", [userId]);

/** The user of an unused link to reset a password; undefined if it is not known. better-auth stores the SHA-256 of its token, in Base64. */
export async function findResetUser(db: D1Database, token: string): Promise<string | undefined> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`reset-password:${token}`));
  const stored = new Uint8Array(digest).toBase64({ alphabet: "base64url", omitPadding: true });
  return (await queryRow<{ value: string }>(db, "SELECT value FROM auth_verification WHERE identifier = ?1", [stored]))?.value;
}

/** The sign-ins of a user that failed within an hour and are logged; more would fill the log. */
const failuresLogged = { window: 3600, max: 20 };

/** A sign-in that was refused: with a password, a passkey, or the login of a provider. */
export interface FailedSignIn {
  login: string;
  /** Of the passkey, or of the user at the provider. */
  id?: string | undefined;
  /** The address that was typed, or that the provider named. */
  email?: string | undefined;
}

/** Logs a refused sign-in in the accounts of its user, who is known by the passkey or login, else by the address. */
export async function logFailure(db: D1Database, { login, id, email }: FailedSignIn, address: string | null): Promise<void> {
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  const [user] = await queryIds(
    db,
    `SELECT id FROM auth_user WHERE id = coalesce((SELECT userId FROM auth_passkey WHERE ?1 = 'passkey' AND credentialID = ?2),
       (SELECT userId FROM auth_account WHERE providerId = ?1 AND accountId = ?2), (SELECT id FROM auth_user WHERE email = ?3))`,
    [login, text(id), text(email)?.toLowerCase() ?? null],
  );
  if (user === undefined || !(await countAttempt(db, `failed sign-in ${user}`, failuresLogged))) return;
  const by: Actor = { kind: "system", id: "sign_in", address };
  const accounts = await accountsOf(db, user);
  const act = { act: "sign_in_failed", target: user, after: { login } } as const;
  if (accounts.length > 0) await db.batch(accounts.map((accountId) => auditRow(db, accountId, by, act)));
}

/**
 * Copies a user's name to the account whose only member the user is, and their address, once it is verified, to that account: an unverified
 * address gives no access. An account with several members has a name of its own. An address of another account stays with that account.
 */
export async function followPerson(db: D1Database, userId: string): Promise<void> {
  const own = `(SELECT m.account_id FROM membership m WHERE m.user_id = ?1 AND m.role = 'owner'
    AND NOT EXISTS (SELECT 1 FROM membership o WHERE o.account_id = m.account_id AND o.user_id <> ?1) ORDER BY m.created_at LIMIT 1)`;
  await db.batch([
    db.prepare(`UPDATE account SET name = (SELECT name FROM auth_user WHERE id = ?1) WHERE id = ${own}`).bind(userId),
    db
      .prepare(
        `UPDATE account SET email = (SELECT lower(email) FROM auth_user WHERE id = ?1)
         WHERE id = ${own}
           AND EXISTS (SELECT 1 FROM auth_user WHERE id = ?1 AND emailVerified = 1)
           AND NOT EXISTS (SELECT 1 FROM account WHERE email = (SELECT lower(email) FROM auth_user WHERE id = ?1))`,
      )
      .bind(userId),
  ]);
}

/** What a token lets a user sign up for: an account of the operator, with its address, or a membership. */
export interface Invited {
  /** The only address that may use it; undefined for a link for several people. */
  email?: string | undefined;
  /** Set for an invitation to be a member. */
  member?: OpenInvitation;
}

/** What a token invites to, or undefined: unknown, used, or expired. D1 is asked only for what can be a token. */
export async function invitedTo(db: D1Database, token: string): Promise<Invited | undefined> {
  if (!/^(?:inv|join)_[0-9A-Za-z]{22}$/.test(token)) return undefined;
  const member = await findInvitation(db, token);
  if (member) return { member, email: member.email ?? undefined };
  const account = await ownedBy(db, token);
  return account && { email: account.email };
}

/** The account of an operator's invitation, or undefined: unknown, used, or expired. */
async function ownedBy(db: D1Database, token: string): Promise<Account | undefined> {
  const sql = "SELECT account_id AS id FROM invitation WHERE token_hash = ?1 AND expires_at > ?2";
  const [id] = await queryIds(db, sql, [await sha256Hex(token), Date.now()]);
  return id === undefined ? undefined : accountById(db, id);
}

/**
 * Makes a user the owner of the account of an operator's invitation, or a member by an invitation of members, if the address is the right
 * one. Uses the invitation up. `by` is the user, for the audit log. Returns the account; undefined if nothing has changed: an invitation to
 * an account that lost changes to a restored database may be one that was withdrawn.
 */
export async function acceptInvitation(
  { DB: db, API: api }: { DB: D1Database; API: Pick<ConsoleApi, "isRestored"> },
  by: Actor & { id: string },
  user: { id: string; email: string },
  token: string,
): Promise<string | undefined> {
  const account = await ownedBy(db, token);
  const accountId = account?.id ?? (await findInvitation(db, token))?.accountId;
  if (accountId === undefined || (await api.isRestored(accountId))) return undefined;
  if (!account) return join(db, by, user, token);
  if (account.email !== user.email.toLowerCase()) return undefined;
  const membershipId = newId("mem_");
  const [made] = await db.batch([
    db
      .prepare(
        `INSERT INTO membership (id, user_id, account_id, role, created_at) SELECT ?4, ?1, ?2, 'owner', ?3
         WHERE NOT EXISTS (SELECT 1 FROM membership WHERE account_id = ?2) ON CONFLICT DO NOTHING RETURNING id`,
      )
      .bind(user.id, account.id, Date.now(), membershipId),
    auditRowIfChanged(db, account.id, by, { act: "member_joined", target: user.id, after: { role: "owner" } }),
    db.prepare("INSERT INTO wallet (id) SELECT ?1 WHERE changes() > 0").bind(membershipId),
    db.prepare("DELETE FROM invitation WHERE token_hash = ?1").bind(await sha256Hex(token)),
  ]);
  return made?.results.length === 1 ? account.id : undefined;
}
