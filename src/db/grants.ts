/**
 * The D1 queries of wallet objects: grants from an account's quota, settled entries in batches, quotas and budgets. Amounts in millionths.
 */

import type { Credit } from "./credits.ts";
import { insertFingerprints, type Made, toFingerprintRows } from "./fingerprints.ts";
import { addSettled, type BookedAttempt, toClass, toStoredAttempts } from "./settled-sums.ts";
import { type Act, type Actor, auditRowIfChanged } from "./audit-log.ts";

export interface Budget {
  amount: number;
  window: "day" | "month";
}

/** The row of an account or a key. */
export interface WalletRow {
  id: string;
  /** null is unlimited */
  quota: number | null;
  used: number;
  /** Accounts: the amount granted to the object, which spends from it. */
  granted: number;
  /** How many times the object has written the account's row. */
  revision: number;
  /** What was taken beyond the quota: callers see `quota - debt`. 0 for keys. */
  debt: number;
  budget: Budget | null;
  /** Keys: the membership of the owner, whose budget counts over all of the member's keys; null if the key belongs to the account. Missing where it was not read. */
  owner?: string | null;
}

/** A settled task or chat in the format of D1. */
export interface SettledEntry {
  taskId: string;
  keyId: string;
  kind: string;
  model: string;
  held: number;
  charged: number;
  outcome: string;
  /** When it was reserved and settled, milliseconds. */
  at: number;
  closedAt: number;
  /** The files that the task made. Only while it is being written: D1 keeps them without the task. */
  made?: Made;
  /** What the makers bill, by attempt; the task ended with the last one. */
  attempts?: readonly BookedAttempt[];
}

/** The column of each of its fields. The archive keeps the same fields. */
const entryColumns: Record<Exclude<keyof SettledEntry, "made">, string> = {
  taskId: "task_id",
  keyId: "key_id",
  kind: "kind",
  model: "model",
  held: "held",
  charged: "charged",
  outcome: "outcome",
  at: "at",
  closedAt: "closed_at",
  attempts: "attempts",
};
const entryFields = Object.keys(entryColumns) as (keyof typeof entryColumns)[];
const storedColumns = Object.values(entryColumns).join(", ");
/** SQL: all stored fields of entries, by their names. */
export const selectedFields = entryFields.map((field) => `${entryColumns[field]} AS ${field}`).join(", ");

type StoredRow = Omit<WalletRow, "budget"> & { budget: number | null; budgetWindow: Budget["window"] | null };

const columns = "id, quota, used, granted, revision, debt, budget, budget_window AS budgetWindow";
const owner = `(SELECT m.id FROM api_key k JOIN membership m ON m.user_id = k.owner_id AND m.account_id = k.account_id WHERE k.id = wallet.id) AS owner`;
const toRow = ({ budget, budgetWindow, ...row }: StoredRow): WalletRow => ({
  ...row,
  budget: budget === null || budgetWindow === null ? null : { amount: budget, window: budgetWindow },
});
const toRows = (result: D1Result | undefined): WalletRow[] => ((result?.results ?? []) as StoredRow[]).map(toRow);

/** The row of the wallet `alias` as JSON, for a query that joins it; null if it does not exist. `member` is SQL for the membership of a key's owner. */
export const rowAsJson = (alias: string, member?: string): string =>
  `iif(${alias}.id IS NULL, NULL, json_object(${["id", "quota", "used", "granted", "revision", "debt", "budget"].map((name) => `'${name}', ${alias}.${name}`).join(", ")}, 'budgetWindow', ${alias}.budget_window${member === undefined ? "" : `, 'owner', ${member}`}))`;

/** A row that a query returned by `rowAsJson`. */
export const parseRow = (json: string): WalletRow => toRow(JSON.parse(json) as StoredRow);

const select = (db: D1Database, ids: string[]) =>
  db.prepare(`SELECT ${columns}, ${owner} FROM wallet WHERE id IN (SELECT value FROM json_each(?1))`).bind(JSON.stringify(ids));

/** The rows of these accounts and keys; those that do not exist are missing. */
export const readRows = async (db: D1Database, ids: string[]): Promise<WalletRow[]> => toRows(await select(db, ids).run());

/** `isDone`: the object's write took effect. `row`: the account's row after it; undefined if the account does not exist. */
export interface Written {
  isDone: boolean;
  row: WalletRow | undefined;
}

