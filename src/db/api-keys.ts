/** API keys in D1, without their money. */

import { newApiKey, newId, sha256Hex } from "../base/ids.ts";
import { forgetCallers, type KeyScope } from "./callers.ts";
import { type Announcer, changeKeys } from "./account-changes.ts";
import { type Actor, auditRow, auditRowIfChanged, type Facts } from "./audit-log.ts";
import { openWallet } from "./ledger.ts";
import { toSeconds } from "../base/times.ts";
import { queryRow, queryRows } from "./query.ts";

export interface ApiKey {
  id: string;
  accountId: string;
  /** The wallet whose quota it spends: its own id, or that of the key that it replaced */
  walletId: string;
  name: string;
  prefix: string;
  createdAt: number;
  expiresAt: number | null;
  /** Since when it is refused, until it is resumed; null while it works. */
  pausedAt: number | null;
  scope: KeyScope;
  /** The user whom it belongs to, and with whose membership it ends; null: it belongs to the account. */
  ownerId: string | null;
}

interface KeyRow extends Omit<ApiKey, "scope"> {
  scope: string | null;
}

const toKey = ({ scope, ...row }: KeyRow): ApiKey => ({ ...row, scope: scope === null ? {} : (JSON.parse(scope) as KeyScope) });

const keyColumns =
  "id, account_id AS accountId, coalesce(wallet_id, id) AS walletId, name, prefix, created_at AS createdAt, expires_at AS expiresAt, paused_at AS pausedAt, scope, owner_id AS ownerId";

const keyCount = (account: string) => `(SELECT count(*) FROM api_key WHERE account_id = ${account} AND deleted_at IS NULL)`;

/** The maximum number of an account's keys, without deleted ones. */
const maxKeys = 100;

/** What the audit log says of a key. */
const factsOf = ({ name, prefix, expiresAt, scope, ownerId }: ApiKey): Facts => ({
  name,
  prefix,
  ...(expiresAt !== null && { expires_at: toSeconds(expiresAt) }),
  ...(ownerId !== null && { owner: ownerId }),
  ...(Object.keys(scope).length > 0 && { scope: JSON.stringify(scope) }),
});

/** The row of the audit log for a new key, to be put directly behind the statement that creates it. */
const logNewKey = (db: D1Database, by: Actor, key: ApiKey): D1PreparedStatement =>
  auditRowIfChanged(db, key.accountId, by, { act: "key_created", target: key.id, after: factsOf(key) });

/** A new key and the statement that stores its hash; it returns no row if the account has `max` keys. The key itself is returned only here. */
export async function insertKey(
  db: D1Database,
  accountId: string,
  name: string,
  expiresAt: number | null,
  { max = maxKeys, scope = {}, ownerId = null }: { max?: number; scope?: KeyScope; ownerId?: string | null } = {},
): Promise<{ apiKey: ApiKey; key: string; statement: D1PreparedStatement }> {
  const key = newApiKey();
  const id = newId("key_");
  const apiKey: ApiKey = {
    id,
    accountId,
    walletId: id,
    name,
    prefix: key.slice(0, 10),
    createdAt: Date.now(),
    expiresAt,
    pausedAt: null,
    scope,
    ownerId,
  };
  const statement = db
    .prepare(
      `INSERT INTO api_key (id, account_id, name, hash, prefix, created_at, expires_at, scope, owner_id)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?9, ?10 WHERE ${keyCount("?2")} < ?8 RETURNING id`,
    )
    .bind(id, accountId, name, await sha256Hex(key), apiKey.prefix, apiKey.createdAt, expiresAt, max, JSON.stringify(scope), ownerId);
  return { apiKey, key, statement };
}

