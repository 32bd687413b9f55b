/** Everybody's accounts: searched, in pages; a new one is opened here. */

import { Table } from "../parts.tsx";
import { Hono } from "hono";
import { insertAccount, searchAccounts } from "../../db/accounts.ts";
import { openWallet, remaining } from "../../db/ledger.ts";
import { balanceOf } from "../ledger.ts";
import { type ConsoleContext, type ConsoleEnvironment, fieldsOf } from "../frame.tsx";
import { amountOf, quotaOf } from "../amounts.ts";
import { Problem } from "../layout.tsx";
import { adminPage, note } from "./frame.tsx";
import { balanceUnit } from "../settings.ts";

const pageSize = 20;

/** What a form brought that was refused, to be mended. */
interface Refused {
  problem: string;
  email: string;
  name: string;
  quota: string;
}

async function list(c: ConsoleContext, refused?: Refused) {
  const { say } = c.var;
  const text = (c.req.query("q") ?? "").trim();
  const found = await searchAccounts(c.env.DB, text, { limit: pageSize + 1, after: c.req.query("after") });
  const rows = await Promise.all(found.slice(0, pageSize).map(async (account) => ({ account, balance: await balanceOf(c, account.id) })));
  const next = new URLSearchParams({ ...(text && { q: text }), after: rows.at(-1)?.account.id ?? "" });
  return adminPage(
    c,
    say("admin_accounts"),
    <>
      <search>
        <form>
          <label>
            {say("admin_search")}
            <input type="search" name="q" value={text} maxlength={254} aria-describedby="search-hint" />
            <small id="search-hint">{say("admin_search_hint")}</small>
          </label>
          <button>{say("admin_find")}</button>
        </form>
      </search>
      {rows.length === 0 ? (
        <p role="status">{say("admin_no_accounts")}</p>
      ) : (
        <Table
          label={say("admin_accounts")}
          columns={[say("admin_account"), say("quota"), say("used"), say("reserved"), say("remaining"), say("status")]}
        >
          {rows.map(({ account, balance }) => (
            <tr>
              <th scope="row" class="wide">
                <a href={`/console/admin/accounts/${account.id}`}>{account.email}</a>
                {account.name && (
                  <>
                    <br />
                    <small>{account.name}</small>
                  </>
                )}
              </th>
              <td>{amountOf(c, balance.quota)}</td>
              <td>{amountOf(c, balance.used)}</td>
              <td>{amountOf(c, balance.reserved)}</td>
              <td>{amountOf(c, remaining(balance))}</td>
              <td>
                {say(account.disabled ? "admin_disabled" : "admin_enabled")}
                {account.admin === 1 && ` · ${say("admin")}`}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {found.length > pageSize && (
        <p>
          <a href={`/console/admin/accounts?${next}`} rel="next">
            {say("admin_next")}
          </a>
        </p>
      )}
      <h2>{say("admin_open_account")}</h2>
      <form method="post" action="/console/admin/accounts" class="narrow">
        <Problem text={refused?.problem} />
        <label>
          {say("email")}
          <input type="email" name="email" maxlength={254} value={refused?.email} autocomplete="off" required />
        </label>
        <label>
          {say("name")}
          <input name="name" maxlength={200} value={refused?.name} autocomplete="off" />
        </label>
        <label>
          {say("admin_quota_in", { unit: balanceUnit(c.env) })}
          <input name="quota" inputmode="decimal" value={refused?.quota ?? "0"} />
        </label>
        <label>
          <input type="checkbox" name="unlimited" value="yes" />
          {say("admin_without_limit")}
        </label>
        <button>{say("admin_open_account")}</button>
      </form>
    </>,
    refused ? 400 : 200,
  );
}

async function create(c: ConsoleContext) {
  const { say } = c.var;
  const field = await fieldsOf(c);
  const [email, name, quotaText] = [field("email"), field("name"), field("quota")];
  // No limit is said by the box alone: an empty field may be a slip.
  const quota = field("unlimited") === "yes" ? null : quotaText === "" ? undefined : quotaOf(quotaText);
  const refuse = (problem: string) => list(c, { problem, email, name, quota: quotaText });
  if (email.length > 254 || !/^[^\s@]+@[^\s@]+$/.test(email)) return refuse(say("admin_bad_email"));
  if (name.length > 200) return refuse(say("bad_name"));
  if (quota === undefined) return refuse(say("bad_quota"));
  const { account, statement } = insertAccount(c.env.DB, email, name || null);
  const [created] = await c.env.DB.batch([statement, openWallet(c.env.DB, account.id, quota)]);
  if (created!.results.length === 0) return refuse(say("admin_email_taken"));
  note(c, "account_opened", account.id);
  return c.redirect(`/console/admin/accounts/${account.id}`, 303);
}

export const accounts = new Hono<ConsoleEnvironment>().get("/", (c) => list(c)).post("/", create);
