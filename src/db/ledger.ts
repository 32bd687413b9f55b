/** The ledger: reserve, settle (with `charged` 0 a refund), balance. The only SQL that moves money; amounts in millionths. */

import type { FailureCode } from "../errors.ts";

/** The account and key that pay for a task. Both wallets change in one statement. */
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

/** The remaining amount, or null without a limit. */
export const remaining = (balance: Balance) => (balance.quota === null ? null : balance.quota - balance.used - balance.reserved);

/** An amount in millionths as balance units for answers. */
export const toUnits = (millionths: number) => millionths / 1_000_000;

/** The statement that creates a wallet. It belongs in a batch after the one that creates its owner, and has an effect only if that one had one. */
export const openWallet = (db: D1Database, id: string, quota: number | null) =>
  db.prepare("INSERT INTO wallet (id, quota) SELECT ?1, ?2 WHERE changes() > 0").bind(id, quota);

/**
 * Reserves `amount` on both wallets. `reserved` also if an earlier call did it; `closed` if the task was given up in the
 * meantime, so that a late repeat can reserve nothing; `too_many` if the account has `maxOpenTasks` open tasks, without
 * chats. Throws if D1 does not answer; repeating is safe.
 */
export async function reserve(
  db: D1Database,
  charge: Charge,
  amount: number,
  maxOpenTasks = Number.MAX_SAFE_INTEGER,
): Promise<"reserved" | "insufficient" | "too_many" | "closed"> {
  const isRoom = "(?5 = 'chat' OR (SELECT open_tasks FROM wallet WHERE id = ?2) < ?8)";
  const { results } = await db
    .prepare(
      `INSERT INTO entry (task_id, step, account_id, key_id, kind, model, held, at)
       SELECT ?1, 'reserve', ?2, ?3, ?5, ?4, ?6, ?7
       WHERE (SELECT count(*) FROM wallet WHERE id IN (?2, ?3) AND (quota IS NULL OR quota - reserved - used >= ?6)) = 2
         AND ${isRoom} AND NOT EXISTS (SELECT 1 FROM entry WHERE task_id = ?1 AND step = 'close')
       ON CONFLICT DO NOTHING RETURNING task_id`,
    )
    .bind(charge.taskId, charge.accountId, charge.keyId, charge.model, charge.kind, amount, Date.now(), maxOpenTasks)
    .run();
  if (results.length === 1) return "reserved";
  const { results: earlier } = await db
    .prepare(
      `SELECT step FROM entry WHERE task_id = ?1
       UNION ALL SELECT 'too_many' WHERE ?3 <> 'chat' AND (SELECT open_tasks FROM wallet WHERE id = ?2) >= ?4`,
    )
    .bind(charge.taskId, charge.accountId, charge.kind, maxOpenTasks)
    .run<{ step: string }>();
  const steps = new Set(earlier.map(({ step }) => step));
  if (steps.has("close")) return "closed";
  if (steps.has("reserve")) return "reserved";
  return steps.has("too_many") ? "too_many" : "insufficient";
}

/**
 * What `reserve` would return now, and the smaller remaining amount of the two wallets before it: null if neither has a limit. Reserves
 * nothing.
 */
export async function previewReserve(
  db: D1Database,
  { accountId, keyId, kind }: Pick<Charge, "accountId" | "keyId" | "kind">,
  amount: number,
  maxOpenTasks: number,
): Promise<{ answer: "reserved" | "insufficient" | "too_many"; left: number | null }> {
  const { results: wallets } = await db
    .prepare("SELECT id, quota, reserved, used, open_tasks AS openTasks FROM wallet WHERE id IN (?1, ?2)")
    .bind(accountId, keyId)
    .run<Balance & { id: string; openTasks: number }>();
  const limits = wallets.map(remaining).filter((units) => units !== null);
  const left = limits.length > 0 ? Math.min(...limits) : null;
  if (kind !== "chat" && wallets.some(({ id, openTasks }) => id === accountId && openTasks >= maxOpenTasks))
    return { answer: "too_many", left };
  return { answer: wallets.length === 2 && (left === null || left >= amount) ? "reserved" : "insufficient", left };
}

/** The outcome of a task or chat. `refused`: its submission was refused after its reservation, so there is no task. */
export type Outcome = "completed" | FailureCode | "refused";

/**
 * Ends the hold of a task: `charged` becomes used (at most the reserved amount), the rest is returned. 0 is a refund. A task
 * without a reservation gets a settling row too, which stops a reservation that arrives later. `also` joins the
 * transaction; returns the results of these statements. Throws if D1 does not answer; repeating is safe and changes nothing.
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
        // Settlement times of an account strictly increase, whatever the clocks show, because readers of final tasks continue from the last time.
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
export async function readBalance(db: D1Database, id: string): Promise<Balance | undefined> {
  return (await db.prepare("SELECT quota, reserved, used FROM wallet WHERE id = ?1").bind(id).first<Balance>()) ?? undefined;
}

/** These wallets by their ids, with the time of the last reservation on each (milliseconds; null for never). */
export async function readWallets(db: D1Database, ids: string[]): Promise<Map<string, Balance & { reservedAt: number | null }>> {
  const { results } = await db
    .prepare("SELECT id, quota, reserved, used, reserved_at AS reservedAt FROM wallet WHERE id IN (SELECT value FROM json_each(?1))")
    .bind(JSON.stringify(ids))
    .run<Balance & { id: string; reservedAt: number | null }>();
  return new Map(results.map(({ id, ...wallet }) => [id, wallet]));
}

/** Sets a quota, or adds to it. `below_use` if the result would be less than the used and reserved amount. Adding to an unlimited quota leaves it unlimited. */
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
