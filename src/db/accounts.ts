/** Accounts in D1, and invitations to them; without their keys and money. */

import { dayMs } from "../base/times.ts";
import { newId, sha256Hex } from "../base/ids.ts";
import { forgetCallers } from "./callers.ts";
import { type Announcer, changeKeys } from "./account-changes.ts";
import { openWallet, toUnits } from "./ledger.ts";
import { type Actor, auditRow, auditRowIfChanged } from "./audit-log.ts";
import { hasRow, queryIds, queryRow, queryRows } from "./query.ts";

const invitationMs = 7 * dayMs;

export interface Account {
  id: string;
  email: string;
  name: string | null;
  disabled: 0 | 1;
  /** True if the user may open the console's admin pages. */
  admin: 0 | 1;
  createdAt: number;
  /** The revision of its last change, see `account-changes.ts`. */
  keysRevision: number;
}

const accountColumns = "id, email, name, disabled, admin, created_at AS createdAt, keys_revision AS keysRevision";
/** A new account and the statement that creates it, without its wallet; it returns no row if the e-mail address is taken. */
export function insertAccount(db: D1Database, email: string, name: string | null): { account: Account; statement: D1PreparedStatement } {
  const account: Account = {
    id: newId("acc_"),
    email: email.toLowerCase(),
    name,
    disabled: 0,
    admin: 0,
    createdAt: Date.now(),
    keysRevision: 0,
  };
  const statement = db
    .prepare("INSERT INTO account (id, email, name, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (email) DO NOTHING RETURNING id")
    .bind(account.id, account.email, account.name, account.createdAt);
  return { account, statement };
}

/** The row of the audit log for a new account, to be put directly behind the statement that creates it. `quota` in millionths, null without a limit. */
const logNewAccount = (db: D1Database, by: Actor, { id }: Account, quota: number | null): D1PreparedStatement =>
  auditRowIfChanged(db, id, by, { act: "account_created", target: id, after: { quota: quota === null ? null : toUnits(quota) } });

/** Creates an account with its wallet; undefined if the e-mail address is taken. `quota` in millionths, null without a limit. */
export async function createAccount(
  db: D1Database,
  by: Actor,
  { email, name, quota }: Pick<Account, "email" | "name"> & { quota: number | null },
): Promise<Account | undefined> {
  const { account, statement } = insertAccount(db, email, name);
  const [created] = await db.batch([statement, logNewAccount(db, by, account, quota), openWallet(db, account.id, quota)]);
  return created?.results.length === 0 ? undefined : account;
}

/** An account, unless it is erased. */
export const accountById = (db: D1Database, id: string) =>
  queryRow<Account>(db, `SELECT ${accountColumns} FROM account WHERE id = ?1 AND erased_at IS NULL`, [id]);

/** True also for an erased account: a walk over all accounts continues from it too. */
export const hasAccount = (db: D1Database, id: string): Promise<boolean> => hasRow(db, "SELECT 1 FROM account WHERE id = ?1", [id]);

/** True if the account's quota is unlimited: a payment or a code would add nothing. */
export const isUnlimited = (db: D1Database, id: string): Promise<boolean> =>
  hasRow(db, "SELECT 1 FROM wallet WHERE id = ?1 AND quota IS NULL", [id]);

export const accountByEmail = (db: D1Database, email: string) =>
  queryRow<Account>(db, `SELECT ${accountColumns} FROM account WHERE email = ?1`, [email.toLowerCase()]);

/** A page of accounts in the order of their ids. */
export const listAccounts = (db: D1Database, page: { limit: number; after?: string | undefined }) =>
  queryRows<Account>(db, `SELECT ${accountColumns} FROM account WHERE id > ?1 AND erased_at IS NULL ORDER BY id LIMIT ?2`, [
    page.after ?? "",
    page.limit,
  ]);

/**
 * A page of the accounts that have `text` in their e-mail address or name, or as their id, in the order of their addresses, after the
 * account `after`. ASCII letters match in any case. Scans accounts until the page is full.
 */
