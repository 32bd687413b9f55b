/** An account's usage, from the daily sums; by reference from the tasks that have one, in D1 and in the archive. */

import { toUnits } from "../db/ledger.ts";
import { type Column, readUsage, type Span, type Used } from "../db/usage.ts";
import { referencedUsage } from "./archived-usage.ts";
import { focusTable, type Owner } from "./focus.ts";

type Bindings = Pick<OperationsBindings, "DB" | "ASSETS">;

/** A group as callers see it: its name under the name of its kind (a date, a model, a key, a reference or null), and amounts in balance units. */
export type UsageRow = Pick<Used, "charged" | "returned" | "completed" | "failed"> & Partial<Record<Column, string | null | undefined>>;

/** Usage in one kind of group. "too_many" if over `maxTasks` tasks with a reference would be read. */
export async function usage(
  env: Bindings,
  accountId: string,
  span: Span,
  group: Column,
  maxTasks: number,
): Promise<UsageRow[] | "too_many"> {
  if (group !== "reference") return (await readUsage(env.DB, accountId, span, [group])).map((used) => toRow(group, used));
  const found = await referencedUsage(env, accountId, span, [], maxTasks);
  return found === "too_many" ? found : found.map((used) => toRow(group, used));
}

const toRow = (group: Column, used: Used): UsageRow => ({
  [group]: group === "day" ? new Date(used.day ?? 0).toISOString().slice(0, 10) : used[group],
  charged: toUnits(used.charged),
  returned: toUnits(used.returned),
  completed: used.completed,
  failed: used.failed,
});

/** Usage by day, model, key and, with that group, reference, as a table with the columns of FOCUS. */
export async function usageTable(
  env: Bindings,
  owner: Owner,
  span: Span,
  group: Column,
  maxTasks: number,
): Promise<{ csv: string } | "too_many"> {
  const columns = ["day", "model", "key"] as const;
  const rows =
    group === "reference"
      ? await referencedUsage(env, owner.accountId, span, columns, maxTasks)
      : await readUsage(env.DB, owner.accountId, span, columns);
  return rows === "too_many" ? rows : { csv: focusTable(rows, owner) };
}
