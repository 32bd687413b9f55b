/** Accounts in D1, without their keys and money. */

import { newId } from "../ids.ts";
import { forgetCallers } from "./callers.ts";
import { type Announce, changeKeys } from "./key-changes.ts";

export interface Account {
  id: string;
  email: string;
  name: string | null;
  disabled: 0 | 1;
  /** True if the user may open the console's admin pages. */
  admin: 0 | 1;
  createdAt: number;
}

const accountColumns = "id, email, name, disabled, admin, created_at AS createdAt";
/** A new account and the statement that creates it, without its wallet; it returns no row if the e-mail address is taken. */
export function insertAccount(db: D1Database, email: string, name: string | null): { account: Account; statement: D1PreparedStatement } {
  const account: Account = { id: newId("acc_"), email: email.toLowerCase(), name, disabled: 0, admin: 0, createdAt: Date.now() };
  const statement = db
    .prepare("INSERT INTO account (id, email, name, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (email) DO NOTHING RETURNING id")
    .bind(account.id, account.email, account.name, account.createdAt);
  return { account, statement };
}

/** An account, unless it is erased. */
export const accountById = (db: D1Database, id: string) =>
  db.prepare(`SELECT ${accountColumns} FROM account WHERE id = ?1 AND erased_at IS NULL`).bind(id).first<Account>();

/** The row of an account, also if it is erased; null if it does not exist. A walk over all accounts continues from erased ones too. */
export const findRow = (db: D1Database, id: string) => db.prepare("SELECT id FROM account WHERE id = ?1").bind(id).first();

export const accountByEmail = (db: D1Database, email: string) =>
  db.prepare(`SELECT ${accountColumns} FROM account WHERE email = ?1`).bind(email.toLowerCase()).first<Account>();

/** A page of accounts in the order of their ids. */
export const listAccounts = async (db: D1Database, page: { limit: number; after?: string | undefined }) =>
  (
    await db
      .prepare(`SELECT ${accountColumns} FROM account WHERE id > ?1 AND erased_at IS NULL ORDER BY id LIMIT ?2`)
      .bind(page.after ?? "", page.limit)
      .run<Account>()
  ).results;

/**
 * A page of the accounts that have `text` in their e-mail address or name, or as their id, in the order of their addresses, after the
 * account `after`. ASCII letters match in any case. Scans accounts until the page is full.
 */
export const searchAccounts = async (db: D1Database, text: string, page: { limit: number; after?: string | undefined }) =>
  (
    await db
      // instr instead of LIKE: nothing in the text is a wildcard, and D1 refuses long patterns.
      .prepare(
        `SELECT ${accountColumns} FROM account
         WHERE erased_at IS NULL AND (?1 = id OR instr(email, lower(?1)) > 0 OR instr(lower(name), lower(?1)) > 0)
           AND (?2 IS NULL OR email > (SELECT email FROM account WHERE id = ?2))
         ORDER BY email LIMIT ?3`,
      )
      .bind(text, page.after ?? null, page.limit)
      .run<Account>()
  ).results;

/** Grants or removes the admin role, effective from the account's next request. */
export async function setAdmin(db: D1Database, id: string, admin: boolean): Promise<void> {
  await db.prepare("UPDATE account SET admin = ?2 WHERE id = ?1").bind(id, Number(admin)).run();
}

/** Disables or enables an account; this machine refuses its keys at once. */
export async function setDisabled(db: D1Database, announce: Announce, id: string, disabled: boolean): Promise<void> {
  await changeKeys(db, announce, id, [db.prepare("UPDATE account SET disabled = ?2 WHERE id = ?1").bind(id, disabled ? 1 : 0)]);
  forgetCallers((known) => known.caller.accountId === id);
}
