/**
 * Changes of an account's access: its keys, roles, limits, webhook and logins. Each is announced to its wallet object first, so that a reader of a
 * replica can detect that the replica lags, and a reader of a restored database that the change is lost and can be made again.
 */

import type { Role } from "../base/roles.ts";
import type { KeyScope } from "./callers.ts";
import type { Budget } from "./grants.ts";

/**
 * A change that a restored database must not undo. It contains the result, not the difference, so that making it again changes nothing.
 * `id` is a key, or for a quota or budget the wallet of a key or of the account. Times in milliseconds, amounts in millionths.
 */
export type AccountChange =
  | { act: "key_deleted"; id: string; at: number }
  /** Another key replaced it: it works until then. */
  | { act: "key_replaced"; id: string; expiresAt: number }
  | { act: "key_expiry"; id: string; expiresAt: number | null }
  | { act: "key_paused"; id: string; pausedAt: number | null }
  | { act: "key_scope"; id: string; scope: KeyScope }
  | { act: "key_quota"; id: string; quota: number | null }
  | { act: "budget"; id: string; budget: Budget | null }
  | { act: "disabled"; disabled: boolean }
  | { act: "admin"; admin: boolean }
  | { act: "webhook_endpoint"; url: string | null }
  /** `secret` is sealed, as in D1. */
  | { act: "webhook_secret"; secret: string; at: number }
  /** `secret` is sealed, as in D1. */
  | { act: "destination"; destination: DestinationRow }
  | { act: "destination_deleted"; name: string }
  /** Automatic top-up; null: it was switched off. */
  | { act: "top_up"; settings: TopUpSettings | null }
  /** What the user signs in with after a removal or a new password: the password's scrypt hash, and the ids of all logins and passkeys. */
  | { act: "logins"; userId: string; password: string | null; logins: string[]; passkeys: string[] }
  | { act: "member"; userId: string; role: Role; disabled: boolean }
  | { act: "member_left"; userId: string; at: number }
  /** Of a member to be: withdrawn, or replaced by another one for the same address. */
  | { act: "invitation_withdrawn"; id: string }
  | { act: "erased" }
  /** The operator accepted the state of a restored database, which had this revision. The changes after that revision are void. */
  | { act: "accepted"; restoredTo: number };

/** A bucket of the caller for delivery. Times in milliseconds. */
export interface DestinationRow {
  name: string;
  kind: "s3";
  /** The origin of its API: `https://s3.eu-central-1.amazonaws.com`. */
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  /** The secret access key; sealed in D1. */
  secret: string;
  /** The beginning of every key; empty if none was given. */
  prefix: string;
  createdAt: number;
  changedAt: number;
}

/** When money is taken automatically: money in the smallest unit of its currency, amounts in millionths. */
export interface TopUpSettings {
  /** Money is taken when the balance is below this. */
  threshold: number;
  /** Of each payment, and what it adds. */
  money: number;
  currency: string;
  amount: number;
  /** The maximum amount in a month (UTC). */
  ceiling: number;
}

/** Announces a change to the account's wallet object, which records it outside the database; returns the change's revision. */
export interface Announcer {
  announceKeys(accountId: string, change?: AccountChange): Promise<number>;
}

const maxAttempts = 5;

/** Announces a change and makes it in one transaction. `change` describes it for a database that is restored later. If a change that was announced later was written first, announces it again. Throws if it did not take effect or its outcome is unknown. */
export async function changeKeys<T>(
  db: D1Database,
  announcer: Announcer,
  accountId: string,
  statements: D1PreparedStatement[],
  change?: AccountChange,
): Promise<D1Result<T>[]> {
  for (let attempt = 1; ; attempt++) {
    const revision = await announcer.announceKeys(accountId, change);
    const mark = db.prepare("UPDATE account SET keys_revision = ?2 WHERE id = ?1").bind(accountId, revision);
    try {
      return (await db.batch<T>([mark, ...statements])).slice(1);
    } catch (error) {
      if (attempt === maxAttempts || !String(error).includes("keys_revision")) throw error;
    }
  }
}

/** The revision of the last change in the primary database. */
export const readKeysRevision = async (db: D1Database, accountId: string): Promise<number> =>
  (await db.prepare("SELECT keys_revision FROM account WHERE id = ?1").bind(accountId).first<number>("keys_revision")) ?? 0;

