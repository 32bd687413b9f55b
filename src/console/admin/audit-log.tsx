/** The operator's view of the audit log: of an account, or of what concerns no account: models, prices, codes, erased accounts. */

import type { ConsoleContext } from "../context.ts";
import { withQuery, readPlace, placeText, firstRows } from "../list-address.ts";
import { listAuditLog } from "../../db/audit-log.ts";
import { Button, Pager, TextField } from "../parts/index.ts";
import { Entries } from "../team/audit-log.tsx";
import { adminPage } from "./frame.tsx";

const path = "/console/admin/audit-log";
const rowsOnPage = 50;

export async function adminAuditLog(c: ConsoleContext) {
  const { t } = c.var;
  const account = (c.req.query("account") ?? "").trim().slice(0, 100);
  const read = await listAuditLog(c.env.DB, account, {}, { limit: rowsOnPage + 1, after: readPlace(c) });
  const { rows, last } = firstRows(read, rowsOnPage);
  return adminPage(
    c,
    t("audit_log"),
    <>
      <form action={path} class="row">
        <TextField name="account" label={t("audit_account")} value={account} autocomplete="off" maxlength={100} />
        <Button class="btn" text={t("audit_filter")} />
      </form>
      <section>
        {rows.length === 0 ? <p class="muted">{t("audit_none")}</p> : <Entries rows={rows} />}
        <Pager next={last && withQuery(path, { account, after: placeText(last) })} />
      </section>
    </>,
  );
}
