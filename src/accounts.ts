/** Accounts and API keys in D1: everything about them but their money. */

import { isWellFormedKey, newApiKey, newId, sha256Hex } from "./ids.ts";

export interface Account {
  id: string;
  email: string;
  name: string | null;
  disabled: 0 | 1;
  /** Sees the operator's pages of the console. */
  admin: 0 | 1;
  createdAt: number;
}

export interface ApiKey {
  id: string;
  accountId: string;
  /** Whose quota it spends: its own id, or that of the key whose place it took */
  walletId: string;
  name: string;
  prefix: string;
  createdAt: number;
  expiresAt: number | null;
}

/** Who is calling. */
export interface Caller {
  accountId: string;
  /** The wallet of the key: its own id unless it took another's place. */
  keyId: string;
}

const accountColumns = "id, email, name, disabled, admin, created_at AS createdAt";
const keyColumns =
  "id, account_id AS accountId, coalesce(wallet_id, id) AS walletId, name, prefix, created_at AS createdAt, expires_at AS expiresAt";

/** A new account and the statement that creates it, without its wallet; it returns no row when the e-mail address is taken. */
export function insertAccount(db: D1Database, email: string, name: string | null): { account: Account; statement: D1PreparedStatement } {
  const account: Account = { id: newId("acc_"), email: email.toLowerCase(), name, disabled: 0, admin: 0, createdAt: Date.now() };
  const statement = db
    .prepare("INSERT INTO account (id, email, name, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (email) DO NOTHING RETURNING id")
    .bind(account.id, account.email, account.name, account.createdAt);
  return { account, statement };
}

export const accountById = (db: D1Database, id: string) =>
  db.prepare(`SELECT ${accountColumns} FROM account WHERE id = ?1`).bind(id).first<Account>();

export const accountByEmail = (db: D1Database, email: string) =>
  db.prepare(`SELECT ${accountColumns} FROM account WHERE email = ?1`).bind(email.toLowerCase()).first<Account>();

/** A page of accounts in the order of their ids. */
export const listAccounts = async (db: D1Database, page: { limit: number; after?: string | undefined }) =>
  (
    await db
      .prepare(`SELECT ${accountColumns} FROM account WHERE id > ?1 ORDER BY id LIMIT ?2`)
      .bind(page.after ?? "", page.limit)
      .run<Account>()
  ).results;

/**
 * A page of the accounts that have `text` in their e-mail address or name, or for their id, in the order of their addresses, after the
 * account `after`. Upper and lower case are one for ASCII letters. Looks at every account until the page is full.
 */
export const searchAccounts = async (db: D1Database, text: string, page: { limit: number; after?: string | undefined }) =>
  (
    await db
      // instr, not LIKE: nothing in the text is a wildcard, and D1 refuses long patterns.
      .prepare(
        `SELECT ${accountColumns} FROM account
         WHERE (?1 = id OR instr(email, lower(?1)) > 0 OR instr(lower(name), lower(?1)) > 0)
           AND (?2 IS NULL OR email > (SELECT email FROM account WHERE id = ?2))
         ORDER BY email LIMIT ?3`,
      )
      .bind(text, page.after ?? null, page.limit)
      .run<Account>()
  ).results;

/** Gives an account the operator's pages, or takes them away: from its next request on. */
export async function setAdmin(db: D1Database, id: string, admin: boolean): Promise<void> {
  await db.prepare("UPDATE account SET admin = ?2 WHERE id = ?1").bind(id, Number(admin)).run();
}

/** Disables or enables an account; its keys are refused at once on this machine. */
export async function setDisabled(db: D1Database, id: string, disabled: boolean): Promise<void> {
  await db
    .prepare("UPDATE account SET disabled = ?2 WHERE id = ?1")
    .bind(id, disabled ? 1 : 0)
    .run();
  forgetCallers((known) => known.caller.accountId === id);
}