/** A change with the account's revision that it was announced with. */
export interface RecordedChange {
  revision: number;
  change: AccountChange;
}

/** The changes that count, in their order: those that the operator gave up are left out. */
export function validChanges(recorded: readonly RecordedChange[]): AccountChange[] {
  let valid: RecordedChange[] = [];
  for (const entry of recorded) {
    const { change } = entry;
    if (change.act === "accepted") valid = valid.filter(({ revision }) => revision <= change.restoredTo);
    else valid.push(entry);
  }
  return valid.map(({ change }) => change);
}

/** The statements that make a change again; none for those that are made by the wallet object or by an erasure. Rows that the database does not have stay missing. */
export function repeatStatements(db: D1Database, accountId: string, change: AccountChange): D1PreparedStatement[] {
  const ofKey = (set: string, id: string, value: number | string | null) => [
    db.prepare(`UPDATE api_key SET ${set} WHERE account_id = ?1 AND id = ?2`).bind(accountId, id, value),
  ];
  switch (change.act) {
    case "key_deleted":
      return ofKey("deleted_at = coalesce(deleted_at, ?3)", change.id, change.at);
    case "key_replaced":
      return ofKey("expires_at = min(coalesce(expires_at, ?3), ?3)", change.id, change.expiresAt);
    case "key_expiry":
      return ofKey("expires_at = ?3", change.id, change.expiresAt);
    case "key_paused":
      return ofKey("paused_at = ?3", change.id, change.pausedAt);
    case "key_scope":
      return [
        db
          .prepare("UPDATE api_key SET scope = ?3 WHERE account_id = ?1 AND coalesce(wallet_id, id) = ?2")
          .bind(accountId, change.id, JSON.stringify(change.scope)),
      ];
    case "disabled":
      return [db.prepare("UPDATE account SET disabled = ?2 WHERE id = ?1").bind(accountId, Number(change.disabled))];
    case "admin":
      return [db.prepare("UPDATE account SET admin = ?2 WHERE id = ?1").bind(accountId, Number(change.admin))];
    case "webhook_endpoint":
      return [db.prepare("UPDATE webhook SET url = ?2 WHERE account_id = ?1").bind(accountId, change.url)];
    case "webhook_secret":
      return [replaceSecret(db, accountId, change.secret, change.at)];
    case "destination":
      return [putDestination(db, accountId, change.destination)];
    case "destination_deleted":
      return [removeDestination(db, accountId, change.name)];
    case "top_up":
      return [change.settings ? putTopUp(db, accountId, change.settings) : removeTopUp(db, accountId)];
    case "logins":
      return [
        db
          .prepare("UPDATE auth_account SET password = ?2 WHERE userId = ?1 AND providerId = 'credential'")
          .bind(change.userId, change.password),
        ...(["auth_account", "auth_passkey"] as const).map((table) =>
          db
            .prepare(`DELETE FROM ${table} WHERE userId = ?1 AND id NOT IN (SELECT value FROM json_each(?2))`)
            .bind(change.userId, JSON.stringify(table === "auth_account" ? change.logins : change.passkeys)),
        ),
      ];
    case "member":
      return [
        db
          .prepare(
            `UPDATE membership AS m SET role = ?3, disabled = ?4 WHERE m.account_id = ?1 AND m.user_id = ?2
               AND (?3 = 'owner' AND ?4 = 0 OR ${isNotLastOwner})`,
          )
          .bind(accountId, change.userId, change.role, Number(change.disabled)),
      ];
    case "member_left":
      return removalStatements(db, accountId, change.userId, change.at);
    case "invitation_withdrawn":
      return [removeInvitation(db, accountId, change.id)];
    case "key_quota":
    case "budget":
    case "erased":
    case "accepted":
      return [];
  }
}

/**
 * SQL: the member `m` is not the last active owner of the account. Every statement that takes a role away has it, so that of two owners who
 * leave at the same time one stays.
 */
export const isNotLastOwner = `(m.role <> 'owner' OR m.disabled = 1 OR EXISTS (SELECT 1 FROM membership o
  WHERE o.account_id = m.account_id AND o.user_id <> m.user_id AND o.role = 'owner' AND o.disabled = 0))`;

