/** All accounts: search, pages of the list, and opening a new one. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { createAccount, searchAccounts } from "../../db/accounts.ts";
import { remaining } from "../../db/ledger.ts";
import { readBalance } from "../ledger.ts";
import { parseQuota } from "../amounts.ts";
import { readForm } from "../forms.ts";
import { firstRows, withQuery } from "../list-address.ts";
import { Button, CheckField, DataTable, Fold, FoldLink, Money, Pager, Pill, Problem, SearchForm, TextField } from "../parts/index.ts";
import { adminPage, note, operator } from "./frame.tsx";
import { balanceUnit } from "../settings.ts";

const pageSize = 20;

/** The values of an invalid form, shown again for correction. */
interface Refused {
  problem: string;
  email: string;
  name: string;
  quota: string;
  isUnlimited: boolean;
}

async function list(c: ConsoleContext, refused?: Refused) {
  const { t } = c.var;
  const text = (c.req.query("q") ?? "").trim();
  const found = await searchAccounts(c.env.DB, text, { limit: pageSize + 1, after: c.req.query("after") });
  const { rows: accounts, last } = firstRows(found, pageSize);
  const rows = await Promise.all(accounts.map(async (account) => ({ account, balance: await readBalance(c, account.id) })));
  return adminPage(
    c,
    t("admin_accounts"),
    <>
      {rows.length === 0 ? (
        <p role="status">{t("admin_no_accounts")}</p>
      ) : (
        <DataTable
          label={t("admin_accounts")}
          rows={rows}
          columns={[
            {
              name: t("account"),
              class: "wrap",
              cell: ({ account: { id, email, name } }) => (
                <>
                  <a href={`/console/admin/accounts/${id}`}>{email}</a>
                  {name && (
                    <>
                      <br />
                      <span class="meta">{name}</span>
                    </>
                  )}
                </>
              ),
            },
            { name: t("quota"), isNumber: true, isExtra: true, cell: ({ balance }) => <Money millionths={balance.quota} /> },
            { name: t("used"), isNumber: true, isExtra: true, cell: ({ balance }) => <Money millionths={balance.used} /> },
            { name: t("reserved"), isNumber: true, isExtra: true, cell: ({ balance }) => <Money millionths={balance.reserved} /> },
            { name: t("balance"), isNumber: true, cell: ({ balance }) => <Money millionths={remaining(balance)} /> },
            {
              name: t("status"),
              cell: ({ account: { disabled, admin } }) => (
                <>
                  {disabled === 1 && <Pill icon="ban" text={t("admin_disabled")} />} {admin === 1 && t("role_admin")}
                </>
              ),
            },
          ]}
        />
      )}
      <Pager next={last && withQuery("/console/admin/accounts", { q: text || undefined, after: last.id })} nextText={t("admin_next")} />
      <section>
        <Fold text={t("admin_open_account")} isOpen={refused !== undefined}>
          <form method="post" action="/console/admin/accounts" class="stack narrow">
            <Problem text={refused?.problem} />
            <TextField name="email" type="email" label={t("email")} maxlength={254} value={refused?.email} autocomplete="off" required />
            <TextField name="name" label={t("name")} maxlength={200} value={refused?.name} autocomplete="off" />
            <TextField name="quota" label={t("quota")} opt={balanceUnit(c.env)} inputmode="decimal" value={refused?.quota ?? "0"} />
            <CheckField name="unlimited" value="yes" checked={refused?.isUnlimited} text={t("no_limit")} />
            <p>
              <Button class="btn primary" text={t("admin_open_account")} />
            </p>
          </form>
        </Fold>
      </section>
    </>,
    refused ? 400 : 200,
    {
      actions: (
        <>
          <SearchForm
            path="/console/admin/accounts"
            filters={{ q: text || undefined }}
            name="q"
            label={t("admin_search_hint")}
            maxlength={254}
          />
          <FoldLink text={t("admin_open_account")} to="f-email" />
        </>
      ),
    },
  );
}

async function create(c: ConsoleContext) {
  const { t } = c.var;
  const field = await readForm(c);
  const [email, name, quotaText] = [field("email"), field("name"), field("quota")];
  // No limit needs the checkbox and an empty field: an empty field alone may be a mistake.
  const isUnlimited = field("unlimited") === "yes";
  const quota = isUnlimited ? null : quotaText === "" ? undefined : parseQuota(quotaText);
  const refuse = (problem: string) => list(c, { problem, email, name, quota: quotaText, isUnlimited });
  if (email.length > 254 || !/^[^\s@]+@[^\s@]+$/.test(email)) return refuse(t("admin_bad_email"));
  if (name.length > 200) return refuse(t("bad_name"));
  if (quota === undefined) return refuse(t("bad_quota"));
  const account = await createAccount(c.env.DB, operator(c), { email, name: name || null, quota });
  if (!account) return refuse(t("admin_email_taken"));
  note(c, "account_opened", account.id);
  return c.redirect(`/console/admin/accounts/${account.id}`, 303);
}

export const accounts = new Hono<ConsoleEnvironment>().get("/", (c) => list(c)).post("/", create);