/** A write that takes effect only at the revision that the object knows: a repeated or late write changes nothing. */
async function writeAt(
  db: D1Database,
  accountId: string,
  revision: number,
  set: string,
  when: string,
  values: (number | null)[],
  logged: D1PreparedStatement[] = [],
): Promise<Written> {
  const update = db
    .prepare(`UPDATE wallet SET ${set}, revision = revision + 1 WHERE id = ?1 AND revision = ?2 AND ${when} RETURNING ${columns}`)
    .bind(accountId, revision, ...values);
  const [written] = logged.length === 0 ? [await update.run()] : await db.batch([update, ...logged]);
  const [row] = toRows(written);
  return row ? { isDone: true, row } : { isDone: false, row: (await readRows(db, [accountId]))[0] };
}

/**
 * Grants the object at least `missing`, and up to `block` if that is at most a tenth of the remaining quota, so that a small quota stays
 * exact. Not done if less than `missing` remains or the revision differs.
 */
export function grant(db: D1Database, accountId: string, revision: number, missing: number, block: number): Promise<Written> {
  const left = "(quota - debt - granted - used)";
  const amount = `max(CAST(?3 AS INTEGER), iif(quota IS NULL, CAST(?4 AS INTEGER), min(CAST(?4 AS INTEGER), ${left} / 10)))`;
  return writeAt(db, accountId, revision, `granted = granted + ${amount}`, `(quota IS NULL OR ${left} >= ?3)`, [missing, block]);
}

/** Returns an amount that the object does not need from the grant. */
export const giveBack = (db: D1Database, accountId: string, revision: number, amount: number): Promise<Written> =>
  writeAt(db, accountId, revision, "granted = granted - ?3", "granted >= ?3", [amount]);

/** What a change of the quota sets: `quota` is at least the granted and used amounts, and `debt` what it is too high by. */
export interface QuotaRow {
  quota: number | null;
  debt: number;
  granted: number;
}
const setQuota = "quota = ?3, debt = ?4, granted = ?5";
const isEnough = "(?3 IS NULL OR ?3 >= ?5 + used)";

/** Who changes a limit of an account, and the limit that it had. */
export interface LimitLog {
  accountId: string;
  by: Actor;
  act: Act;
}

const logLimit = (db: D1Database, { accountId, by, act }: LimitLog) => auditRowIfChanged(db, accountId, by, act);

/** Sets the account's quota and the granted amount in one write. Not done if the quota would be below the granted and used amounts. */
export const setAccountQuota = (db: D1Database, accountId: string, revision: number, row: QuotaRow, log: LimitLog): Promise<Written> =>
  writeAt(db, accountId, revision, setQuota, isEnough, [row.quota, row.debt, row.granted], [logLimit(db, log)]);

/**
 * The same for a credit or debit, which is stored in the same transaction. `isKnown`: the account has it, by this write or by an earlier
 * one, which moved the quota then. Throws if another account has it.
 */
export async function writeCredit(
  db: D1Database,
  accountId: string,
  revision: number,
  row: QuotaRow,
  credit: Credit,
  log: LimitLog,
): Promise<Written & { isKnown: boolean }> {
  const values = [accountId, revision, row.quota, row.debt, row.granted];
  const [, written, , , read, known] = await db.batch([
    db
      .prepare(
        `INSERT INTO credit (id, account_id, kind, amount, at, reason) SELECT ?6, id, ?7, ?8, ?9, ?10 FROM wallet
         WHERE id = ?1 AND revision = ?2 AND ${isEnough} ON CONFLICT DO NOTHING`,
      )
      .bind(...values, credit.id, credit.kind, credit.amount, credit.at, credit.reason),
    db
      .prepare(`UPDATE wallet SET ${setQuota}, revision = revision + 1 WHERE id = ?1 AND revision = ?2 AND changes() > 0 RETURNING id`)
      .bind(...values),
    logLimit(db, log),
    db
      .prepare(
        `UPDATE quota_change SET credit_id = ?2 WHERE id = (SELECT max(id) FROM quota_change WHERE account_id = ?1) AND ?3 AND changes() > 0`,
      )
      .bind(accountId, credit.id, Number(row.quota !== null)),
    select(db, [accountId]),
    db.prepare("SELECT account_id AS owner FROM credit WHERE id = ?1").bind(credit.id),
  ]);
  const owner = (known?.results[0] as { owner: string } | undefined)?.owner;
  if (owner !== undefined && owner !== accountId) throw new Error(`the credit ${credit.id} belongs to another account`);
  return { isDone: written?.results.length === 1, row: toRows(read)[0], isKnown: owner !== undefined };
}

