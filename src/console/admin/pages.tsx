/** The operator's pages: how things stand at a glance, and the audit of the books. The other parts are mounted here. */

import { Hono } from "hono";
import { listOpenTasks } from "../../ledger.ts";
import { type Audit, audit } from "../../quota.ts";
import { type ConsoleContext, type ConsoleEnvironment, signedIn } from "../frame.tsx";
import { accountActions } from "./account-actions.tsx";
import { account } from "./account.tsx";
import { accounts } from "./accounts.tsx";
import { adminOnly, adminPage, amountOf } from "./frame.tsx";
import { providers } from "./providers.tsx";
import { isLate } from "./task-state.ts";
import { task } from "./task.tsx";
import { tasks } from "./tasks.tsx";

const dayMs = 86_400_000;
const most = 200;

async function glance(c: ConsoleContext) {
  const { say } = c.var;
  const now = Date.now();
  const [open, upstreams] = await Promise.all([listOpenTasks(c.env.DB, { since: now - dayMs, limit: most }), c.env.API.upstreams()]);
  const count = open.length === most ? say("admin_at_least", { count: most }) : open.length;
  return adminPage(
    c,
    say("admin"),
    <>
      <dl class="figures">
        <div>
          <dt>{say("admin_open_day")}</dt>
          <dd>{count}</dd>
        </div>
        <div>
          <dt>{say("admin_past_deadline")}</dt>
          <dd>{open.filter((row) => isLate(row, now)).length}</dd>
        </div>
        <div>
          <dt>{say("admin_held_by_them")}</dt>
          <dd>
            {amountOf(
              c,
              open.reduce((sum, { held }) => sum + held, 0),
            )}
          </dd>
        </div>
        <div>
          <dt>{say("admin_providers_on")}</dt>
          <dd>{upstreams.providers.filter(({ on }) => on).length}</dd>
        </div>
      </dl>
      <h2>{say("admin_books")}</h2>
      <p id="books-hint">{say("admin_books_hint")}</p>
      <form action="/console/admin/audit">
        <button aria-describedby="books-hint">{say("admin_check_books")}</button>
      </form>
    </>,
  );
}

async function books(c: ConsoleContext) {
  const { say } = c.var;
  const found = await audit(c.env.DB);
  return adminPage(
    c,
    say("admin_books"),
    <>
      <dl class="figures">
        <div>
          <dt>{say("admin_accounts")}</dt>
          <dd>{found.accounts}</dd>
        </div>
        <div>
          <dt>{say("admin_open_all")}</dt>
          <dd>{found.tasksOpen}</dd>
        </div>
        <div>
          <dt>{say("reserved")}</dt>
          <dd>{amountOf(c, found.reserved)}</dd>
        </div>
      </dl>
      {found.drift.length === 0 ? <p role="status">{say("admin_books_agree")}</p> : <Drift c={c} rows={found.drift} />}
    </>,
  );
}

const Drift = ({ c, rows }: { c: ConsoleContext; rows: Audit["drift"] }) => {
  const { say } = c.var;
  return (
    <>
      <p role="alert">{say("admin_books_differ", { count: rows.length })}</p>
      <div class="overflow-auto" role="region" aria-label={say("admin_books")} tabindex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{say("admin_wallet")}</th>
              <th scope="col">{say("reserved")}</th>
              <th scope="col">{say("admin_by_ledger", { what: say("reserved") })}</th>
              <th scope="col">{say("used")}</th>
              <th scope="col">{say("admin_by_ledger", { what: say("used") })}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr>
                <th scope="row">
                  <code>{row.id}</code>
                </th>
                <td>{amountOf(c, row.reserved)}</td>
                <td>{amountOf(c, row.ledgerReserved)}</td>
                <td>{amountOf(c, row.used)}</td>
                <td>{amountOf(c, row.ledgerUsed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
};

export const admin = new Hono<ConsoleEnvironment>()
  .use(signedIn, adminOnly)
  .get("/", glance)
  .get("/audit", books)
  .route("/accounts", accounts)
  .route("/accounts/:id/tasks", task)
  .route("/accounts/:id", account)
  .route("/accounts/:id", accountActions)
  .route("/providers", providers)
  .route("/tasks", tasks);