/** Creates a key with its wallet; undefined if the account has too many keys. `quota` in millionths, null without a limit. */
export async function createKey(
  db: D1Database,
  by: Actor,
  accountId: string,
  { name, expiresAt, quota, ...more }: Pick<ApiKey, "name" | "expiresAt" | "scope"> & { quota: number | null; ownerId?: string },
): Promise<{ apiKey: ApiKey; key: string } | undefined> {
  const { statement, ...created } = await insertKey(db, accountId, name, expiresAt, more);
  const [inserted] = await db.batch([statement, logNewKey(db, by, created.apiKey), openWallet(db, created.apiKey.id, quota)]);
  return inserted?.results.length === 0 ? undefined : created;
}

/** An account's keys that are not deleted, oldest first. */
export const listKeys = async (db: D1Database, accountId: string) =>
  (
    await queryRows<KeyRow>(db, `SELECT ${keyColumns} FROM api_key WHERE account_id = ?1 AND deleted_at IS NULL ORDER BY created_at, id`, [
      accountId,
    ])
  ).map(toKey);

/** A key by its id or by its digest, unless it is deleted. */
export async function findKey(db: D1Database, idOrHash: string): Promise<ApiKey | undefined> {
  const row = await queryRow<KeyRow>(db, `SELECT ${keyColumns} FROM api_key WHERE (id = ?1 OR hash = ?1) AND deleted_at IS NULL`, [
    idOrHash,
  ]);
  return row ? toKey(row) : undefined;
}

/** Removes the callers with this wallet from this machine's cache. */
const forgetKey = (walletId: string) => forgetCallers(({ caller }) => caller.keyId === walletId);

/** Deletes a key; false if it was deleted before. */
export async function deleteKey(db: D1Database, announcer: Announcer, by: Actor, key: ApiKey): Promise<boolean> {
  const { id, accountId, walletId } = key;
  const at = Date.now();
  const statement = db.prepare("UPDATE api_key SET deleted_at = ?2 WHERE id = ?1 AND deleted_at IS NULL RETURNING id").bind(id, at);
  const logged = auditRowIfChanged(db, accountId, by, { act: "key_deleted", target: id, before: factsOf(key) });
  const [deleted] = await changeKeys(db, announcer, accountId, [statement, logged], { act: "key_deleted", id, at });
  forgetKey(walletId);
  return deleted?.results.length === 1;
}

/**
 * Creates a key that replaces another: with the same name and expiry, and with the same wallet, so that both together
 * spend at most one quota, whatever runs in parallel. The old one expires in `overlapMs`. The new key is returned only here;
 * undefined if the account has no such key, it no longer works, or it was already replaced; also if the account has twice
 * the maximum of keys, because replaced ones are not deleted.
 */
export async function rotateKey(
  db: D1Database,
  announcer: Announcer,
  by: Actor,
  { accountId, id }: Pick<ApiKey, "accountId" | "id">,
  overlapMs: number,
): Promise<string | undefined> {
  const key = newApiKey();
  const now = Date.now();
  const change = { act: "key_replaced", id, expiresAt: now + overlapMs } as const;
  const statements = [
    db
      .prepare(
        `INSERT INTO api_key (id, account_id, wallet_id, name, hash, prefix, created_at, expires_at, scope, owner_id)
         SELECT ?1, account_id, coalesce(wallet_id, id), name, ?2, ?3, max(?4, created_at + 1), expires_at, scope, owner_id FROM api_key o
         WHERE id = ?5 AND account_id = ?6 AND deleted_at IS NULL AND paused_at IS NULL AND (expires_at IS NULL OR expires_at > ?4)
           AND NOT EXISTS (SELECT 1 FROM api_key WHERE account_id = ?6 AND wallet_id = coalesce(o.wallet_id, o.id)
                           AND created_at > o.created_at AND deleted_at IS NULL)
           AND ${keyCount("?6")} < ${2 * maxKeys}
         RETURNING wallet_id AS walletId`,
      )
      .bind(newId("key_"), await sha256Hex(key), key.slice(0, 10), now, id, accountId),
    db
      .prepare("UPDATE api_key SET expires_at = min(coalesce(expires_at, ?2), ?2) WHERE id = ?1 AND changes() > 0")
      .bind(id, now + overlapMs),
    auditRowIfChanged(db, accountId, by, {
      act: "key_rotated",
      target: id,
      after: { prefix: key.slice(0, 10), old_until: toSeconds(now + overlapMs) },
    }),
  ];
  const [made] = await changeKeys<{ walletId: string }>(db, announcer, accountId, statements, change);
  const row = made?.results[0];
  if (!row) return undefined;
  forgetKey(row.walletId);
  return key;
}

