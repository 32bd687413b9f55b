/** `GET /admin/margins`: what the operator earned and paid, by model, route, account or day. */

import { toUnits } from "../db/ledger.ts";
import type { Margin, MarginGroup } from "../db/margins.ts";
import { answer, respond } from "./request/answer.ts";
import { type AppContext, operationsWorker } from "./request/context.ts";
import { readQuery, toSpan } from "./request/query.ts";
import { marginsQuery } from "./schema/queries.ts";
import { toDate } from "../base/times.ts";

const maxDays = 366;

export async function showMargins(c: AppContext): Promise<Response> {
  const { group_by: group, format, ...days } = readQuery(c, marginsQuery);
  const { first, last } = toSpan(days, maxDays);
  const margins = await operationsWorker(c).margins({ first, last }, group);
  if (format === "csv")
    return respond(c, toCsv(group, margins), 200, {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="margins-${toDate(first)}-${toDate(last)}.csv"`,
    });
  return answer(c, {
    object: "list",
    data: margins.map((margin) => toRow(group, margin)),
    total: toAmounts(margins.reduce(add, { revenue: 0, cost: 0, completed: 0, failed: 0, uncosted: 0 })),
  });
}

type Sums = Omit<Margin, "name">;

const add = (sum: Sums, one: Sums): Sums => ({
  revenue: sum.revenue + one.revenue,
  cost: sum.cost + one.cost,
  completed: sum.completed + one.completed,
  failed: sum.failed + one.failed,
  uncosted: sum.uncosted + one.uncosted,
});

const toAmounts = ({ revenue, cost, ...counts }: Sums) => ({
  revenue: toUnits(revenue),
  cost: toUnits(cost),
  margin: toUnits(revenue - cost),
  ...counts,
});

const toRow = (group: MarginGroup, { name, ...sums }: Margin) => ({
  [group]: group === "day" ? toDate(Number(name)) : name,
  ...toAmounts(sums),
});

/** The rows as a table (RFC 4180). */
function toCsv(group: MarginGroup, margins: readonly Margin[]): string {
  const columns = [group, "revenue", "cost", "margin", "completed", "failed", "uncosted"];
  const toCell = (value: string | number | undefined) =>
    typeof value === "number" ? String(value) : `"${(value ?? "").replaceAll('"', '""')}"`;
  const rows = margins.map((margin) => {
    const row: Record<string, string | number> = toRow(group, margin);
    return columns.map((column) => toCell(row[column])).join(",");
  });
  return [columns.join(","), ...rows].map((line) => `${line}\r\n`).join("");
}
