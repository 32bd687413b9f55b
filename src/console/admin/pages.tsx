/** The admin start page with key numbers, and the audit. The other sections are mounted here. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import { Money } from "../parts/money.tsx";
import { Note } from "../parts/note.tsx";
import { Hono } from "hono";
import { openTasks } from "../ledger.ts";
import { type Audit, audit } from "../../db/audit.ts";
import { readHeartbeat } from "../../db/jobs.ts";
import { signedIn } from "../frame.tsx";
import { accountActions } from "./account-actions.tsx";
import { account } from "./account.tsx";
import { accounts } from "./accounts.tsx";
import { adminOnly, adminPage } from "./frame.tsx";
import { AlertSection, ReconcileForm, reconcile, shownAlerts, testAlert } from "./operations.tsx";
import { margins } from "./margins.tsx";
import { models } from "./models/pages.tsx";
import { providers } from "./providers.tsx";
import { isLate } from "./task-state.ts";
import { task } from "./task.tsx";
import { tasks } from "./tasks.tsx";
import { Stats, Table } from "../parts/table.tsx";

const dayMs = 86_400_000;
const most = 200;

async function glance(c: ConsoleContext) {
  const { t } = c.var;
  const now = Date.now();
  const [open, upstreams, alerts, heartbeat] = await Promise.all([
    openTasks(c, { since: now - dayMs, limit: most }),
    c.env.API.upstreams(),
    shownAlerts(c),
    readHeartbeat(c.env.DB, now),
  ]);
  const count = open.length === most ? t("admin_at_least", { count: most }) : open.length;
  return adminPage(
    c,
    t("admin"),
    <>
      <Stats
        of={[
          [t("admin_open_day"), count],
          [t("admin_past_deadline"), open.filter((row) => isLate(row, now)).length],
          [t("admin_held_by_them"), <Money millionths={open.reduce((sum, { held }) => sum + held, 0)} />],
          [t("admin_providers_on"), upstreams.providers.filter(({ on }) => on).length],
        ]}
      />
      <AlertSection c={c} alerts={alerts} heartbeat={heartbeat} />
      <section class="card stack">
        <h2>{t("admin_audit")}</h2>
        <p id="audit-hint" class="muted">
          {t("admin_audit_hint")}
        </p>
        <form action="/console/admin/audit">
          <button class="btn" aria-describedby="audit-hint">
            {t("admin_check_audit")}
          </button>
        </form>
      </section>
      <section id="reconcile" class="card stack">
        <h2>{t("admin_reconcile")}</h2>
        <p id="reconcile-hint" class="muted">
          {t("admin_reconcile_hint")}
        </p>
        <ReconcileForm c={c} />
      </section>
    </>,
  );
}

async function showAudit(c: ConsoleContext) {
  const { t } = c.var;
  const found = await audit(c.env.DB, c.env.API);
  return adminPage(
    c,
    t("admin_audit"),
    <>
      <Stats
        of={[
          [t("admin_accounts"), found.accounts],
          [t("admin_open_all"), found.tasksOpen],
          [t("reserved"), <Money millionths={found.reserved} />],
        ]}
      />
      <section>
        {found.drift.length === 0 ? (
          <Note tone="good" role="status">
            {t("admin_audit_agree")}
          </Note>
        ) : (
          <Drift c={c} rows={found.drift} />
        )}
      </section>
    </>,
  );
}

const Drift = ({ c, rows }: { c: ConsoleContext; rows: Audit["drift"] }) => {
  const { t } = c.var;
  return (
    <>
      <Note tone="bad" role="alert">
        {t("admin_audit_differ", { count: rows.length })}
      </Note>
      <Table
        label={t("admin_audit")}
        columns={[
          t("admin_wallet"),
          t("reserved"),
          t("admin_by_ledger", { what: t("reserved") }),
          t("used"),
          t("admin_by_ledger", { what: t("used") }),
        ]}
      >
        {rows.map((row) => (
          <tr>
            <th scope="row">
              <code>{row.id}</code>
            </th>
            <td>{formatAmount(c, row.reserved)}</td>
            <td>{formatAmount(c, row.ledgerReserved)}</td>
            <td>{formatAmount(c, row.used)}</td>
            <td>{formatAmount(c, row.ledgerUsed)}</td>
          </tr>
        ))}
      </Table>
    </>
  );
};

export const admin = new Hono<ConsoleEnvironment>()
  .use(signedIn, adminOnly)
  .get("/", glance)
  .get("/audit", showAudit)
  .post("/reconcile", reconcile)
  .post("/test-alert", testAlert)
  .route("/accounts", accounts)
  .route("/accounts/:id/tasks", task)
  .route("/accounts/:id", account)
  .route("/accounts/:id", accountActions)
  .route("/models", models)
  .route("/margins", margins)
  .route("/providers", providers)
  .route("/tasks", tasks);