/** A new key and the statement that keeps its hash. The key itself is returned this once. */
export async function insertKey(
  db: D1Database,
  accountId: string,
  name: string,
  expiresAt: number | null,
): Promise<{ apiKey: ApiKey; key: string; statement: D1PreparedStatement }> {
  const key = newApiKey();
  const id = newId("key_");
  const apiKey: ApiKey = { id, accountId, walletId: id, name, prefix: key.slice(0, 10), createdAt: Date.now(), expiresAt };
  const statement = db
    .prepare("INSERT INTO api_key (id, account_id, name, hash, prefix, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
    .bind(id, accountId, name, await sha256Hex(key), apiKey.prefix, apiKey.createdAt, expiresAt);
  return { apiKey, key, statement };
}

/** An account's keys that are not deleted, oldest first. */
export const listKeys = async (db: D1Database, accountId: string) =>
  (
    await db
      .prepare(`SELECT ${keyColumns} FROM api_key WHERE account_id = ?1 AND deleted_at IS NULL ORDER BY created_at, id`)
      .bind(accountId)
      .run<ApiKey>()
  ).results;

/** Deletes a key; false when there is none. */
export async function deleteKey(db: D1Database, id: string): Promise<boolean> {
  const { results } = await db
    .prepare("UPDATE api_key SET deleted_at = ?2 WHERE id = ?1 AND deleted_at IS NULL RETURNING coalesce(wallet_id, id) AS walletId")
    .bind(id, Date.now())
    .run<{ walletId: string }>();
  forgetCallers((known) => known.caller.keyId === results[0]?.walletId);
  return results.length === 1;
}

/**
 * Makes a key that takes another's place: of the same name and expiry, and with the same wallet, so that both together
 * spend what one could, whatever runs meanwhile. The old one expires in `overlapMs`. The new key is returned this once,
 * undefined when the account has no such key, it works no more, or another has taken its place.
 */
export async function rotateKey(db: D1Database, accountId: string, id: string, overlapMs: number): Promise<string | undefined> {
  const key = newApiKey();
  const now = Date.now();
  const [made] = await db.batch<{ walletId: string }>([
    db
      .prepare(
        `INSERT INTO api_key (id, account_id, wallet_id, name, hash, prefix, created_at, expires_at)
         SELECT ?1, account_id, coalesce(wallet_id, id), name, ?2, ?3, max(?4, created_at + 1), expires_at FROM api_key o
         WHERE id = ?5 AND account_id = ?6 AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > ?4)
           AND NOT EXISTS (SELECT 1 FROM api_key WHERE account_id = ?6 AND wallet_id = coalesce(o.wallet_id, o.id)
                           AND created_at > o.created_at AND deleted_at IS NULL)
         RETURNING wallet_id AS walletId`,
      )
      .bind(newId("key_"), await sha256Hex(key), key.slice(0, 10), now, id, accountId),
    db
      .prepare("UPDATE api_key SET expires_at = min(coalesce(expires_at, ?2), ?2) WHERE id = ?1 AND changes() > 0")
      .bind(id, now + overlapMs),
  ]);
  const [row] = made!.results;
  if (!row) return undefined;
  forgetCallers((known) => known.caller.keyId === row.walletId);
  return key;
}

/** Renames a key, and the one whose place it took or that took its place: they are one to those who read the books. */
export async function renameKey(db: D1Database, { accountId, walletId }: ApiKey, name: string): Promise<void> {
  await db
    .prepare("UPDATE api_key SET name = ?3 WHERE account_id = ?1 AND coalesce(wallet_id, id) = ?2")
    .bind(accountId, walletId, name)
    .run();
}

const invitationMs = 7 * 86_400_000;

/** Invites a person into an account for a week. The token is returned this once. */
export async function invite(db: D1Database, accountId: string): Promise<{ token: string; expiresAt: number }> {
  const token = newId("inv_");
  const expiresAt = Date.now() + invitationMs;
  await db
    .prepare("INSERT INTO invitation (token_hash, account_id, expires_at) VALUES (?1, ?2, ?3)")
    .bind(await sha256Hex(token), accountId, expiresAt)
    .run();
  return { token, expiresAt };
}

interface KnownCaller {
  caller: Caller;
  /** When this stops being believed, milliseconds. */
  until: number;
}

/** How long an isolate believes what it read of a key: the time within which a deleted key is refused everywhere. */
const believeMs = 8_000;
const mostKnown = 10_000;
const known = new Map<string, KnownCaller>();
/** Counts the evictions, so that a look-up that began before one is not believed after it. */
let evictions = 0;

/**
 * Who holds this key, or undefined: mistyped, unknown, deleted, expired, or its account is disabled. A caller that was
 * found is believed for some seconds without another look into D1.
 */
export async function callerOf(db: D1Database, key: string): Promise<Caller | undefined> {
  const now = Date.now();
  // The key itself finds its caller in this memory, by a hash that is seeded anew in each isolate; D1 knows only the digest.
  const cached = known.get(key);
  if (cached && cached.until > now) return cached.caller;
  if (!isWellFormedKey(key)) return undefined;
  const before = evictions;
  const row = await db
    .prepare(
      `SELECT coalesce(k.wallet_id, k.id) AS keyId, k.account_id AS accountId, k.expires_at AS expiresAt FROM api_key k JOIN account a ON a.id = k.account_id
       WHERE k.hash = ?1 AND k.deleted_at IS NULL AND a.disabled = 0 AND (k.expires_at IS NULL OR k.expires_at > ?2)`,
    )
    .bind(await sha256Hex(key), now)
    .first<Caller & { expiresAt: number | null }>();
  known.delete(key);
  if (!row) return undefined;
  const caller = { accountId: row.accountId, keyId: row.keyId };
  if (before !== evictions) return caller;
  if (known.size >= mostKnown) known.delete(known.keys().next().value!);
  known.set(key, { caller, until: Math.min(now + believeMs, row.expiresAt ?? Infinity) });
  return caller;
}

/** Drops cached callers on this machine. */
function forgetCallers(which: (known: KnownCaller) => boolean): void {
  evictions++;
  for (const [key, entry] of known) if (which(entry)) known.delete(key);
}
