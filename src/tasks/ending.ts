/** The steps after a task's end: its settlement, its callback, the deletion of its files and, last, of its record. */

import { assetPrefix, removeAssets, removeUnder } from "../assets.ts";
import { lifeTimes } from "../config.ts";
import { alert, log } from "../log.ts";
import * as afterEnd from "./after-end.ts";
import * as callbacks from "./callback.ts";
import { forget } from "./creating.ts";
import { sendCallback } from "./messages.ts";
import { callReceiver, type CallbackWork } from "./notify.ts";
import type { FinalTask } from "./record.ts";
import type { RecordStore } from "./record-store.ts";
import { logFields, settleForgotten, settleTask } from "./settle.ts";
import type { FinalDue } from "./task.ts";
import { listAssets } from "./views.ts";

/** Settles the task and begins its callback. Failed calls are retried by the alarm. */
export async function settleEnded(task: FinalTask, record: RecordStore, env: Env): Promise<void> {
  const started = Date.now();
  const { charged, error, createdAt, submission } = task;
  try {
    const isNotified = await settleTask(task, env);
    const of = { ...logFields(task), key: submission.keyId, kind: submission.kind, submitted: createdAt };
    log("settle", { ...of, outcome: error ?? "completed", charged, ms: Date.now() - started });
    if (record.task !== task) return;
    const { assetMs, recordMs } = lifeTimes(env);
    const settled = afterEnd.settled(task, assetMs, recordMs);
    // The owner may have requested the callback already.
    if (isNotified && !settled.callback) return await sendCallback(record.commit(callbacks.callbackBegun(settled, Date.now())), env);
    // Written only if it differs from a settlement that succeeded at the first attempt, which `reloaded` assumes after a while.
    if (task.status === "failed" || task.faults > 0 || task.callback) record.commit(settled);
    else record.sleep(settled);
  } catch (fault) {
    alert("settle", { ...logFields(task), outcome: "retry" }, fault);
    if (record.task === task) record.commit(afterEnd.settleFailed(task, Date.now()));
  }
}

/** The functions of the task object that lease callbacks. */
interface CallbackLeases {
  claimCallback(): Promise<CallbackWork | null>;
  reportCallback(lease: string, report: callbacks.CallbackReport): Promise<void>;
}

/** Runs the due step of a final task. */
export async function continueEnded(
  task: FinalTask,
  due: Exclude<FinalDue, "poll_earlier">,
  leases: CallbackLeases,
  record: RecordStore,
  env: Env,
): Promise<void> {
  const now = Date.now();
  switch (due) {
    case "settle":
      return settleEnded(task, record, env);
    case "notify":
      return sendCallback(record.commit(callbacks.callbackSent(task, now)), env);
    case "call_back": {
      // No consumer has claimed the call. Each task object waits for its own receiver, so a slow receiver delays no other task.
      const work = await leases.claimCallback();
      if (work) await leases.reportCallback(work.lease, await callReceiver(work.task, env));
      return;
    }
    case "call_lapsed":
      record.commit(callbacks.callLapsed(task, now));
      return;
    case "erase":
      await settleForgotten(task, env);
      if (task.isTidy && task.result && !task.isDeleted)
        await removeAssets(
          env.ASSETS,
          listAssets(task.result).map(({ key }) => key),
        );
      else await removeUnder(env.ASSETS, assetPrefix(task.id));
      if (record.task === task) record.keep(afterEnd.erased(task, lifeTimes(env).recordMs));
      return;
    case "forget":
      return forget(task, record, env);
  }
}
