/** One account for the operator: profile, money, keys and latest tasks. No prompts, no outputs. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { readTasks } from "../answers.ts";
import { nothingHere } from "../frame.tsx";
import { type Account } from "../../db/accounts.ts";
import { listKeys } from "../../db/api-keys.ts";
import { remaining } from "../../db/ledger.ts";
import { listQuotaChanges } from "../../db/quota-changes.ts";
import { known } from "../../base/known.ts";
import { readBalance, readBalances } from "../ledger.ts";
import { findPerson } from "../members.ts";
import { QuotaForm, type TypedQuota } from "./quota.tsx";
import { accountAsked, adminPage, askAs, accountName } from "./frame.tsx";
import { History } from "../billing/history.tsx";
import { Button, DataTable, DateTime, Facts, Link, Money, Note, Problem, SectionHead, Stats } from "../parts/index.ts";
import { BudgetFields, budgetLeft } from "../keys/budget.tsx";
import { TaskTable } from "./task-table.tsx";
import { balanceUnit, signup } from "../settings.ts";

const changesShown = 20;

/** The error for a quota or budget form, and the typed values. */
interface Refused {
  quota?: string;
  typed?: TypedQuota;
  budget?: string;
  /** What the budget's form contained. */
  typedBudget?: (name: string) => string;
}

/** The account's page, also shown again after an invalid form. */
export async function accountPage(c: ConsoleContext, account: Account, refused: Refused = {}) {
  const { t } = c.var;
  const { DB } = c.env;
  const [balance, isRestored] = await Promise.all([readBalance(c, account.id), c.env.API.isRestored(account.id, account.keysRevision)]);
  const person = await findPerson(DB, account.id);
  const isOwn = account.id === c.var.account.id;
  const path = `/console/admin/accounts/${account.id}`;
  return adminPage(
    c,
    accountName(account),
    <>
      <div class="stack">
        {isRestored && (
          <Note tone="bad" role="alert">
            <p>{t("admin_restored_account")}</p>
            <p>
              <a href="/console/admin#reconcile">{t("admin_restored_decide")}</a>
            </p>
          </Note>
        )}
        <div class="row actions">
          {isOwn ? (
            <p class="muted">{t("admin_not_oneself")}</p>
          ) : (
            <>
              <Link
                href={`${path}/${account.disabled ? "enable" : "disable"}`}
                class={account.disabled ? "btn" : "btn danger"}
                text={t(account.disabled ? "enable" : "disable")}
              />
              <Link href={`${path}/${account.admin ? "dismiss" : "appoint"}`} class="btn" text={t(account.admin ? "dismiss" : "appoint")} />
              <Link href={`${path}/erase`} class="btn danger" text={t("admin_erase")} />
            </>
          )}
          {person === null && signup(c.env) !== "closed" && (
            <form method="post" action={`${path}/invite`}>
              <Button class="btn" text={t("admin_invite")} />
            </form>
          )}
        </div>
      </div>
      <Stats
        of={[
          [t("balance"), <Money millionths={remaining(balance)} />],
          [t("quota"), <Money millionths={balance.quota} />],
          [t("used"), <Money millionths={balance.used} />],
          [t("reserved"), <Money millionths={balance.reserved} />],
        ]}
      />
      <div class="duo gap">
        <section class="stack">
          <div class="card">
            <Facts
              of={[
                [t("account"), <code class="id">{account.id}</code>],
                [t("created"), <DateTime ms={account.createdAt} />],
                [t("status"), t(account.disabled ? "admin_is_disabled" : "admin_is_enabled")],
                [t("role"), t(account.admin ? "admin_is_admin" : "admin_is_no_admin")],
                balance.budget !== null && [t("budget"), budgetLeft(c, balance.budget)],
                balance.budget !== null && [t("budget_renews"), <DateTime ms={balance.budget.until} />],
                [t("admin_person"), person === null ? t("admin_nobody_signs_in") : t("admin_signs_in", { email: person })],
              ]}
            />
          </div>
          <form method="post" action={`${path}/budget`} class="card stack">
            <h2>{t("budget_change")}</h2>
            <Problem text={refused.budget} />
            <BudgetFields c={c} budget={balance.budget} typed={refused.typedBudget} />
            <p>
              <Button class="btn" text={t("budget_change")} />
            </p>
          </form>
        </section>
        <section>
          <QuotaForm path={path} unit={balanceUnit(c.env)} problem={refused.quota} typed={refused.typed} />
        </section>
      </div>
      <section>
        <SectionHead title={t("billing_history")} />
        <History moves={await listQuotaChanges(DB, account.id, { limit: changesShown })} isAdmin />
      </section>
      <section>
        <SectionHead title={t("api_keys")} />
        {await readKeys(c, account)}
      </section>
      {!isRestored && (
        <section>
          <SectionHead title={t("latest_tasks")} />
          {await readLatestTasks(c, account)}
        </section>
      )}
    </>,
    Object.keys(refused).length === 0 ? 200 : 400,
  );
}

async function readKeys(c: ConsoleContext, account: Account) {
  const { t } = c.var;
  const keys = await listKeys(c.env.DB, account.id);
  const wallets = await readBalances(
    c,
    account.id,
    keys.map(({ walletId }) => walletId),
  );
  const rows = keys.map((key) => ({ ...key, ...known(wallets, key.walletId) }));
  return (
    <DataTable
      label={t("api_keys")}
      none={t("admin_no_keys")}
      rows={rows}
      columns={[
        { name: t("name"), class: "wrap", cell: ({ name }) => name },
        { name: t("prefix"), isExtra: true, cell: ({ prefix }) => <code>{prefix}…</code> },
        { name: t("quota"), isNumber: true, isExtra: true, cell: ({ quota }) => <Money millionths={quota} /> },
        { name: t("used"), isNumber: true, cell: ({ used }) => <Money millionths={used} /> },
        { name: t("created"), isExtra: true, cell: ({ createdAt }) => <DateTime ms={createdAt} /> },
        { name: t("expires"), isExtra: true, cell: ({ expiresAt }) => (expiresAt === null ? t("never") : <DateTime ms={expiresAt} />) },
        {
          name: "",
          isNumber: true,
          cell: ({ id, name }) => (
            <Link
              class="btn ghost sm danger"
              href={`/console/admin/accounts/${account.id}/keys/${id}`}
              aria-label={t("delete_key", { name })}
              text={t("delete")}
            />
          ),
        },
      ]}
    />
  );
}

async function readLatestTasks(c: ConsoleContext, account: Account) {
  const { t } = c.var;
  const response = await askAs(c, account.id, "/v1/tasks?limit=10");
  if (!response.ok) return <Problem text={t("failed")} />;
  const { data: tasks } = await readTasks(response);
  if (tasks.length === 0) return <p class="muted">{t("admin_no_tasks")}</p>;
  return <TaskTable tasks={tasks} path={`/console/admin/accounts/${account.id}/tasks`} />;
}

export const account = new Hono<ConsoleEnvironment>().get("/", async (c) => {
  const found = await accountAsked(c);
  return found ? accountPage(c, found) : nothingHere(c);
});
