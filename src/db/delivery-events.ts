/** The ends of deliveries in D1: events of the account beside the ends of its tasks (`listEndedTasks`). Their times are given by the account's wallet object. */

import { execute } from "./query.ts";

/** How a delivery ended. */
export type DeliveryOutcome = "delivered" | "delivery_failed";

export const isOfDelivery = (outcome: string): outcome is DeliveryOutcome => outcome === "delivered" || outcome === "delivery_failed";

/** Inserts the end of a task's delivery. The end of a repeated one changes the outcome, not its place among the events. `at` in milliseconds, unique among the account's events. */
export async function insertDeliveryEvent(
  db: D1Database,
  { accountId, taskId, outcome, at }: { accountId: string; taskId: string; outcome: DeliveryOutcome; at: number },
): Promise<void> {
  await execute(
    db,
    "INSERT INTO delivery_event (task_id, account_id, at, outcome) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (task_id) DO UPDATE SET outcome = ?4",
    [taskId, accountId, at, outcome],
  );
}

/** When the delivery of the account's task ended, in milliseconds; undefined if it has not, or the task belongs to another account. */
export const deliveryEndedAt = async (db: D1Database, accountId: string, taskId: string): Promise<number | undefined> =>
  (await db.prepare("SELECT at FROM delivery_event WHERE task_id = ?2 AND account_id = ?1").bind(accountId, taskId).first<number>("at")) ??
  undefined;
