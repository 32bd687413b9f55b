/** The audit; the operator's start page and the other sections are mounted here. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import { DataTable, Money, Note, Stats } from "../parts/index.ts";
import { Hono } from "hono";
import { type Audit, audit } from "../../db/audit.ts";
import { signedIn } from "../frame.tsx";
import { accountActions } from "./account-actions.tsx";
import { account } from "./account.tsx";
import { accounts } from "./accounts.tsx";
import { adminAuditLog } from "./audit-log.tsx";
import { adminOnly, adminPage } from "./frame.tsx";
import { reconcile, testAlert } from "./operations.tsx";
import { operatorNow, operatorPage } from "./overview.tsx";
import { margins } from "./margins.tsx";
import { models } from "./models/pages.tsx";
import { providers } from "./providers.tsx";
import { task } from "./task.tsx";
import { tasks } from "./tasks.tsx";

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
          [t("admin_open_tasks"), found.tasksOpen],
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
      <DataTable
        label={t("admin_audit")}
        rows={rows}
        columns={[
          { name: t("admin_wallet"), cell: ({ id }) => <code>{id}</code> },
          { name: t("reserved"), cell: ({ reserved }) => formatAmount(c, reserved) },
          { name: t("admin_by_ledger", { what: t("reserved") }), cell: ({ ledgerReserved }) => formatAmount(c, ledgerReserved) },
          { name: t("used"), cell: ({ used }) => formatAmount(c, used) },
          { name: t("admin_by_ledger", { what: t("used") }), cell: ({ ledgerUsed }) => formatAmount(c, ledgerUsed) },
        ]}
      />
    </>
  );
};

export const admin = new Hono<ConsoleEnvironment>()
  .use(signedIn, adminOnly)
  .get("/", operatorPage)
  .get("/now", operatorNow)
  .get("/audit", showAudit)
  .get("/audit-log", adminAuditLog)
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
