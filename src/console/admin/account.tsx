/** One account as its operator sees it: who it is, its money, keys and latest tasks. No prompts, no pictures. */

import { Figures, Table, type TaskRow, TaskTable } from "../parts.tsx";
import { amountOf } from "../amounts.ts";
import { Hono } from "hono";
import { type Account } from "../../db/accounts.ts";
import { listKeys } from "../../db/api-keys.ts";
import { remaining } from "../../db/ledger.ts";
import { balanceOf, walletsOf } from "../ledger.ts";
import { type ConsoleContext, type ConsoleEnvironment } from "../frame.tsx";
import { Moment, Problem } from "../layout.tsx";
import { personOf } from "../members.ts";
import { accountAsked, adminPage, askAs, nameOf, notFound } from "./frame.tsx";
import { balanceUnit, signup } from "../settings.ts";

/** The account's page; `problem` says why its quota was not changed. */
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
      <Figures
        of={[
          [say("quota"), amountOf(c, balance.quota)],
          [say("used"), amountOf(c, balance.used)],
          [say("reserved"), amountOf(c, balance.reserved)],
          [say("remaining"), amountOf(c, remaining(balance))],
        ]}
      />
      <ul>
        <li>
          <code>{account.id}</code>
        </li>
        <li>
          {say("created")}: <Moment ms={account.createdAt} />
        </li>
        <li>{say(account.disabled ? "admin_is_disabled" : "admin_is_enabled")}</li>
        <li>{say(account.admin ? "admin_is_admin" : "admin_is_no_admin")}</li>
        <li>{person === null ? say("admin_nobody_signs_in") : say("admin_signs_in", { email: person })}</li>
      </ul>
      {isOwn ? (
        <p>{say("admin_not_oneself")}</p>
      ) : (
        <p class="choices">
          <a href={`${path}/${account.disabled ? "enable" : "disable"}`} role="button" class="secondary">
            {say(account.disabled ? "admin_enable" : "admin_disable")}
          </a>
          <a href={`${path}/${account.admin ? "dismiss" : "appoint"}`} role="button" class="secondary">
            {say(account.admin ? "admin_dismiss" : "admin_appoint")}
          </a>
        </p>
      )}
      {person === null && signup(c.env) !== "closed" && (
        <form method="post" action={`${path}/invite`}>
          <button>{say("admin_invite")}</button>
        </form>
      )}
      <h2>{say("admin_change_quota")}</h2>
      <form method="post" action={`${path}/quota`} class="narrow">
        <Problem text={problem} />
        <fieldset>
          <legend>{say("admin_how")}</legend>
          <label>
            <input type="radio" name="how" value="add" checked />
            {say("admin_add")}
          </label>
          <label>
            <input type="radio" name="how" value="set" />
            {say("admin_set")}
          </label>
          <label>
            <input type="radio" name="how" value="unlimited" />
            {say("admin_without_limit")}
          </label>
        </fieldset>
        <label>
          {say("admin_quota_in", { unit: balanceUnit(c.env) })}
          <input name="amount" inputmode="decimal" autocomplete="off" aria-describedby="amount-hint" />
          <small id="amount-hint">{say("admin_amount_hint")}</small>
        </label>
        <button>{say("admin_change_quota")}</button>
      </form>
      <h2>{say("api_keys")}</h2>
      {await keysOf(c, account)}
      <h2>{say("latest_tasks")}</h2>
      {await tasksOf(c, account)}
    </>,
    problem === undefined ? 200 : 400,
  );
}

async function keysOf(c: ConsoleContext, account: Account) {
  const { say } = c.var;
  const keys = await listKeys(c.env.DB, account.id);
  const wallets = await walletsOf(
    c,
    account.id,
    keys.map(({ walletId }) => walletId),
  );
  const rows = keys.map((key) => ({ ...key, ...wallets.get(key.walletId)! }));
  if (rows.length === 0) return <p>{say("admin_no_keys")}</p>;
  return (
    <Table
      label={say("api_keys")}
      columns={[say("key_name"), say("prefix"), say("quota"), say("used"), say("created"), say("expires"), ""]}
    >
      {rows.map((key) => (
        <tr>
          <th scope="row" class="wide">
            {key.name}
          </th>
          <td>
            <code>{key.prefix}…</code>
          </td>
          <td>{amountOf(c, key.quota)}</td>
          <td>{amountOf(c, key.used)}</td>
          <td>
            <Moment ms={key.createdAt} />
          </td>
          <td>{key.expiresAt === null ? say("never") : <Moment ms={key.expiresAt} />}</td>
          <td>
            <a href={`/console/admin/accounts/${account.id}/keys/${key.id}`} aria-label={say("delete_key", { name: key.name })}>
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
  if (!response.ok) return <p role="alert">{say("failed")}</p>;
  const { data: tasks } = await response.json<{ data: TaskRow[] }>();
  if (tasks.length === 0) return <p>{say("admin_no_tasks")}</p>;
  return <TaskTable c={c} tasks={tasks} path={`/console/admin/accounts/${account.id}/tasks`} />;
}

export const account = new Hono<ConsoleEnvironment>().get("/", async (c) => {
  const found = await accountAsked(c);
  return found ? accountPage(c, found) : notFound(c);
});
