/** Charges with their account and key, balances, and the rows of wallets. Amounts in millionths. */

import type { FailureCode } from "../base/errors.ts";
import type { Versioned } from "../base/versions.ts";
import { queryRows } from "./query.ts";

/** The account and key that pay for a task. */
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

/** An amount of an answer or a form in millionths. */
export const fromUnits = (units: number) => Math.round(units * 1_000_000);

/** The statement that creates a wallet. It must follow the statement that creates its owner in the same batch, and has an effect only if that one had. */
export const openWallet = (db: D1Database, id: string, quota: number | null) =>
  db.prepare("INSERT INTO wallet (id, quota) SELECT ?1, ?2 WHERE changes() > 0").bind(id, quota);

/** The condition for the entries of the account with this id. Their indexes begin with some characters of it: the whole one would make them a third longer. */
export const ofAccount = (id = "?1") => `substr(account_id, 5, 4) = substr(${id}, 5, 4) AND account_id = ${id}`;

/**
 * The outcome of a task or chat. `refused`: its submission was refused after its reservation, so there is no task; or it is an attempt at the
 * line of a batch that its makers refused as busy. Neither counts as a task or chat.
 */
export type Outcome = "completed" | FailureCode | "refused";

/** When the last written entry of each of these wallets was reserved, in milliseconds; null without an entry. */
export async function readReservedAt(db: D1Database, ids: string[]): Promise<Map<string, number | null>> {
  const rows = await queryRows<{ id: string; at: number | null }>(
    db,
    "SELECT id, reserved_at AS at FROM wallet WHERE id IN (SELECT value FROM json_each(?1))",
    [JSON.stringify(ids)],
  );
  return new Map(rows.map(({ id, at }) => [id, at]));
}
