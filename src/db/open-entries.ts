/** Open entries of D1's own ledger, from before wallet objects existed or brought back by a restored database. */

import type { Charge } from "./ledger.ts";

/** An entry without an end. */
export interface OpenEntry extends Charge {
  /** When it was reserved, in milliseconds. */
  at: number;
}

/** The account's open entries in D1, by task, chats included. */
export const listOpenEntries = async (db: D1Database, accountId: string): Promise<OpenEntry[]> =>
  (
    await db
      .prepare(
        `SELECT task_id AS taskId, account_id AS accountId, key_id AS keyId, kind, model, at FROM entry INDEXED BY entry_open
         WHERE account_id = ?1 AND step = 'reserve' AND closed_at IS NULL`,
      )
      .bind(accountId)
      .run<OpenEntry>()
  ).results;