/** Changes the row of an account or key: `change` starts after SET, and its WHERE names the id (?1). Returns the changed row; undefined if none was changed. */
const update = async (db: D1Database, change: string, id: string, ...values: (number | string | null)[]): Promise<WalletRow | undefined> =>
  toRows(
    await db
      .prepare(`UPDATE wallet SET ${change} RETURNING ${columns}`)
      .bind(id, ...values)
      .run(),
  )[0];

/** Raises the revision, so that earlier writes that may still arrive take no effect, and returns the row after that. */
export const fence = (db: D1Database, accountId: string): Promise<WalletRow | undefined> =>
  update(db, "revision = revision + 1 WHERE id = ?1", accountId);

/**
 * Changes the row with the id ?1, with the row of the audit log: not if the account is no longer at the revision of its last fence, so that an
 * earlier change that arrives late takes no effect. ?2 and ?3 are the values.
 */
async function updateLogged(
  db: D1Database,
  change: string,
  values: (string | number | null)[],
  revision: number,
  log: LimitLog,
): Promise<WalletRow | undefined> {
  const update = db
    .prepare(`UPDATE wallet SET ${change} AND (SELECT revision FROM wallet WHERE id = ?4) = ?5 RETURNING ${columns}`)
    .bind(...values, log.accountId, revision);
  return toRows((await db.batch([update, logLimit(db, log)]))[0])[0];
}

/** Sets a key's quota at the account's revision. undefined if it would be below what is used in D1. */
export const setKeyQuota = (db: D1Database, keyId: string, quota: number | null, revision: number, log: LimitLog) =>
  updateLogged(db, "quota = ?2 WHERE id = ?1 AND (?2 IS NULL OR ?2 >= used)", [keyId, quota, null], revision, log);

/** Sets the budget of an account or a key at the account's revision; null removes it. */
export const setBudget = (db: D1Database, id: string, budget: Budget | null, revision: number, log: LimitLog) =>
  updateLogged(db, "budget = ?2, budget_window = ?3 WHERE id = ?1", [id, budget?.amount ?? null, budget?.window ?? null], revision, log);

/** The charges in D1 since `since` (the first millisecond of a day), for the account, for each of its keys, and for each member over all keys. */
export async function readSpentSince(db: D1Database, accountId: string, since: number): Promise<Map<string, number>> {
  const sums = "SELECT key_id AS id, sum(charged) AS charged FROM spending WHERE account_id = ?1 AND day >= ?2 GROUP BY 1";
  const [keys, members] = await db.batch<{ id: string; charged: number }>([
    db.prepare(sums).bind(accountId, since),
    db
      .prepare(
        `SELECT m.id, sum(s.charged) AS charged FROM (${sums}) s JOIN api_key k ON k.id = s.id
         JOIN membership m ON m.user_id = k.owner_id AND m.account_id = k.account_id GROUP BY 1`,
      )
      .bind(accountId, since),
  ]);
  const ofKeys = keys?.results ?? [];
  const spent = new Map([...ofKeys, ...(members?.results ?? [])].map(({ id, charged }) => [id, charged]));
  return spent.set(
    accountId,
    ofKeys.reduce((sum, { charged }) => sum + charged, 0),
  );
}

/** The entries (?2, a JSON list of lists) that D1 does not have yet: each statement of `writeEntries` begins with them. */
const fresh = `WITH fresh (took, ${storedColumns}) AS (
  SELECT value ->> 0, ${entryFields.map((_, at) => `value ->> ${at + 1}`).join(", ")} FROM json_each(?2)
  WHERE NOT EXISTS (SELECT 1 FROM entry WHERE task_id = value ->> 1))`;
/**
 * The rows of the account and of the entries' keys (?5, a JSON list of ids), also of those without a new entry. Raises the account's revision (?3),
 * and shows it to the other statements. ?4 is 0 for entries without a grant. ?6 is returned from the grant, by a write that was not made before. A restored database may have an older limit of a key, and an object that lost its
 * storage does not know its holds: a key's limit may be exceeded, but the charge is not reduced.
 */
const moveCharges = `UPDATE wallet SET used = used + d.charged, reserved_at = max(coalesce(reserved_at, 0), d.at),
    granted = granted - iif(id = ?1 AND ?4, d.charged, 0) - iif(id = ?1 AND revision = ?3, ?6, 0), revision = revision + (id = ?1),
    quota = iif(id <> ?1 AND quota < used + d.charged, used + d.charged, quota)
  FROM (SELECT value AS owner, coalesce(sum(charged), 0) AS charged, coalesce(max(at), 0) AS at
    FROM json_each(?5) LEFT JOIN fresh ON value = ?1 OR value = key_id GROUP BY 1) d
  WHERE id = d.owner AND (SELECT revision FROM wallet WHERE id = ?1) >= ?3 RETURNING ${columns}`;
