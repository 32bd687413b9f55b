/** Credits and debits of accounts' quotas, each with its cause and stored once (`writeCredit` in grants.ts). */

import type { Act } from "./audit-log.ts";
import { toUnits } from "./ledger.ts";
import { execute, queryRows } from "./query.ts";

export interface Credit {
  /** The kind and the id of the cause, once for all accounts: `code:code_1`, `payment:pi_1`. */
  id: string;
  /** `returned`: a dispute that was won, or a refund that failed. */
  kind: "code" | "payment" | "refund" | "dispute" | "returned";
  /** Millionths; below 0 is a debit. */
  amount: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** What the operator wrote about it, such as the note of a code. */
  reason: string | null;
}

const acts = {
  code: "code_redeemed",
  payment: "payment_succeeded",
  refund: "payment_returned",
  dispute: "payment_disputed",
  returned: "payment_disputed",
} as const;

/** The credit as the audit log has it. */
export const toAct = ({ id, kind, amount }: Credit): Act => ({ act: acts[kind], target: id, after: { amount: toUnits(amount) } });

/** The number of credits in one statement. */
const perStatement = 500;

/** Stores the credits that a restored database lost, without moving the quota. */
export async function insertCredits(db: D1Database, accountId: string, credits: Credit[]): Promise<void> {
  for (let from = 0; from < credits.length; from += perStatement) {
    const rows = credits.slice(from, from + perStatement).map(({ id, kind, amount, at, reason }) => [id, kind, amount, at, reason]);
    await execute(
      db,
      `INSERT INTO credit (id, account_id, kind, amount, at, reason)
        SELECT value ->> 0, ?1, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2) WHERE true ON CONFLICT DO NOTHING`,
      [accountId, JSON.stringify(rows)],
    );
  }
}

/** The account's latest credits and debits, newest first. */
export const listCredits = (db: D1Database, accountId: string, limit: number): Promise<Credit[]> =>
  queryRows(db, "SELECT id, kind, amount, at, reason FROM credit WHERE account_id = ?1 ORDER BY at DESC, id DESC LIMIT ?2", [
    accountId,
    limit,
  ]);
