/** `/v1/usage`: the account's charges by day, model, key or reference, as a list or a table for cost tools. */

import type * as z from "zod/mini";
import { balanceUnit } from "../config.ts";
import { toUnits } from "../db/ledger.ts";
import { type Column, readReferencedUsage, readUsage, type Span, type Used } from "../db/usage.ts";
import { invalid } from "../errors.ts";
import { admitted } from "./auth.ts";
import { focusTable } from "./focus.ts";
import { type AppContext, answer } from "./frame.ts";
import { readQuery } from "./query.ts";
import { routing } from "./router.ts";
import { toDate, usageQuery } from "./schema/queries.ts";

const dayMs = 86_400_000;
const maxDays = 92;
const defaultDays = 30;
/** The maximum number of tasks with a reference that one answer reads. */
const maxReferenced = 20_000;

export const usage = routing().get("/", admitted("read"), async (c) => readOut(c, await readQuery(c, usageQuery)));

async function readOut(c: AppContext, { from, to, group_by: group, format }: z.output<ReturnType<typeof usageQuery>>): Promise<Response> {
  const span = toSpan(from, to);
  if (format === "json") return answer(c, { object: "list", data: (await read(c, span, group, [])).map((used) => toRow(group, used)) });
  c.header("content-type", "text/csv; charset=utf-8");
  c.header("content-disposition", `attachment; filename="usage-${toDate(span.first)}-${toDate(span.last)}.csv"`);
  const rows = await read(c, span, group, ["day", "model", "key"]);
  return c.body(focusTable(rows, { accountId: c.get("caller").accountId, currency: balanceUnit(c.env) }));
}

/** Usage grouped by `group` and these columns. */
async function read(c: AppContext, span: Span, group: Column, columns: ("day" | "model" | "key")[]): Promise<Used[]> {
  const { accountId } = c.get("caller");
  if (group !== "reference") return readUsage(c.env.DB, accountId, span, columns.length > 0 ? columns : [group]);
  const { DB, OPERATIONS } = c.env;
  // The archive is read by the operations Worker; if that is not deployed, nothing is archived.
  const found = await (OPERATIONS
    ? OPERATIONS.referencedUsage(accountId, span, columns, maxReferenced)
    : readReferencedUsage(DB, accountId, span, columns, maxReferenced));
  if (found === "too_many") throw invalid("from", "too_many_references", { maximum: maxReferenced }, { maximum: maxReferenced });
  return found;
}

/** The period: the last 30 days by default, at most 92 days. */
function toSpan(from: number | undefined, to: number | undefined): Span {
  const last = to ?? Math.floor(Date.now() / dayMs) * dayMs;
  const first = from ?? last - (defaultDays - 1) * dayMs;
  if (last < first) throw invalid("to", "before_from");
  if (last - first >= maxDays * dayMs) throw invalid("to", "too_many_days", { maximum: maxDays - 1 }, { maximum: maxDays - 1 });
  return { first, last };
}

const toRow = (group: Column, used: Used) => ({
  [group]: group === "day" ? toDate(used.day ?? 0) : used[group],
  charged: toUnits(used.charged),
  returned: toUnits(used.returned),
  completed: used.completed,
  failed: used.failed,
});