export const searchAccounts = (db: D1Database, text: string, page: { limit: number; after?: string | undefined }) =>
  queryRows<Account>(
    db,
    // instr instead of LIKE: nothing in the text is a wildcard, and D1 refuses long patterns.
    `SELECT ${accountColumns} FROM account
      WHERE erased_at IS NULL AND (?1 = id OR instr(email, lower(?1)) > 0 OR instr(lower(name), lower(?1)) > 0)
        AND (?2 IS NULL OR email > (SELECT email FROM account WHERE id = ?2))
      ORDER BY email LIMIT ?3`,
    [text, page.after ?? null, page.limit],
  );

/** Grants or removes the admin role, effective from the account's next request. */
export async function setAdmin(db: D1Database, announcer: Announcer, by: Actor, id: string, admin: boolean): Promise<void> {
  const statement = db.prepare("UPDATE account SET admin = ?2 WHERE id = ?1").bind(id, Number(admin));
  const logged = auditRow(db, id, by, { act: admin ? "admin_given" : "admin_taken", target: id });
  await changeKeys(db, announcer, id, [statement, logged], { act: "admin", admin });
}

/** Disables or enables an account; this machine refuses its keys at once. */
export async function setDisabled(db: D1Database, announcer: Announcer, by: Actor, id: string, disabled: boolean): Promise<void> {
  const statement = db.prepare("UPDATE account SET disabled = ?2 WHERE id = ?1").bind(id, disabled ? 1 : 0);
  const logged = auditRow(db, id, by, { act: disabled ? "account_disabled" : "account_enabled", target: id });
  await changeKeys(db, announcer, id, [statement, logged], { act: "disabled", disabled });
  forgetCallers((known) => known.caller.accountId === id);
}

/** The ids of accounts after this one, in their order, erased ones included. */
export const nextAccounts = (db: D1Database, after: string, limit: number) =>
  queryIds(db, "SELECT id FROM account WHERE id > ?1 ORDER BY id LIMIT ?2", [after, limit]);

/**
 * The next accounts in the order of their ids, and which of them may have open tasks. Reads `limit` accounts and their wallets; at most
 * `busyLimit` accounts are busy, and the last busy one is then the last account.
 */
export async function nextBusyAccounts(
  db: D1Database,
  after: string,
  { limit, busyLimit }: { limit: number; busyLimit: number },
): Promise<{ busy: string[]; last: string | undefined }> {
  const rows = await queryRows<{ id: string; isBusy: 0 | 1 }>(
    db,
    `SELECT a.id, w.granted > 0 AS isBusy FROM account a CROSS JOIN wallet w ON w.id = a.id
      WHERE a.id > ?1 ORDER BY a.id LIMIT ?2`,
    [after, limit],
  );
  const busy = rows.filter(({ isBusy }) => isBusy === 1).map(({ id }) => id);
  if (busy.length > busyLimit) return { busy: busy.slice(0, busyLimit), last: busy[busyLimit - 1] };
  return { busy, last: rows.length === limit ? rows.at(-1)?.id : undefined };
}

/** Accounts whose wallet objects have granted amounts. Reads each wallet: for operators, not for requests. */
export const listGrantedAccounts = (db: D1Database, limit: number): Promise<string[]> =>
  queryIds(db, "SELECT id FROM wallet WHERE granted > 0 LIMIT ?1", [limit]);

/** Invites a user to an account for a week. The token is returned only here. */
export async function invite(db: D1Database, by: Actor, accountId: string): Promise<{ token: string; expiresAt: number }> {
  const token = newId("inv_");
  const expiresAt = Date.now() + invitationMs;
  await db.batch([
    db
      .prepare("INSERT INTO invitation (token_hash, account_id, expires_at) VALUES (?1, ?2, ?3)")
      .bind(await sha256Hex(token), accountId, expiresAt),
    auditRow(db, accountId, by, { act: "owner_invited", after: { expires_at: Math.floor(expiresAt / 1000) } }),
  ]);
  return { token, expiresAt };
}
