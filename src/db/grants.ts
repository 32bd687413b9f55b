/**
 * The D1 queries of wallet objects: grants from an account's quota, settled entries in batches, quotas and budgets. Amounts in millionths.
 */

import { once } from "../catalog/once.ts";
import { toClass } from "./outcome-sums.ts";
import sql from "./write-entries.txt";

export interface Budget {
  amount: number;
  window: "day" | "month";
}

/** The row of an account or a key. */
export interface WalletRow {
  id: string;
  /** null is unlimited */
  quota: number | null;
  /** Held for open tasks by D1's own ledger, from before wallet objects existed; for accounts also the amount granted to the object. */
  reserved: number;
  used: number;
  granted: number;
  /** How many times the object has written the account's row. */
  revision: number;
  budget: Budget | null;
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
}

type StoredRow = Omit<WalletRow, "budget"> & { budget: number | null; budgetWindow: Budget["window"] | null };

const columns = "id, quota, reserved, used, granted, revision, budget, budget_window AS budgetWindow";
const toRow = ({ budget, budgetWindow, ...row }: StoredRow): WalletRow => ({
  ...row,
  budget: budget === null || budgetWindow === null ? null : { amount: budget, window: budgetWindow },
});
const toRows = (result: D1Result | undefined): WalletRow[] => ((result?.results ?? []) as StoredRow[]).map(toRow);

const select = (db: D1Database, ids: string[]) =>
  db.prepare(`SELECT ${columns} FROM wallet WHERE id IN (SELECT value FROM json_each(?1))`).bind(JSON.stringify(ids));

/** The rows of these accounts and keys; those that do not exist are missing. */
export const readRows = async (db: D1Database, ids: string[]): Promise<WalletRow[]> => toRows(await select(db, ids).run());

/** Whether the object's write took effect, and the account's row after it; undefined if the account does not exist. */
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
): Promise<Written> {
  const [written, read] = await db.batch([
    db
      .prepare(`UPDATE wallet SET ${set}, revision = revision + 1 WHERE id = ?1 AND revision = ?2 AND ${when} RETURNING id`)
      .bind(accountId, revision, ...values),
    select(db, [accountId]),
  ]);
  return { isDone: written?.results.length === 1, row: toRows(read)[0] };
}

/**
 * Grants the object at least `missing`, and up to `block` if that is at most a tenth of the remaining quota, so that a small quota stays
 * exact. Not done if less than `missing` remains or the revision differs.
 */
export function grant(db: D1Database, accountId: string, revision: number, missing: number, block: number): Promise<Written> {
  const left = "(quota - reserved - used)";
  const amount = `max(CAST(?3 AS INTEGER), iif(quota IS NULL, CAST(?4 AS INTEGER), min(CAST(?4 AS INTEGER), ${left} / 10)))`;
  return writeAt(
    db,
    accountId,
    revision,
    `granted = granted + ${amount}, reserved = reserved + ${amount}`,
    `(quota IS NULL OR ${left} >= ?3)`,
    [missing, block],
  );
}

/** Returns an amount that the object does not need from the grant. */
export const giveBack = (db: D1Database, accountId: string, revision: number, amount: number): Promise<Written> =>
  writeAt(db, accountId, revision, "granted = granted - ?3, reserved = reserved - ?3", "granted >= ?3", [amount]);

/** Sets the account's quota and the granted amount in one write. Not done if the quota would be below the granted, reserved and used amounts. */
export const setAccountQuota = (
  db: D1Database,
  accountId: string,
  revision: number,
  quota: number | null,
  granted: number,
): Promise<Written> =>
  writeAt(
    db,
    accountId,
    revision,
    "quota = ?3, reserved = reserved - granted + ?4, granted = ?4",
    "(?3 IS NULL OR ?3 >= reserved - granted + ?4 + used)",
    [quota, granted],
  );

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

/** Sets a key's quota. undefined if it would be below what D1 has used and reserved of it. */
export const setKeyQuota = (db: D1Database, keyId: string, quota: number | null): Promise<WalletRow | undefined> =>
  update(db, "quota = ?2 WHERE id = ?1 AND (?2 IS NULL OR ?2 >= reserved + used)", keyId, quota);

/** Sets the budget of an account or a key; null removes it. */
export const setBudget = (db: D1Database, id: string, budget: Budget | null): Promise<WalletRow | undefined> =>
  update(db, "budget = ?2, budget_window = ?3 WHERE id = ?1", id, budget?.amount ?? null, budget?.window ?? null);

/** The charges in D1 since `since` (the first millisecond of a day), for the account and for each of its keys. */
export async function readSpentSince(db: D1Database, accountId: string, since: number): Promise<Map<string, number>> {
  const { results } = await db
    .prepare("SELECT key_id AS id, sum(charged) AS charged FROM spending WHERE account_id = ?1 AND day >= ?2 GROUP BY 1")
    .bind(accountId, since)
    .run<{ id: string; charged: number }>();
  const spent = new Map(results.map(({ id, charged }) => [id, charged]));
  return spent.set(
    accountId,
    results.reduce((sum, { charged }) => sum + charged, 0),
  );
}

/** The statements of `writeEntries`: SQL in a text file beside the script, read once per isolate. */
const statements = once(() => {
  const [fresh, ...rest] = sql
    .replaceAll(/^--.*\n/gm, "")
    .trim()
    .split("\n\n");
  return rest.map((statement) => `${fresh} ${statement}`);
});

/**
 * Writes settled entries in one transaction: the entries that D1 does not have yet, the move of their charges from the grant to used, and
 * the sums by day. A repeat changes nothing. Not done if the row's revision is lower than the object's: the database was restored.
 * `isGranted` is false for entries that a restored database lost, because their grant does not exist any more.
 */
export async function writeEntries(
  db: D1Database,
  accountId: string,
  revision: number,
  entries: readonly SettledEntry[],
  isGranted = true,
): Promise<{ isDone: boolean; account: WalletRow | undefined; keys: WalletRow[] }> {
  const rows = JSON.stringify(
    entries.map((e) => [e.taskId, e.keyId, e.kind, e.model, e.held, e.charged, e.outcome, e.at, e.closedAt, toClass(e.closedAt - e.at)]),
  );
  const [first = "", ...others] = statements();
  const results = await db.batch([
    db.prepare(`${first} ${columns}`).bind(accountId, rows, revision, Number(isGranted)),
    ...others.map((statement) => db.prepare(statement).bind(accountId, rows, revision)),
    select(db, [...new Set(entries.map(({ keyId }) => keyId))]),
  ]);
  const [row] = toRows(results[0]);
  return { isDone: row !== undefined, account: row, keys: toRows(results.at(-1)) };
}

/**
 * Sets the row of a restored database to what the object knows: first without a grant (0), so that the lost entries can be written, and last
 * with the object's. The row after that; undefined if the backup is older than the account.
 */
export const regrant = (
  db: D1Database,
  { accountId, quota, revision }: { accountId: string; quota: number | null; revision: number },
  granted: number,
): Promise<WalletRow | undefined> =>
  update(
    db,
    `reserved = reserved - granted + ?2, granted = ?2, revision = max(revision, ?4) + 1,
       quota = iif(?3 IS NULL, NULL, max(?3, reserved - granted + ?2 + used)) WHERE id = ?1`,
    accountId,
    granted,
    quota,
    revision,
  );
