/** The audit log: one row an act, written in the batch of the act. No statement changes a row; rows are removed when they are old, and with an account that is erased. */

import type { ActName } from "../base/acts.ts";
import { newId } from "../base/ids.ts";
import { hourMs } from "../base/times.ts";
import { execute, queryRow, queryRows } from "./query.ts";

/** Who acts: a user of the console, a key, the operator by the admin API, or a part of the product (`id` is its name: "stripe"). */
export interface Actor {
  kind: "user" | "key" | "operator" | "system";
  /** Of the user, or the wallet id of the key; null for the operator's token. */
  id: string | null;
  /** The IP address of the request; null without a request. */
  address: string | null;
}

/** Facts before or after an act, in the words and units of answers: amounts in balance units, times in Unix seconds. Never a secret, a key, a token or a hash of one. */
export type Facts = Record<string, string | number | boolean | null | readonly string[]>;

export interface Act {
  act: ActName;
  /** What was changed: the id of a key, a user, an invitation, a wallet; the name of a destination or a model. */
  target?: string | undefined;
  before?: Facts | undefined;
  after?: Facts | undefined;
}

const columns = "(account_id, at, id, act, actor, actor_id, address, target, before, after)";

function valuesOf(accountId: string, actor: Actor, { act, target, before, after }: Act, at: number) {
  const json = (facts: Facts | undefined) => (facts === undefined ? null : JSON.stringify(facts));
  return [
    accountId,
    at,
    newId("aud_"),
    act,
    actor.kind,
    actor.id,
    actor.address?.slice(0, 100) ?? null,
    target?.slice(0, 300) ?? null,
    json(before),
    json(after),
  ];
}

/** The statement that logs an act of the account, to be put into the batch of the act. `accountId` is empty for acts that concern no account: models and prices. */
export const auditRow = (db: D1Database, accountId: string, actor: Actor, act: Act, at = Date.now()): D1PreparedStatement =>
  db
    .prepare(`INSERT INTO audit_log ${columns} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`)
    .bind(...valuesOf(accountId, actor, act, at));

/** The same, directly after a statement of the batch that may have changed no row: then nothing is logged. */
export const auditRowIfChanged = (db: D1Database, accountId: string, actor: Actor, act: Act, at = Date.now()): D1PreparedStatement =>
  db
    .prepare(`INSERT INTO audit_log ${columns} SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE changes() > 0`)
    .bind(...valuesOf(accountId, actor, act, at));

/** A row as it is shown. `at` in milliseconds. */
export interface AuditRow {
  id: string;
  at: number;
  act: ActName;
  actor: Actor["kind"];
  actorId: string | null;
  /** The user's e-mail address or the key's name today; null if it was erased, or for others. */
  actorName: string | null;
  address: string | null;
  target: string | null;
  /** The e-mail address of the user or member, or the name of the key, that is the target; null for others. */
  targetName: string | null;
  /** The membership of the user that is the target, or that is the target itself; null if it has ended. */
  targetMember: string | null;
  before: Facts | null;
  after: Facts | null;
}

/** Which rows: all fields narrow. Times in milliseconds, `since` inclusive, `until` exclusive. */
export interface AuditFilter {
  acts?: readonly string[] | undefined;
  /** The id of a user or a key. */
  actor?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

/** The place of a row in the log. */
export interface AuditPlace {
  at: number;
  id: string;
}

type StoredRow = Omit<AuditRow, "before" | "after"> & { before: string | null; after: string | null };

/** A page of an account's log, newest first, after the row at `after`. Names are read as they are today, so that an erased person has none. */
export async function listAuditLog(
  db: D1Database,
  accountId: string,
  { acts: chosen, actor, since = 0, until = Number.MAX_SAFE_INTEGER }: AuditFilter,
  page: { limit: number; after?: AuditPlace | undefined },
): Promise<AuditRow[]> {
  const rows = await queryRows<StoredRow>(
    db,
    `SELECT l.id, l.at, l.act, l.actor, l.actor_id AS actorId, l.address, l.target, l.before, l.after,
        coalesce(u.email, k.name) AS actorName, coalesce(v.email, t.name, w.email) AS targetName, m.id AS targetMember
      FROM audit_log l
      LEFT JOIN auth_user u ON l.actor = 'user' AND u.id = l.actor_id
      LEFT JOIN api_key k ON l.actor = 'key' AND k.id = l.actor_id
      LEFT JOIN auth_user v ON v.id = l.target
      LEFT JOIN api_key t ON t.id = l.target AND t.account_id = l.account_id
      LEFT JOIN membership m ON m.account_id = l.account_id AND (m.id = l.target OR m.user_id = l.target)
      LEFT JOIN auth_user w ON w.id = m.user_id
      WHERE l.account_id = ?1 AND l.at >= ?2 AND l.at < ?3 AND (?4 IS NULL OR l.act IN (SELECT value FROM json_each(?4)))
        AND (?5 IS NULL OR l.actor_id = ?5) AND (?6 IS NULL OR (l.at, l.id) < (?6, ?7))
      ORDER BY l.at DESC, l.id DESC LIMIT ?8`,
    [
      accountId,
      since,
      until,
      chosen === undefined ? null : JSON.stringify(chosen),
      actor ?? null,
      page.after?.at ?? null,
      page.after?.id ?? null,
      page.limit,
    ],
  );
  const read = (json: string | null) => (json === null ? null : (JSON.parse(json) as Facts));
  return rows.map((row) => ({ ...row, before: read(row.before), after: read(row.after) }));
}

/** Acts that programs may repeat as often as they like: each leaves a row of up to ten kilobytes for `AUDIT_DAYS`, and a file beside the database. */
const repeatable = "'webhook_changed', 'webhook_secret_rotated', 'destination_set', 'destination_deleted'";
/** How many of them an account may do in an hour, so that none can fill the database. */
const hourlyActs = 120;

/** When the account may change its settings again, in milliseconds; undefined if it may now. */
export async function settingsFullUntil(db: D1Database, accountId: string, now: number): Promise<number | undefined> {
  const row = await queryRow<{ at: number }>(
    db,
    `SELECT at FROM audit_log WHERE account_id = ?1 AND at > ?2 AND act IN (${repeatable}) ORDER BY at DESC LIMIT 1 OFFSET ${hourlyActs - 1}`,
    [accountId, now - hourMs],
  );
  return row && row.at + hourMs;
}

/** The place of a row of the account; undefined if there is none of this id. */
export const findAuditPlace = (db: D1Database, accountId: string, id: string): Promise<AuditPlace | undefined> =>
  queryRow(db, "SELECT at, id FROM audit_log WHERE account_id = ?1 AND id = ?2", [accountId, id]);

/** Removes the rows of an account that is erased: they name people, addresses and buckets. */
export const eraseAuditLog = (db: D1Database, accountId: string): D1PreparedStatement =>
  db.prepare("DELETE FROM audit_log WHERE account_id = ?1").bind(accountId);

/** Removes at most `limit` rows that are older than `before` (milliseconds), the oldest first. */
export const pruneAuditLog = (db: D1Database, before: number, limit: number): Promise<void> =>
  execute(
    db,
    `DELETE FROM audit_log WHERE (account_id, at, id) IN (
      SELECT account_id, at, id FROM audit_log INDEXED BY audit_log_by_time WHERE at < ?1 ORDER BY at LIMIT ?2)`,
    [before, limit],
  );
