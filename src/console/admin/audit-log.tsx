/** The operator's view of the audit log: of an account, or of what concerns no account: models, prices, codes, erased accounts. */

import type { ConsoleContext } from "../context.ts";
import { listAuditLog } from "../../db/audit-log.ts";
import { TextField } from "../parts/field.tsx";
import { Pager } from "../parts/pager.tsx";
import { buildQuery } from "../tasks/search.ts";
import { Entries, parsePlace } from "../team/audit-log.tsx";
import { adminPage } from "./frame.tsx";

const path = "/console/admin/audit-log";
const rowsOnPage = 50;

export async function adminAuditLog(c: ConsoleContext) {
  const { t } = c.var;
  const account = (c.req.query("account") ?? "").trim().slice(0, 100);
  const rows = await listAuditLog(c.env.DB, account, {}, { limit: rowsOnPage + 1, after: parsePlace(c.req.query("after")) });
  const shown = rows.slice(0, rowsOnPage);
  const last = rows.length > rowsOnPage ? shown.at(-1) : undefined;
  return adminPage(
    c,
    t("audit_log"),
    <>
      <form action={path} class="row">
        <TextField name="account" label={t("audit_account")} value={account} autocomplete="off" maxlength={100} />
        <button class="btn">{t("audit_filter")}</button>
      </form>
      <section>
        {shown.length === 0 ? <p class="muted">{t("audit_none")}</p> : <Entries rows={shown} />}
        <Pager next={last && `${path}?${buildQuery({ account, after: `${last.at}_${last.id}` })}`} />
      </section>
    </>,
  );
}
