/** The delivery of a completed task by its object: each waits only for its own bucket, so one that does not answer delays no other task. */

import { logFields } from "../log-fields.ts";
import type { RecordStore } from "./record-store.ts";
import { deliverFiles } from "../consumer/deliver.ts";
import { deliveryOutcome } from "../answers/event.ts";
import { type CompletedTask, type FinalTask, isFinal } from "../record.ts";
import * as deliveries from "../transitions/delivery.ts";
import { deliveryCallbackBegun } from "../transitions/receiver-calls.ts";
import { wakeAt } from "../transitions/task.ts";
import { limitWait } from "../../base/limit-wait.ts";
import { newId } from "../../base/ids.ts";
import { alert } from "../../base/log.ts";
import { hasEndpoint } from "../../db/webhooks.ts";

/**
 * Makes a due attempt under a lease: if the object crashes meanwhile, the lease expires and the attempt counts. No other alarm fires while this
 * one runs, so it waits for the attempt only until another step is due; the attempt then goes on beside it.
 */
export async function runDelivery(task: FinalTask, record: RecordStore, env: Env): Promise<void> {
  const lease = newId("");
  const leased = deliveries.deliveryLeased(task, lease, Date.now());
  if (!leased) {
    if (task.status === "completed") record.commit(deliveries.deliveryExpired(task, Date.now()));
    return;
  }
  const attempt = deliverAndReport(record.commit(leased), lease, record, env);
  attempt.catch((error: unknown) => alert("deliver", { ...logFields(task), outcome: "fault" }, error));
  await limitWait(wakeAt(leased) - Date.now(), attempt, undefined);
}

async function deliverAndReport(task: CompletedTask, lease: string, record: RecordStore, env: Env): Promise<void> {
  const report = await deliverFiles(task, env);
  const { task: now } = record;
  const reported = now && isFinal(now) ? deliveries.deliveryReported(now, lease, report, Date.now()) : undefined;
  if (reported) record.commit(reported);
}

/** Ends a delivery that is under way, because its files are about to be deleted. Its last step stays if the end cannot be announced now. */
export async function endDelivery(record: RecordStore, env: Env): Promise<void> {
  const { task } = record;
  if (task?.status !== "completed" || !task.delivery?.step) return;
  const ended = task.delivery.step.do === "announce" ? task : record.commit(deliveries.deliveryExpired(task, Date.now()));
  await announceDelivery(ended, record, env);
}

/** Writes the end of the delivery among the account's events and in its batch, and begins its callback. Repeated by the alarm until it succeeds. */
export async function announceDelivery(task: FinalTask, record: RecordStore, env: Env): Promise<void> {
  const { accountId, callbackUrl, batch } = task.submission;
  const outcome = deliveryOutcome(task.delivery!);
  try {
    await env.WALLETS.getByName(accountId).noteDelivery(task.id, outcome);
    if (batch) await env.BATCHES.get(env.BATCHES.idFromString(batch.batch)).lineDelivered(batch.line, task.id, outcome);
    // The account's endpoint gets one event for the whole batch.
    const hasReceiver = callbackUrl !== undefined || (!batch && (await hasEndpoint(env.DB, accountId)));
    if (record.task !== task) return; // the alarm repeats it
    const announced = deliveries.announced(task);
    record.commit(hasReceiver ? deliveryCallbackBegun(announced, Date.now()) : announced);
  } catch (error) {
    alert("deliver", { ...logFields(task), outcome: "retry" }, error);
    if (record.task === task) record.commit(deliveries.announceFailed(task, Date.now()));
  }
}
