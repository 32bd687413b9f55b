/** What was added to and taken from the quota, newest first. */

import { decimal } from "../amounts.ts";
import type { QuotaChange } from "../../db/quota-changes.ts";
import { DataTable, DateTime, Money, Pill, useAround } from "../parts/index.ts";

const looks = {
  code: { icon: "ok", tone: "good" },
  payment: { icon: "ok", tone: "good" },
  refund: { icon: "again", tone: "" },
  dispute: { icon: "warn", tone: "warn" },
  returned: { icon: "ok", tone: "good" },
  operator: { icon: "info", tone: "" },
} as const;

/** The cause of a change; `operator` if the quota was set by hand. */
type Cause = keyof typeof looks;
const toCause = (kind: string | null): Cause => (kind !== null && kind in looks ? (kind as Cause) : "operator");

/** Of the CSV file: amounts in balance units, empty for no limit. What an admin wrote is not for the account. */
export const historyColumns = {
  date: ({ at }: QuotaChange) => new Date(at).toISOString(),
  what: ({ kind }: QuotaChange) => toCause(kind),
  reason: ({ note }: QuotaChange) => note ?? "",
  added: ({ before, after }: QuotaChange) => (before === null || after === null ? "" : decimal(after - before)),
  quota: ({ after }: QuotaChange) => (after === null ? "" : decimal(after)),
};

/** Admins also see the reason that an admin gave, and who changed it. */
export const History = ({ moves, isAdmin = false }: { moves: QuotaChange[]; isAdmin?: boolean }) => {
  const { t } = useAround();
  const said = ({ reason, note }: QuotaChange) => (isAdmin ? (reason ?? note) : note);
  return (
    <DataTable
      label={t("billing_history")}
      none={t("billing_no_history")}
      rows={moves}
      columns={[
        { name: t("callback_when"), cell: ({ at }) => <DateTime ms={at} /> },
        {
          name: t("billing_what"),
          class: "wrap grow",
          cell: (change) => (
            <>
              <Pill {...looks[toCause(change.kind)]} text={t(`billing_${toCause(change.kind)}`)} />
              {said(change) && <span class="meta path">{said(change)}</span>}
            </>
          ),
        },
        {
          name: t("billing_added"),
          isNumber: true,
          cell: ({ before, after }) => (before === null || after === null ? "–" : <Money millionths={after - before} />),
        },
        { name: t("quota"), isNumber: true, isExtra: true, cell: ({ after }) => <Money millionths={after} /> },
        isAdmin && { name: t("admin_moved_by"), isExtra: true, cell: ({ admin }) => admin ?? t("admin_moved_by_api") },
      ]}
    />
  );
};
