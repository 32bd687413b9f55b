/** One account for the operator: profile, money, keys and latest tasks. No prompts, no outputs. */

import { Hono } from "hono";
import { readTasks } from "../answers.ts";
import { type Account } from "../../db/accounts.ts";
import { listKeys } from "../../db/api-keys.ts";
import { remaining } from "../../db/ledger.ts";
import { known } from "../../known.ts";
import { balanceOf, walletsOf } from "../ledger.ts";
import { type ConsoleContext, type ConsoleEnvironment } from "../frame.tsx";
import { personOf } from "../members.ts";
import { accountAsked, adminPage, askAs, nameOf, notFound } from "./frame.tsx";
import { useAround } from "../parts/context.ts";
import { TextField } from "../parts/field.tsx";
import { Money } from "../parts/money.tsx";
import { DateTime } from "../parts/date-time.tsx";
import { Problem } from "../parts/note.tsx";
import { Facts, Stats, Table } from "../parts/table.tsx";
import { TaskTable } from "../parts/task-table.tsx";
import { balanceUnit, signup } from "../settings.ts";

/** The account's page; `problem` is the reason why its quota was not changed. */
export async function accountPage(c: ConsoleContext, account: Account, problem?: string) {
  const { say } = c.var;
  const { DB } = c.env;
  const balance = await balanceOf(c, account.id);
  const person = await personOf(DB, account.id);
  const isOwn = account.id === c.get("account").id;
  const path = `/console/admin/accounts/${account.id}`;
  return adminPage(
    c,
    nameOf(account),
    <>
      <div class="row actions">
        {isOwn ? (
          <p class="muted">{say("admin_not_oneself")}</p>
        ) : (
          <>
            <a href={`${path}/${account.disabled ? "enable" : "disable"}`} role="button" class={account.disabled ? "btn" : "btn danger"}>
              {say(account.disabled ? "admin_enable" : "admin_disable")}
            </a>
            <a href={`${path}/${account.admin ? "dismiss" : "appoint"}`} role="button" class="btn">
              {say(account.admin ? "admin_dismiss" : "admin_appoint")}
            </a>
          </>
        )}
        {person === null && signup(c.env) !== "closed" && (
          <form method="post" action={`${path}/invite`}>
            <button class="btn">{say("admin_invite")}</button>
          </form>
        )}
      </div>
      <Stats
        of={[
          [say("remaining"), <Money millionths={remaining(balance)} />],
          [say("quota"), <Money millionths={balance.quota} />],
          [say("used"), <Money millionths={balance.used} />],
          [say("reserved"), <Money millionths={balance.reserved} />],
        ]}
      />
      <div class="duo gap">
        <section>
          <div class="card">
            <Facts
              of={[
                [say("admin_account"), <code class="id">{account.id}</code>],
                [say("created"), <DateTime ms={account.createdAt} />],
                [say("status"), say(account.disabled ? "admin_is_disabled" : "admin_is_enabled")],
                [say("admin_role"), say(account.admin ? "admin_is_admin" : "admin_is_no_admin")],
                [say("admin_person"), person === null ? say("admin_nobody_signs_in") : say("admin_signs_in", { email: person })],
              ]}
            />
          </div>
        </section>
        <section>
          <QuotaForm path={path} unit={balanceUnit(c.env)} problem={problem} />
        </section>
      </div>
      <section>
        <div class="sub">
          <h2>{say("api_keys")}</h2>
        </div>
        {await keysOf(c, account)}
      </section>
      <section>
        <div class="sub">
          <h2>{say("latest_tasks")}</h2>
        </div>
        {await tasksOf(c, account)}
      </section>
    </>,
    problem === undefined ? 200 : 400,
  );
}

const QuotaForm = ({ path, unit, problem }: { path: string; unit: string; problem: string | undefined }) => {
  const { say } = useAround();
  return (
    <form method="post" action={`${path}/quota`} class="card stack">
      <h2>{say("admin_change_quota")}</h2>
      <Problem text={problem} />
      <fieldset class="field">
        <legend>{say("admin_how")}</legend>
        <div>
          <label class="check">
            <input type="radio" name="how" value="add" checked />
            {say("admin_add")}
          </label>
          <label class="check">
            <input type="radio" name="how" value="set" />
            {say("admin_set")}
          </label>
          <label class="check">
            <input type="radio" name="how" value="unlimited" />
            {say("admin_without_limit")}
          </label>
        </div>
      </fieldset>
      <TextField
        name="amount"
        label={say("admin_quota_in", { unit })}
        inputmode="decimal"
        autocomplete="off"
        hint={say("admin_amount_hint")}
      />
      <p>
        <button class="btn primary">{say("admin_change_quota")}</button>
      </p>
    </form>
  );
};

async function keysOf(c: ConsoleContext, account: Account) {
  const { say } = c.var;
  const keys = await listKeys(c.env.DB, account.id);
  const wallets = await walletsOf(
    c,
    account.id,
    keys.map(({ walletId }) => walletId),
  );
  const rows = keys.map((key) => ({ ...key, ...known(wallets, key.walletId) }));
  if (rows.length === 0) return <p class="muted">{say("admin_no_keys")}</p>;
  return (
    <Table
      label={say("api_keys")}
      columns={[
        say("key_name"),
        say("prefix"),
        { name: say("quota"), isNumber: true },
        { name: say("used"), isNumber: true },
        { name: say("created"), isExtra: true },
        { name: say("expires"), isExtra: true },
        { name: "", isNumber: true },
      ]}
    >
      {rows.map((key) => (
        <tr>
          <th scope="row" class="wrap">
            {key.name}
          </th>
          <td>
            <code>{key.prefix}…</code>
          </td>
          <td class="num">
            <Money millionths={key.quota} />
          </td>
          <td class="num">
            <Money millionths={key.used} />
          </td>
          <td class="hide-s">
            <DateTime ms={key.createdAt} />
          </td>
          <td class="hide-s">{key.expiresAt === null ? say("never") : <DateTime ms={key.expiresAt} />}</td>
          <td class="num">
            <a
              class="btn ghost sm danger"
              href={`/console/admin/accounts/${account.id}/keys/${key.id}`}
              aria-label={say("delete_key", { name: key.name })}
            >
              {say("delete")}
            </a>
          </td>
        </tr>
      ))}
    </Table>
  );
}

async function tasksOf(c: ConsoleContext, account: Account) {
  const { say } = c.var;
  const response = await askAs(c, account.id, "/v1/tasks?limit=10");
  if (!response.ok) return <Problem text={say("failed")} />;
  const { data: tasks } = await readTasks(response);
  if (tasks.length === 0) return <p class="muted">{say("admin_no_tasks")}</p>;
  return <TaskTable tasks={tasks} path={`/console/admin/accounts/${account.id}/tasks`} />;
}

export const account = new Hono<ConsoleEnvironment>().get("/", async (c) => {
  const found = await accountAsked(c);
  return found ? accountPage(c, found) : notFound(c);
});
