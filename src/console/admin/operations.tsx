/** The operator's page with the alerts of the checks, which run every five minutes, and the last reconciliation. */

import { type Alert, listAlerts } from "../../db/alerts.ts";
import { log } from "../../log.ts";
import { type ConsoleContext, readForm } from "../frame.tsx";
import { DateTime } from "../parts/date-time.tsx";
import { Note } from "../parts/note.tsx";
import { Pill } from "../parts/status.tsx";
import { Stats, Table } from "../parts/table.tsx";
import { adminPage } from "./frame.tsx";

/** How long an ended alert is shown. */
const shownMs = 7 * 86_400_000;

/** Every alert that is active, and those that ended in the last week. */
export const shownAlerts = async (c: ConsoleContext): Promise<Alert[]> =>
  (await listAlerts(c.env.DB)).filter(({ endedAt }) => endedAt === null || endedAt > Date.now() - shownMs);

export function AlertSection({ c, alerts }: { c: ConsoleContext; alerts: Alert[] }) {
  const { t } = c.var;
  const isQuiet = alerts.every(({ endedAt }) => endedAt !== null);
  return (
    <section class="stack">
      <h2>{t("admin_alerts")}</h2>
      {isQuiet && (
        <Note tone="good" role="status">
          {t("admin_alerts_none")}
        </Note>
      )}
      {alerts.length > 0 && (
        <Table
          label={t("admin_alerts")}
          columns={["admin_alert", "admin_alert_state", "admin_alert_since", "admin_alert_ended", "admin_alert_causes"].map((key) =>
            t(key as "admin_alert"),
          )}
        >
          {alerts.map((alert) => (
            <AlertRow c={c} alert={alert} />
          ))}
        </Table>
      )}
    </section>
  );
}

const AlertRow = ({ c, alert: { name, beganAt, endedAt, causes } }: { c: ConsoleContext; alert: Alert }) => {
  const { t } = c.var;
  return (
    <tr>
      <th scope="row">
        <code>{name}</code>
      </th>
      <td>
        {endedAt === null ? (
          <Pill icon="bad" tone="bad" text={t("admin_alert_active")} />
        ) : (
          <span class="muted">{t("admin_alert_over")}</span>
        )}
      </td>
      <td>
        <DateTime ms={beganAt} />
      </td>
      <td>{endedAt === null ? "–" : <DateTime ms={endedAt} />}</td>
      <td>
        {causes.map((cause) => (
          <div>
            <code>{cause}</code>
          </div>
        ))}
      </td>
    </tr>
  );
};

/** The button that begins a reconciliation, or continues one at `after`. */
export const ReconcileForm = ({ c, after }: { c: ConsoleContext; after?: string }) => {
  const { t } = c.var;
  return (
    <form method="post" action="/console/admin/reconcile">
      {after !== undefined && <input type="hidden" name="after" value={after} />}
      <button class="btn" aria-describedby="reconcile-hint">
        {t(after === undefined ? "admin_reconcile" : "admin_reconcile_more")}
      </button>
    </form>
  );
};

/** Reconciles a share of the accounts, and shows the result. */
export async function reconcile(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const after = (await readForm(c))("after");
  const done = await c.env.API.reconcile(after === "" ? undefined : after);
  log("admin", { by: c.get("account").id, outcome: "reconciled", ...(done && { settled: done.settled, returned: done.returned }) });
  return adminPage(
    c,
    t("admin_reconcile"),
    done ? (
      <div class="stack">
        <Stats
          of={[
            [t("admin_accounts"), done.accounts],
            [t("admin_settled_again"), done.settled],
            [t("admin_holds_returned"), done.returned],
            [t("admin_still_open"), done.open],
          ]}
        />
        <Note tone={done.after === null ? "good" : "warn"} role="status">
          <span id="reconcile-hint">{t(done.after === null ? "admin_reconcile_done" : "admin_reconcile_partly")}</span>
        </Note>
        {done.after !== null && <ReconcileForm c={c} after={done.after} />}
      </div>
    ) : (
      <Note tone="bad" role="alert">
        {t("admin_reconcile_absent")}
      </Note>
    ),
  );
}