const isMoved = "(SELECT revision FROM wallet WHERE id = ?1) > ?3";
/** The sums by day. */
const addSpending = `INSERT INTO spending
  SELECT ?1, at / 86400000 * 86400000, model, key_id, sum(charged), sum(held - charged), sum(outcome = 'completed'), sum(outcome <> 'completed')
  FROM fresh WHERE ${isMoved} AND outcome <> 'refused' GROUP BY 2, 3, 4
  ON CONFLICT DO UPDATE SET charged = charged + excluded.charged, returned = returned + excluded.returned,
    completed = completed + excluded.completed, failed = failed + excluded.failed`;
const addSums = addSettled(isMoved);
/** The page of the tasks that ended, if there are several, and all of them ended after those of the account's earlier pages. For one task the index is shorter. */
const addPage = `INSERT INTO ended_page (account_id, ended_at, tasks)
  SELECT ?1, max(closed_at), json_group_array(task_id) FROM fresh WHERE ${isMoved} AND kind <> 'chat' AND outcome <> 'refused'
  HAVING count(*) > 1 AND min(closed_at) > coalesce((SELECT max(ended_at) FROM ended_page WHERE account_id = ?1), 0)`;
const insertEntries = `INSERT INTO entry (account_id, ${storedColumns}, cost, paged)
  SELECT ?1, ${storedColumns}, (SELECT sum(value ->> 1) FROM json_each(attempts)),
    (SELECT 1 FROM (SELECT tasks FROM ended_page WHERE account_id = ?1 ORDER BY ended_at DESC LIMIT 1) WHERE instr(tasks, '"' || task_id || '"') > 0)
  FROM fresh WHERE ${isMoved} ON CONFLICT DO NOTHING`;

/**
 * Writes settled entries in one transaction: the entries that D1 does not have yet, the move of their charges from the grant to used, and
 * the sums by day, and the fingerprints of the files that were made. A repeat changes nothing. Returns the rows of the account and its keys; none if the account's revision is lower than the object's: the database was restored.
 * `isGranted` is false for entries that a restored database lost, because their grant does not exist any more. `back` is returned from the grant with them.
 */
export async function writeEntries(
  db: D1Database,
  accountId: string,
  revision: number,
  entries: readonly SettledEntry[],
  { isGranted = true, back = 0 } = {},
): Promise<{ account: WalletRow | undefined; keys: WalletRow[] }> {
  const rows = JSON.stringify(
    entries.map((entry) => {
      const row = { ...entry, attempts: entry.attempts ? toStoredAttempts(entry.attempts) : null };
      return [toClass(entry.closedAt - entry.at), ...entryFields.map((field) => row[field])];
    }),
  );
  const owners = JSON.stringify([...new Set([accountId, ...entries.map(({ keyId }) => keyId)])]);
  // Most batches are a few chats of an account that is seldom used: a page of tasks is not tried for them.
  const hasTasks = entries.filter(({ kind }) => kind !== "chat").length > 1;
  const files = entries.flatMap(({ kind, made }) => (made ? toFingerprintRows(kind, made) : []));
  const statements = [addSpending, addSums, ...(hasTasks ? [addPage] : []), insertEntries];
  const [moved] = await db.batch([
    db.prepare(`${fresh} ${moveCharges}`).bind(accountId, rows, revision, Number(isGranted), owners, back),
    ...statements.map((statement) => db.prepare(`${fresh} ${statement}`).bind(accountId, rows, revision)),
    ...(files.length > 0 ? [db.prepare(insertFingerprints(isMoved)).bind(accountId, JSON.stringify(files), revision)] : []),
  ]);
  const found = toRows(moved);
  return { account: found.find(({ id }) => id === accountId), keys: found.filter(({ id }) => id !== accountId) };
}

/**
 * Sets the row of a restored database to what the object knows: first without a grant (0), so that the lost entries can be written, and last
 * with the object's. The row after that; undefined if the backup is older than the account.
 */
export const regrant = (
  db: D1Database,
  { accountId, quota, debt = 0, revision }: { accountId: string; quota: number | null; debt?: number; revision: number },
  granted: number,
): Promise<WalletRow | undefined> =>
  update(
    db,
    `granted = ?2, revision = max(revision, ?4) + 1, quota = iif(?3 IS NULL, NULL, max(?3, ?2 + used)), debt = ?5 WHERE id = ?1`,
    accountId,
    granted,
    quota,
    revision,
    debt,
  );
