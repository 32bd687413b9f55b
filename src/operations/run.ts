/** One run of the checks: finds causes, stores each alert's state, reports changes to the receivers. */

import { dayMs } from "../base/times.ts";
import { type Alert, listAlerts, writeAlert, deleteIncidents } from "../db/alerts.ts";
import { deleteOldSums } from "../db/recent-sums.ts";
import { foldSettled } from "../db/settled-sums.ts";
import { writeHeartbeat } from "../db/jobs.ts";
import { deleteOldRequests } from "../db/request-pages.ts";
import { alert as logAlert } from "../base/log.ts";
import { afterCheck, undelivered } from "./alert-state.ts";
import type { AlertName } from "../base/alert-names.ts";
import { checks, type GatewayState } from "./checks.ts";
import { deliver } from "./deliver.ts";
import type { Objects } from "../rpc/objects.ts";

const incidentMs = 7 * dayMs;

/** Runs all checks. A failed one is logged and does not change its alerts. */
export async function runChecks(env: OperationsBindings, objects: Objects, gateway: GatewayState = {}): Promise<void> {
  const now = Date.now();
  const alerts = new Map((await listAlerts(env.DB)).map((alert) => [alert.name, alert]));
  for (const check of checks) {
    try {
      const found = await check(env, objects, now, gateway);
      for (const [name, causes] of Object.entries(found) as [AlertName, string[]][]) {
        const next = afterCheck(name, alerts.get(name), causes, now);
        if (!next) continue;
        await writeAlert(env.DB, next);
        alerts.set(name, next);
      }
    } catch (error) {
      logAlert("check", { outcome: "fault" }, error);
    }
  }
  for (const alert of alerts.values()) await report(env, alert);
  await deleteIncidents(env.DB, now - incidentMs);
  await deleteOldSums(env.DB, now);
  await foldSettled(env.DB, now);
  await deleteOldRequests(env.DB, now);
  await writeHeartbeat(env.DB, now);
}

/** Sends the notices of an alert that are not delivered yet: its beginning, its end, or both. The next run repeats failed ones. */
async function report(env: OperationsBindings, alert: Alert): Promise<void> {
  try {
    for (let change = undelivered(alert); change; change = undelivered(alert)) {
      await deliver(env, alert, change);
      alert.told = change;
      alert.acceptedBy = [];
      await writeAlert(env.DB, alert);
    }
  } catch (error) {
    logAlert("alert", { outcome: "not_delivered", name: alert.name }, error);
    // Those that have accepted it do not get it again.
    await writeAlert(env.DB, alert).catch((fault: unknown) => logAlert("alert", { outcome: "not_stored", name: alert.name }, fault));
  }
}
