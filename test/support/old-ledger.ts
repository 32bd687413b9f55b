/** The version before wallet objects: it held the price of a task or chat in D1's own ledger. */

import { env } from "cloudflare:workers";
import type { Charge } from "../../src/db/ledger.ts";

/** Holds `amount` (millionths) on both wallets, if both have that much left. */
export const reserveInD1 = async ({ taskId, accountId, keyId, kind, model }: Charge, amount: number): Promise<boolean> =>
  (
    await env.DB.prepare(
      `INSERT INTO entry (task_id, step, account_id, key_id, kind, model, held, at)
       SELECT ?1, 'reserve', ?2, ?3, ?4, ?5, ?6, ?7
       WHERE (SELECT count(*) FROM wallet WHERE id IN (?2, ?3) AND (quota IS NULL OR quota - reserved - used >= ?6)) = 2 RETURNING task_id`,
    )
      .bind(taskId, accountId, keyId, kind, model, amount, Date.now())
      .run()
  ).results.length === 1;