/** Sets when a key expires, in milliseconds; null is never. Not of a key that another one replaced, whose overlap ends when its owner chose. */
export async function setExpiry(
  db: D1Database,
  announcer: Announcer,
  by: Actor,
  { accountId, id, walletId, expiresAt: before }: ApiKey,
  expiresAt: number | null,
): Promise<void> {
  const statement = db
    .prepare(
      `UPDATE api_key SET expires_at = ?2 WHERE id = ?1
         AND NOT EXISTS (SELECT 1 FROM api_key n WHERE n.wallet_id = ?3 AND n.created_at > api_key.created_at AND n.deleted_at IS NULL)`,
    )
    .bind(id, expiresAt, walletId);
  const logged = auditRowIfChanged(db, accountId, by, {
    act: "key_expiry_changed",
    target: id,
    before: { expires_at: toSeconds(before) },
    after: { expires_at: toSeconds(expiresAt) },
  });
  await changeKeys(db, announcer, accountId, [statement, logged], { act: "key_expiry", id, expiresAt });
  forgetKey(walletId);
}

/** Pauses a key, which is then refused like a deleted one, or lets it work again. Nothing changes if it is so already. Running tasks finish. */
export async function pauseKey(
  db: D1Database,
  announcer: Announcer,
  by: Actor,
  { accountId, id, walletId, name, prefix }: ApiKey,
  isPaused: boolean,
): Promise<void> {
  const pausedAt = isPaused ? Date.now() : null;
  const statement = db
    .prepare("UPDATE api_key SET paused_at = ?2 WHERE id = ?1 AND deleted_at IS NULL AND (paused_at IS NULL) = (?2 IS NOT NULL)")
    .bind(id, pausedAt);
  const logged = auditRowIfChanged(db, accountId, by, {
    act: isPaused ? "key_paused" : "key_resumed",
    target: id,
    after: { name, prefix },
  });
  await changeKeys(db, announcer, accountId, [statement, logged], { act: "key_paused", id, pausedAt });
  forgetKey(walletId);
}

/** Changes the name and scope of a key, and of the key that it replaced or that replaced it, because reports show them as one. */
export async function changeKey(
  db: D1Database,
  announcer: Announcer,
  by: Actor,
  key: ApiKey,
  name: string,
  scope: KeyScope,
): Promise<void> {
  const { accountId, walletId } = key;
  const statement = db
    .prepare("UPDATE api_key SET name = ?3, scope = ?4 WHERE account_id = ?1 AND coalesce(wallet_id, id) = ?2")
    .bind(accountId, walletId, name, JSON.stringify(scope));
  const isSame = name === key.name && JSON.stringify(scope) === JSON.stringify(key.scope);
  const act = { act: "key_changed", target: key.id, before: factsOf(key), after: factsOf({ ...key, name, scope }) } as const;
  const logged = isSame ? [] : [auditRow(db, accountId, by, act)];
  await changeKeys(db, announcer, accountId, [statement, ...logged], { act: "key_scope", id: walletId, scope });
  forgetKey(walletId);
}

/** The names of all keys that the account ever had, by their ids. */
export async function keyNames(db: D1Database, accountId: string): Promise<Map<string, string>> {
  const rows = await queryRows<{ id: string; name: string }>(db, "SELECT id, name FROM api_key WHERE account_id = ?1", [accountId]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}
