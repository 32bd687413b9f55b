/** The operator's page with the alerts of the checks, which run every five minutes, and the last reconciliation. */

import type { ConsoleContext } from "../context.ts";
import { readForm } from "../forms.ts";
import { type Alert, listAlerts } from "../../db/alerts.ts";
import type { Heartbeat } from "../../db/jobs.ts";
import { log } from "../../base/log.ts";
import { dayMs } from "../../base/times.ts";
import type { RestoredAccount, RestoredDecision } from "../../rpc/operations.ts";
import { actor } from "../frame.tsx";
import { Button, ClockTime, DataTable, DateTime, Filled, Note, Pill, Stats } from "../parts/index.ts";
import { adminPage } from "./frame.tsx";

/** How long an ended alert is shown. */
const shownMs = 7 * dayMs;

/** Every alert that is active, then those that ended in the last week. */
export async function shownAlerts(c: ConsoleContext): Promise<Alert[]> {
  const alerts = await listAlerts(c.env.DB);
  const active = alerts.filter(({ endedAt }) => endedAt === null);
  return [...active, ...alerts.filter(({ endedAt }) => endedAt !== null && endedAt > Date.now() - shownMs)];
}

/** When the checks last ran; a warning if they have stopped, because they cannot report that themselves. */
function LastCheck({ c, heartbeat: { at, isStale } }: { c: ConsoleContext; heartbeat: Heartbeat }) {
  const { t } = c.var;
  if (!isStale && at !== null)
    return (
      <p class="muted">
        {t("admin_checked")} <DateTime ms={at} />
      </p>
    );
  return (
    <Note tone={at === null ? "warn" : "bad"} role="alert">
      {at === null ? t("admin_checks_never") : <Filled message="admin_checks_stale" by={{ time: <ClockTime ms={at} /> }} />}
    </Note>
  );
}

interface AlertsProps {
  c: ConsoleContext;
  alerts: Alert[];
  heartbeat: Heartbeat;
  /** True if routes fail now: then the absence of alerts is no good news. */
  isFailing: boolean;
}

export function AlertSection({ c, alerts, heartbeat, isFailing }: AlertsProps) {
  const { t } = c.var;
  const isQuiet = alerts.every(({ endedAt }) => endedAt !== null);
  return (
    <section id="alerts" class="stack">
      <h2>{t("admin_alerts")}</h2>
      <LastCheck c={c} heartbeat={heartbeat} />
      {isQuiet && !heartbeat.isStale && !isFailing && (
        <Note tone="good" role="status">
          {t("admin_alerts_none")}
        </Note>
      )}
      {alerts.length > 0 && (
        <DataTable
          label={t("admin_alerts")}
          rows={alerts}
          columns={[
            { name: t("admin_alert"), cell: ({ name }) => <code>{name}</code> },
            {
              name: t("state"),
              cell: ({ endedAt }) =>
                endedAt === null ? (
                  <Pill icon="bad" tone="bad" text={t("admin_alert_active")} />
                ) : (
                  <span class="muted">{t("admin_alert_over")}</span>
                ),
            },
            { name: t("started_at"), isExtra: true, cell: ({ beganAt }) => <DateTime ms={beganAt} /> },
            { name: t("figure_ended"), isExtra: true, cell: ({ endedAt }) => (endedAt === null ? "–" : <DateTime ms={endedAt} />) },
            {
              name: t("admin_alert_causes"),
              class: "wrap",
              cell: ({ causes }) =>
                causes.map((cause) => (
                  <div>
                    <code>{cause}</code>
                  </div>
                )),
            },
          ]}
        />
      )}
      <form method="post" action="/console/admin/test-alert" class="row">
        <Button class="btn" aria-describedby="test-alert-hint" text={t("admin_test_alert")} />
        <span id="test-alert-hint" class="muted">
          {t("admin_test_alert_hint")}
        </span>
      </form>
    </section>
  );
}

/** Sends a test alert, and shows how each receiver took it. */
export async function testAlert(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const deliveries = await c.env.API.testAlert();
  log("admin", { by: c.var.account.id, outcome: "alert_tested" });
  const notes = (deliveries ?? []).map(({ receiver, delivered, reason = "" }) =>
    delivered
      ? ({ tone: "good", text: t("admin_test_alert_sent", { receiver }) } as const)
      : ({ tone: "bad", text: t("admin_test_alert_failed", { receiver, reason }) } as const),
  );
  if (notes.length === 0)
    notes.push({ tone: "bad", text: t(deliveries === undefined ? "admin_reconcile_absent" : "admin_test_alert_none") });
  return adminPage(
    c,
    t("admin_test_alert"),
    <div class="stack">
      {notes.map(({ tone, text }) => (
        <Note tone={tone} role={tone === "good" ? "status" : "alert"}>
          {text}
        </Note>
      ))}
    </div>,
  );
}

/** The button that begins a reconciliation, or continues one at `after`. */
export const ReconcileForm = ({ c, after, restored }: { c: ConsoleContext; after?: string; restored?: RestoredDecision | undefined }) => {
  const { t } = c.var;
  return (
    <form method="post" action="/console/admin/reconcile">
      {after !== undefined && <input type="hidden" name="after" value={after} />}
      {restored && <input type="hidden" name="restored" value={restored} />}
      <Button class="btn" aria-describedby="reconcile-hint" text={t(after === undefined ? "admin_reconcile" : "admin_reconcile_more")} />
    </form>
  );
};

/** Accounts that lost changes to a restored database, and the two decisions, which concern all accounts. */
const Restored = ({ c, accounts }: { c: ConsoleContext; accounts: RestoredAccount[] }) => {
  const { t } = c.var;
  return (
    <section class="stack">
      <h2>{t("admin_restored")}</h2>
      <ul>
        {accounts.map(({ account, state, changes }) => (
          <li>
            <a href={`/console/admin/accounts/${account}`}>
              <code>{account}</code>
            </a>{" "}
            {t(`admin_restored_${state}`)}
            {changes.length > 0 && (
              <>
                {": "}
                <code>{changes.map(({ change, id }) => (id === undefined ? change : `${change} ${id}`)).join(", ")}</code>
              </>
            )}
          </li>
        ))}
      </ul>
      {accounts.some(({ state }) => state === "refused") && (
        <form method="post" action="/console/admin/reconcile" class="stack">
          <Note tone="warn" role="alert">
            {t("admin_restored_hint")}
          </Note>
          <p class="row">
            <Button class="btn" name="restored" value="replay" text={t("admin_restored_replay")} />
            <Button class="btn" name="restored" value="accept" text={t("admin_restored_accept")} />
          </p>
        </form>
      )}
    </section>
  );
};

/** Reconciles a share of the accounts, and shows the result. */
export async function reconcile(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const form = await readForm(c);
  const [after, decision] = [form("after"), form("restored")];
  const restored = decision === "replay" || decision === "accept" ? decision : undefined;
  const done = await c.env.API.reconcile(after === "" ? undefined : after, restored, actor(c));
  log("admin", { by: c.var.account.id, outcome: "reconciled", ...(done && { settled: done.settled, returned: done.returned }) });
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
        {done.after !== null && <ReconcileForm c={c} after={done.after} restored={restored} />}
        {done.restored && done.restored.length > 0 && <Restored c={c} accounts={done.restored} />}
      </div>
    ) : (
      <Note tone="bad" role="alert">
        {t("admin_reconcile_absent")}
      </Note>
    ),
  );
}
