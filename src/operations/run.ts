/** One run of the checks: finds causes, stores each alert's state, reports changes to the receivers. */

import { type Alert, listAlerts, writeAlert } from "../db/alerts.ts";
import { deleteIncidents } from "../db/incidents.ts";
import { deleteOutcomes } from "../db/outcome-sums.ts";
import { deleteOldRequests } from "../db/requests.ts";
import { alert as logAlert } from "../log.ts";
import { afterCheck, untold } from "./alert-state.ts";
import { type AlertName, checks } from "./checks.ts";
import { deliver } from "./deliver.ts";
import type { Objects } from "./objects.ts";

const incidentMs = 7 * 86_400_000;

/** Runs all checks. A failed one is logged and does not change its alerts. */
export async function runChecks(env: OperationsBindings, objects: Objects): Promise<void> {
  const now = Date.now();
  const alerts = new Map((await listAlerts(env.DB)).map((alert) => [alert.name, alert]));
  for (const check of checks) {
    try {
      const found = await check(env, objects, now);
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
  for (const alert of alerts.values()) await tell(env, alert);
  await deleteIncidents(env.DB, now - incidentMs);
  await deleteOutcomes(env.DB, now);
  await deleteOldRequests(env.DB, now);
}

/** Sends the notices of an alert that are not delivered yet: its beginning, its end, or both. The next run repeats failed ones. */
async function tell(env: OperationsBindings, alert: Alert): Promise<void> {
  try {
    for (let change = untold(alert); change; change = untold(alert)) {
      await deliver(env, alert, change);
      alert.told = change;
      await writeAlert(env.DB, alert);
    }
  } catch (error) {
    logAlert("alert", { outcome: "not_delivered", name: alert.name }, error);
  }
}
