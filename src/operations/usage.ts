/** An account's usage, from the daily sums; by reference from the tasks that have one, in D1 and in the archive. */

import { type Column, readUsage, type Span, type Used } from "../db/usage.ts";
import { referencedUsage } from "./archived-usage.ts";
import { focusTable, type Owner } from "./focus.ts";

type Bindings = Pick<OperationsBindings, "DB" | "ASSETS">;

/** Usage in one kind of group. "too_many" if over `maxTasks` tasks with a reference would be read. */
export const usage = (env: Bindings, accountId: string, span: Span, group: Column, maxTasks: number): Promise<Used[] | "too_many"> =>
  group === "reference" ? referencedUsage(env, accountId, span, [], maxTasks) : readUsage(env.DB, accountId, span, [group]);

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
