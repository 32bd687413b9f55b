/** Delivers alerts: a signed POST to ALERT_WEBHOOK, an e-mail to ALERT_MAIL, and always a line in the log. */

import type { Alert } from "../db/alerts.ts";
import { alert as logAlert } from "../log.ts";
import { VariableError } from "../variables.ts";
import { signMessage } from "../webhook-signature.ts";
import type { Change } from "./alert-state.ts";

const timeoutMs = 10_000;

type Settings = Pick<
  OperationsBindings,
  "ALERT_WEBHOOK" | "ALERT_SIGNING_SECRET" | "ALERT_SIGNING_SECRET_OLD" | "ALERT_MAIL" | "MAIL" | "MAIL_FROM"
>;

/** Sends an alert to every receiver. Throws if one of them refuses it; it may be repeated, because a message has the same id each time. */
export async function deliver(settings: Settings, alert: Alert, change: Change): Promise<void> {
  const { ALERT_WEBHOOK: url, ALERT_MAIL: to, MAIL: mail, MAIL_FROM: from } = settings;
  if (url) await post(url, settings, alert, change);
  if (to && mail && from) await mail.send({ from, to, subject: `${alert.name}: ${change}`, text: describe(alert, change) });
  logAlert("alert", { outcome: change, name: alert.name, causes: alert.causes.join(" ") });
}

async function post(url: string, settings: Settings, alert: Alert, change: Change): Promise<void> {
  const { ALERT_SIGNING_SECRET: secret, ALERT_SIGNING_SECRET_OLD: old } = settings;
  if (!secret) throw new VariableError("ALERT_SIGNING_SECRET", "is needed with ALERT_WEBHOOK");
  const now = Date.now();
  const body = JSON.stringify({ type: `alert.${change}`, timestamp: new Date(now).toISOString(), data: toData(alert) });
  const id = `alert_${alert.name}_${alert.beganAt}_${change}`;
  const headers = {
    "content-type": "application/json",
    "user-agent": "generation-gateway",
    ...(await signMessage(old ? [secret, old] : [secret], id, now, body)),
  };
  const response = await fetch(url, { method: "POST", redirect: "manual", headers, body, signal: AbortSignal.timeout(timeoutMs) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`ALERT_WEBHOOK answered ${response.status}`);
}

const seconds = (ms: number) => Math.floor(ms / 1000);

/** An alert in the format for receivers. Times in Unix seconds. */
const toData = ({ name, beganAt, endedAt, causes }: Alert) => ({
  name,
  began_at: seconds(beganAt),
  ended_at: endedAt === null ? null : seconds(endedAt),
  causes,
});

const describe = (alert: Alert, change: Change) =>
  `The alert ${alert.name} ${change} at ${new Date((change === "began" ? alert.beganAt : alert.endedAt) ?? Date.now()).toISOString()}.

${alert.causes.join("\n")}

What to do is in docs/operations.md, under ${alert.name}.
`;
