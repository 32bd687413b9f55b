/** `/v1/usage`: the account's charges by day, model, key or reference, as a list or a table for cost tools. The operations Worker reads them. */

import type * as z from "zod/mini";
import { balanceUnit } from "../config.ts";
import type { Span } from "../db/usage.ts";
import { invalid } from "../errors.ts";
import { writeEnded } from "../tasks/wallets.ts";
import { admitted } from "./auth.ts";
import { type AppContext, answer } from "./frame.ts";
import { operationsWorker } from "./operations.ts";
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
  const { accountId } = c.get("caller");
  const span = toSpan(from, to);
  const operations = operationsWorker(c);
  // The balance shows a charge at once, so its usage must show it too.
  await writeEnded(c.env.WALLETS, accountId);
  if (format === "json") return answer(c, { object: "list", data: known(await operations.usage(accountId, span, group, maxReferenced)) });
  const owner = { accountId, currency: balanceUnit(c.env) };
  const { csv } = known(await operations.usageTable(owner, span, group, maxReferenced));
  c.header("content-type", "text/csv; charset=utf-8");
  c.header("content-disposition", `attachment; filename="usage-${toDate(span.first)}-${toDate(span.last)}.csv"`);
  return c.body(csv);
}

/** Throws 400 if the period has too many tasks with a reference. */
function known<T>(found: T | "too_many"): T {
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