/** The statements that end a membership and delete the member's keys; nothing happens if the member is the last owner. */
export const removalStatements = (db: D1Database, accountId: string, userId: string, at: number, allowed = "1", ...values: string[]) => [
  db
    .prepare(
      `DELETE FROM membership WHERE id = (SELECT m.id FROM membership m WHERE m.account_id = ?1 AND m.user_id = ?2 AND ${isNotLastOwner} AND ${allowed})
       RETURNING id`,
    )
    .bind(accountId, userId, ...values),
  db
    .prepare(
      `UPDATE api_key SET deleted_at = coalesce(deleted_at, ?3) WHERE account_id = ?1 AND owner_id = ?2
       AND NOT EXISTS (SELECT 1 FROM membership WHERE account_id = ?1 AND user_id = ?2)`,
    )
    .bind(accountId, userId, at),
  // Only that user could read them.
  db
    .prepare(
      `DELETE FROM conversation WHERE account_id = ?1 AND user_id = ?2
       AND NOT EXISTS (SELECT 1 FROM membership WHERE account_id = ?1 AND user_id = ?2)`,
    )
    .bind(accountId, userId),
];

/**
 * Replaces the secret by a sealed one; the previous one signs until a day after `at` (milliseconds). With `expected`, a sealed secret, only if
 * the present one is still that.
 */
export const replaceSecret = (db: D1Database, accountId: string, sealed: string, at: number, expected?: string): D1PreparedStatement =>
  db
    .prepare(
      `INSERT INTO webhook (account_id, secret) VALUES (?1, ?2)
       ON CONFLICT DO UPDATE SET old_secret = secret, secret = excluded.secret, rotated_at = ?3 WHERE ?4 IS NULL OR secret = ?4
       RETURNING account_id`,
    )
    .bind(accountId, sealed, at, expected ?? null);

/** The maximum number of an account's destinations. */
const maxDestinations = 20;

/**
 * Creates or replaces a destination, whose secret is sealed. Changes no row if the account has the maximum number of others. Exact in parallel,
 * and in a restored database, where the same changes are made again in the same order.
 */
export const putDestination = (db: D1Database, accountId: string, destination: DestinationRow): D1PreparedStatement => {
  const { name, kind, endpoint, bucket, region, accessKeyId, secret, prefix, createdAt, changedAt } = destination;
  return db
    .prepare(
      `INSERT INTO destination (account_id, name, kind, endpoint, bucket, region, access_key_id, secret, prefix, created_at, changed_at)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
       WHERE (SELECT count(*) FROM destination WHERE account_id = ?1 AND name <> ?2) < ?12
       ON CONFLICT DO UPDATE SET kind = excluded.kind, endpoint = excluded.endpoint, bucket = excluded.bucket, region = excluded.region,
         access_key_id = excluded.access_key_id, secret = excluded.secret, prefix = excluded.prefix, changed_at = excluded.changed_at`,
    )
    .bind(accountId, name, kind, endpoint, bucket, region, accessKeyId, secret, prefix, createdAt, changedAt, maxDestinations);
};

export const removeDestination = (db: D1Database, accountId: string, name: string): D1PreparedStatement =>
  db.prepare("DELETE FROM destination WHERE account_id = ?1 AND name = ?2").bind(accountId, name);

export const removeInvitation = (db: D1Database, accountId: string, id: string): D1PreparedStatement =>
  db.prepare("DELETE FROM member_invitation WHERE account_id = ?1 AND id = ?2 RETURNING id").bind(accountId, id);

/** Sets automatic top-up. It is not paused then; a stored card stays. */
export const putTopUp = (db: D1Database, accountId: string, settings: TopUpSettings): D1PreparedStatement => {
  const { threshold, money, currency, amount, ceiling } = settings;
  return db
    .prepare(
      `INSERT INTO top_up (account_id, threshold, money, currency, amount, ceiling) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT DO UPDATE SET threshold = excluded.threshold, money = excluded.money, currency = excluded.currency, amount = excluded.amount,
         ceiling = excluded.ceiling, paused_at = NULL, paused_for = NULL, mailed_at = NULL`,
    )
    .bind(accountId, threshold, money, currency, amount, ceiling);
};

/** Switches automatic top-up off. */
export const removeTopUp = (db: D1Database, accountId: string): D1PreparedStatement =>
  db.prepare("DELETE FROM top_up WHERE account_id = ?1").bind(accountId);
