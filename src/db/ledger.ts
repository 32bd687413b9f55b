/** The ledger: reserve, close (settle or refund), balance. The only SQL that moves money; amounts in millionths. */

import type { FailureCode } from "../errors.ts";

/** Who pays for what. Both wallets, the account's and the key's, move in one statement. */
export interface Charge {
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

/** What is left, or null when there is no limit. */
export const remaining = (balance: Balance) => (balance.quota === null ? null : balance.quota - balance.used - balance.reserved);

/** Balance units, as answers show them, of an amount in millionths. */
export const toUnits = (millionths: number) => millionths / 1_000_000;

/** The statement that opens a wallet. It belongs into a batch behind the one that creates its owner, and does nothing when that did nothing. */
export const openWallet = (db: D1Database, id: string, quota: number | null) =>
  db.prepare("INSERT INTO wallet (id, quota) SELECT ?1, ?2 WHERE changes() > 0").bind(id, quota);

/**
 * Holds `amount` on both wallets. `reserved` also when an earlier call did it; `closed` when the task was given up in the
 * meantime, so that a late repeat can hold nothing; `too_many` when the account has `maxOpenTasks` open tasks or the key
 * `maxKeyTasks`; chats do not count. Throws when D1 cannot tell; repeating is safe.
 */
export async function reserve(
  db: D1Database,
  charge: Charge,
  amount: number,
  maxOpenTasks = Number.MAX_SAFE_INTEGER,
  maxKeyTasks = Number.MAX_SAFE_INTEGER,
): Promise<"reserved" | "insufficient" | "too_many" | "closed"> {
  const isRoom = "(?5 = 'chat' OR NOT EXISTS (SELECT 1 FROM wallet WHERE id IN (?2, ?3) AND open_tasks >= iif(id = ?2, ?8, ?9)))";
  const { results } = await db
    .prepare(
      `INSERT INTO entry (task_id, step, account_id, key_id, kind, model, held, at)
       SELECT ?1, 'reserve', ?2, ?3, ?5, ?4, ?6, ?7
       WHERE (SELECT count(*) FROM wallet WHERE id IN (?2, ?3) AND (quota IS NULL OR quota - reserved - used >= ?6)) = 2
         AND ${isRoom} AND NOT EXISTS (SELECT 1 FROM entry WHERE task_id = ?1 AND step = 'close')
       ON CONFLICT DO NOTHING RETURNING task_id`,
    )
    .bind(charge.taskId, charge.accountId, charge.keyId, charge.model, charge.kind, amount, Date.now(), maxOpenTasks, maxKeyTasks)
    .run();
  if (results.length === 1) return "reserved";
  const { results: earlier } = await db
    .prepare(
      `SELECT step FROM entry WHERE task_id = ?1
       UNION ALL SELECT 'too_many' FROM wallet WHERE ?3 <> 'chat' AND id IN (?2, ?5) AND open_tasks >= iif(id = ?2, ?4, ?6)`,
    )
    .bind(charge.taskId, charge.accountId, charge.kind, maxOpenTasks, charge.keyId, maxKeyTasks)
    .run<{ step: string }>();
  const steps = new Set(earlier.map(({ step }) => step));
  if (steps.has("close")) return "closed";
  if (steps.has("reserve")) return "reserved";
  return steps.has("too_many") ? "too_many" : "insufficient";
}

/**
 * What `reserve` would answer now, and the smaller of what is left of the two wallets before it: null when neither has a limit. Holds
 * nothing.
 */
export async function previewReserve(
  db: D1Database,
  { accountId, keyId, kind }: Pick<Charge, "accountId" | "keyId" | "kind">,
  amount: number,
  maxOpenTasks: number,
  maxKeyTasks = Number.MAX_SAFE_INTEGER,
): Promise<{ answer: "reserved" | "insufficient" | "too_many"; left: number | null }> {
  const { results: wallets } = await db
    .prepare("SELECT id, quota, reserved, used, open_tasks AS openTasks FROM wallet WHERE id IN (?1, ?2)")
    .bind(accountId, keyId)
    .run<Balance & { id: string; openTasks: number }>();
  const limits = wallets.map(remaining).filter((units) => units !== null);
  const left = limits.length > 0 ? Math.min(...limits) : null;
  if (kind !== "chat" && wallets.some(({ id, openTasks }) => openTasks >= (id === accountId ? maxOpenTasks : maxKeyTasks)))
    return { answer: "too_many", left };
  return { answer: wallets.length === 2 && (left === null || left >= amount) ? "reserved" : "insufficient", left };
}

/** How a task or chat ended. `refused`: its submission was not accepted after all, so there is no task. */
export type Outcome = "completed" | FailureCode | "refused";

/**
 * Ends the hold of a task: `charged` becomes used (never more than was held), the rest goes back. 0 is a refund. A task
 * that never reserved gets its closing row too: it stops a reservation that is still under way. `also` joins the
 * transaction; returns the results of these statements. Throws when D1 cannot tell; repeating is safe and changes nothing.
 */
export async function settle(
  db: D1Database,
  charge: Charge,
  charged: number,
  outcome: Outcome,
  also: D1PreparedStatement[] = [],
): Promise<D1Result[]> {
  const [, ...results] = await db.batch([
    db
      .prepare(
        // Tasks of an account are settled at times that only grow, whatever the clocks say: readers of the ended ones go on from the last time.
        `WITH hold (held) AS (SELECT coalesce((SELECT held FROM entry WHERE task_id = ?1 AND step = 'reserve'), 0)),
           last (at) AS (SELECT max(at) FROM entry
                         WHERE account_id = ?2 AND step = 'close' AND kind <> 'chat' AND outcome <> 'refused')
         INSERT INTO entry (task_id, step, account_id, key_id, kind, model, held, charged, outcome, at)
         SELECT ?1, 'close', ?2, ?3, ?4, ?5, held, min(?6, held), ?7, iif(?4 = 'chat', ?8, max(?8, coalesce(last.at + 1, 0))) FROM hold, last
         WHERE true
         ON CONFLICT DO NOTHING`,
      )
      .bind(charge.taskId, charge.accountId, charge.keyId, charge.kind, charge.model, charged, outcome, Date.now()),
    ...also,
  ]);
  return results;
}

/** One wallet, or undefined when it does not exist. */
export async function readBalance(db: D1Database, id: string): Promise<(Balance & { openTasks: number }) | undefined> {
  const statement = db.prepare("SELECT quota, reserved, used, open_tasks AS openTasks FROM wallet WHERE id = ?1").bind(id);
  return (await statement.first<Balance & { openTasks: number }>()) ?? undefined;
}

/** These wallets by their ids, with when something was last reserved on each (milliseconds; null is never). */
export async function readWallets(db: D1Database, ids: string[]): Promise<Map<string, Balance & { reservedAt: number | null }>> {
  const { results } = await db
    .prepare("SELECT id, quota, reserved, used, reserved_at AS reservedAt FROM wallet WHERE id IN (SELECT value FROM json_each(?1))")
    .bind(JSON.stringify(ids))
    .run<Balance & { id: string; reservedAt: number | null }>();
  return new Map(results.map(({ id, ...wallet }) => [id, wallet]));
}

/** Sets a quota, or adds to it. `below_use` when less than what is used and reserved would remain. Adding to an unlimited quota leaves it so. */
export async function changeQuota(
  db: D1Database,
  id: string,
  change: { quota: number | null } | { add: number },
): Promise<"changed" | "below_use"> {
  const statement =
    "add" in change
      ? db
          .prepare("UPDATE wallet SET quota = quota + ?2 WHERE id = ?1 AND (quota IS NULL OR quota + ?2 >= reserved + used) RETURNING id")
          .bind(id, change.add)
      : db
          .prepare("UPDATE wallet SET quota = ?2 WHERE id = ?1 AND (?2 IS NULL OR ?2 >= reserved + used) RETURNING id")
          .bind(id, change.quota);
  return (await statement.run()).results.length === 1 ? "changed" : "below_use";
}
