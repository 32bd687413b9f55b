/** What was added to and taken from the quota, newest first. */

import { decimal } from "../amounts.ts";
import type { QuotaChange } from "../../db/quota-changes.ts";
import { useAround } from "../parts/context.ts";
import { DateTime } from "../parts/date-time.tsx";
import { Money } from "../parts/money.tsx";
import { Pill } from "../parts/status.tsx";
import { Table } from "../parts/table.tsx";

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

/** Of the CSV file: amounts in balance units, empty for no limit. */
export const historyColumns = {
  date: ({ at }: QuotaChange) => new Date(at).toISOString(),
  what: ({ kind }: QuotaChange) => toCause(kind),
  reason: ({ reason }: QuotaChange) => reason ?? "",
  added: ({ before, after }: QuotaChange) => (before === null || after === null ? "" : decimal(after - before)),
  quota: ({ after }: QuotaChange) => (after === null ? "" : decimal(after)),
};

export const History = ({ moves }: { moves: QuotaChange[] }) => {
  const { t } = useAround();
  if (moves.length === 0) return <p class="muted">{t("billing_no_history")}</p>;
  return (
    <Table
      label={t("billing_history")}
      columns={[
        t("billing_date"),
        t("billing_what"),
        { name: t("billing_added"), isNumber: true },
        { name: t("quota"), isNumber: true, isExtra: true },
      ]}
    >
      {moves.map(({ at, before, after, kind, reason }) => {
        const cause = toCause(kind);
        return (
          <tr>
            <th scope="row">
              <DateTime ms={at} />
            </th>
            <td class="wrap grow">
              <Pill {...looks[cause]} text={t(`billing_${cause}`)} />
              {reason && <span class="meta path">{reason}</span>}
            </td>
            <td class="num">{before === null || after === null ? "–" : <Money millionths={after - before} />}</td>
            <td class="num hide-s">
              <Money millionths={after} />
            </td>
          </tr>
        );
      })}
    </Table>
  );
};
