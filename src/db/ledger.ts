/** D1's own ledger, which settles reservations from before wallet objects existed; also balances and the types of charges. Amounts in millionths. */

import type { FailureCode } from "../errors.ts";
import type { Versioned } from "../versions.ts";
import sql from "./settle.txt";

/** The account and key that pay for a task. Both wallets change in one statement. */
export interface Charge extends Versioned {
  taskId: string;
  accountId: string;
  keyId: string;
  kind: string;
  model: string;
}

export interface Balance {
  /** null is unlimited */
  quota: number | null;
  reserved: number;
  used: number;
}

/** The remaining amount, or null without a limit. */
export const remaining = (balance: Balance) => (balance.quota === null ? null : balance.quota - balance.used - balance.reserved);

/** An amount in millionths as balance units for answers. */
export const toUnits = (millionths: number) => millionths / 1_000_000;

/** The statement that creates a wallet. It must follow the statement that creates its owner in the same batch, and has an effect only if that one had. */
export const openWallet = (db: D1Database, id: string, quota: number | null) =>
  db.prepare("INSERT INTO wallet (id, quota) SELECT ?1, ?2 WHERE changes() > 0").bind(id, quota);

/** The condition for the entries of the account with this id. Their indexes begin with some characters of it: the whole one would make them a third longer. */
export const ofAccount = (id = "?1") => `substr(account_id, 5, 4) = substr(${id}, 5, 4) AND account_id = ${id}`;

/** The outcome of a task or chat. `refused`: its submission was refused after its reservation, so there is no task. */
export type Outcome = "completed" | FailureCode | "refused";

/**
 * Settles the hold of a task: `charged` becomes used (never more than was held), the rest is returned. 0 is a refund. A task that never
 * reserved gets a settlement row too, which prevents a late reservation. Throws if the outcome is unknown; a repeat changes nothing.
 */
export async function settle(db: D1Database, charge: Charge, charged: number, outcome: Outcome): Promise<void> {
  await db.prepare(sql).bind(charge.taskId, charge.accountId, charge.keyId, charge.kind, charge.model, charged, outcome, Date.now()).run();
}

/** These wallets by their ids, with the time of the last reservation on each (milliseconds; null for never). */
export async function readWallets(db: D1Database, ids: string[]): Promise<Map<string, Balance & { reservedAt: number | null }>> {
  const { results } = await db
    .prepare("SELECT id, quota, reserved, used, reserved_at AS reservedAt FROM wallet WHERE id IN (SELECT value FROM json_each(?1))")
    .bind(JSON.stringify(ids))
    .run<Balance & { id: string; reservedAt: number | null }>();
  return new Map(results.map(({ id, ...wallet }) => [id, wallet]));
}
