/** `/v1/usage`: the account's charges by day, model, key or reference, as a list or a table for cost tools. */

import type { AppContext } from "../request/context.ts";
import { balanceUnit } from "../../config.ts";
import { toUnits } from "../../db/ledger.ts";
import { type Column, readUsage, type Span, type Used } from "../../db/usage.ts";
import { ApiError, invalid } from "../../base/errors.ts";
import { retryRestart } from "../../base/retry.ts";
import { toDate } from "../../base/times.ts";
import { referencedUsage } from "../../storage/archived-usage.ts";
import { settleAnswered } from "../../wallet/settlements.ts";
import { answer, respond } from "../request/answer.ts";
import { countRequest } from "../request/auth.ts";
import { readQuery, toSpan } from "../request/query.ts";
import { usageQuery } from "../schema/queries.ts";
import { focusTable } from "./focus.ts";

const maxDays = 92;
/** The maximum number of tasks with a reference that one answer reads. */
const maxReferenced = 20_000;

export async function showUsage(c: AppContext): Promise<Response> {
  const { group_by: group, format, ...days } = readQuery(c, usageQuery);
  const { accountId, ownWallets } = c.get("caller");
  // References are read from the tasks of the whole account.
  if (ownWallets && group === "reference") throw new ApiError("key_scope");
  const span = toSpan(days, maxDays);
  // These read tens of thousands of rows, or files of the archive: at the rate of other reads one account could occupy the database.
  if (group === "reference" || format === "focus") await countRequest(c, "submission");
  // The balance shows a charge at once, so its usage must show it too.
  await settleAnswered(c.env, c.executionCtx, accountId);
  await retryRestart("list", { account: accountId }, async () => c.env.WALLETS.getByName(accountId).writeEnded());
  if (format === "json") {
    const data = (await read(c.env, accountId, span, group, [], ownWallets)).map((used) => toRow(group, used));
    return answer(c, { object: "list", data });
  }
  const csv = focusTable(await read(c.env, accountId, span, group, ["day", "model", "key"], ownWallets), {
    accountId,
    currency: balanceUnit(c.env),
  });
  return respond(c, csv, 200, {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="usage-${toDate(span.first)}-${toDate(span.last)}.csv"`,
  });
}

type Detail = Exclude<Column, "reference">;

/** Usage by `group` and these columns, of these keys' wallets alone if they are given. Throws 400 if the period has too many tasks with a reference. */
async function read(
  env: Env,
  accountId: string,
  span: Span,
  group: Column,
  columns: readonly Detail[],
  wallets: string[] | undefined,
): Promise<Used[]> {
  if (group !== "reference") return readUsage(env.DB, accountId, span, columns.length > 0 ? columns : [group], wallets);
  const found = await referencedUsage(env, accountId, span, columns, maxReferenced);
  if (found === "too_many") throw invalid("from", "too_many_references", { maximum: maxReferenced }, { maximum: maxReferenced });
  return found;
}

/** A group as callers see it: its name under the name of its kind (a date, a model, a key, a reference or null), and amounts in balance units. */
const toRow = (group: Column, used: Used) => ({
  [group]: group === "day" ? toDate(used.day ?? 0) : used[group],
  charged: toUnits(used.charged),
  returned: toUnits(used.returned),
  completed: used.completed,
  failed: used.failed,
});
