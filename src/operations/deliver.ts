/** Delivers alerts: a signed POST to ALERT_WEBHOOK, an e-mail to ALERT_MAIL, and always a line in the log. */

import type { Delivery } from "../rpc/operations.ts";
import type { Alert } from "../db/alerts.ts";
import { alert as logAlert } from "../base/log.ts";
import { VariableError } from "../base/variables.ts";
import { signMessage } from "../signing/webhooks.ts";
import type { Change } from "./alert-state.ts";
import { alertAddress, alertSecret, listReceivers, type Receiver } from "./receivers.ts";
import { toSeconds } from "../base/times.ts";

const timeoutMs = 10_000;

export type ReceiverSettings = Pick<
  OperationsBindings,
  "ALERT_WEBHOOK" | "ALERT_SIGNING_SECRET" | "ALERT_SIGNING_SECRET_OLD" | "ALERT_MAIL" | "MAIL" | "MAIL_FROM"
>;

const testName = "test";

/**
 * Sends an alert to every receiver that has not accepted it yet, and adds those that accept it to `alert.acceptedBy`. Throws if one of them does
 * not, or is not configured completely. May be repeated, because a message has the same id each time.
 */
export async function deliver(settings: ReceiverSettings, alert: Alert, change: Change): Promise<void> {
  const faults: unknown[] = [];
  for (const receiver of listReceivers(settings)) {
    if (alert.acceptedBy?.includes(receiver)) continue;
    try {
      await send[receiver](settings, alert, change);
      alert.acceptedBy = [...(alert.acceptedBy ?? []), receiver];
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
  logAlert("alert", { outcome: change, name: alert.name, causes: alert.causes.join(" ") });
}

/** Sends a test alert to every receiver, and returns how each took it; none if alerts are only logged. */
export async function deliverTest(settings: ReceiverSettings): Promise<Delivery[]> {
  const now = Date.now();
  const test: Alert = { name: testName, beganAt: now, endedAt: now, causes: ["a test by the operator"], told: null };
  const deliveries: Delivery[] = [];
  for (const receiver of listReceivers(settings))
    try {
      await send[receiver](settings, test, "began");
      deliveries.push({ receiver, delivered: true });
    } catch (error) {
      logAlert("alert", { outcome: "not_delivered", name: testName }, error);
      deliveries.push({ receiver, delivered: false, reason: describeFault(error) });
    }
  logAlert("alert", { outcome: "tested", name: testName });
  return deliveries;
}

/** The receiver refused the message. */
class Refused extends Error {
  override readonly name = "Refused";
}

/** Other errors may contain the receiver's address. */
const describeFault = (error: unknown): string =>
  error instanceof VariableError || error instanceof Refused ? error.message : "it did not answer, or the e-mail service refused";

const send: Record<Receiver, (settings: ReceiverSettings, alert: Alert, change: Change) => Promise<void>> = {
  webhook: post,
  async mail({ MAIL: mail, MAIL_FROM: from, ALERT_MAIL: to = "" }, alert, change) {
    if (!mail || !from) throw new VariableError("ALERT_MAIL", "needs the e-mail binding and MAIL_FROM (--with email --mail-from)");
    await mail.send({ from, to, subject: `${alert.name}: ${change}`, text: describe(alert, change) });
  },
};

async function post(settings: ReceiverSettings, alert: Alert, change: Change): Promise<void> {
  const { ALERT_SIGNING_SECRET_OLD: old } = settings;
  const [url = "", secret] = [alertAddress(settings), alertSecret(settings)];
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
  if (!response.ok) throw new Refused(`ALERT_WEBHOOK answered ${response.status}`);
}

/** An alert in the format for receivers. Times in Unix seconds. */
const toData = ({ name, beganAt, endedAt, causes }: Alert) => ({
  name,
  began_at: toSeconds(beganAt),
  ended_at: toSeconds(endedAt),
  causes,
});

const describe = (alert: Alert, change: Change) =>
  `The alert ${alert.name} ${change} at ${new Date((change === "began" ? alert.beganAt : alert.endedAt) ?? Date.now()).toISOString()}.

${alert.causes.join("\n")}

What to do is in docs/operations.md, under ${alert.name}.
`;
