/** Usage by reference, of entries in D1 and in the archive. */

import { dayMs } from "../base/times.ts";
import { type ArchivedEntry, toMonth, partsIn } from "../db/archive.ts";
import type { SumsPlace } from "../db/expired.ts";
import { readJob } from "../db/jobs.ts";
import { type Column, readReferencedUsage, type Span, type Used, usageSums } from "../db/usage.ts";
import { readPart } from "./archive.ts";

/** The maximum number of files that one answer reads. */
const maxParts = 100;

/** Usage by reference and these columns, of entries in D1 and in the archive, followed by everything without a reference under null. "too_many" if there are more than `maxTasks` tasks with a reference, or too many files with some. */
export async function referencedUsage(
  { DB, ASSETS }: Pick<Env, "DB" | "ASSETS">,
  accountId: string,
  span: Span,
  columns: readonly Exclude<Column, "reference">[],
  maxTasks: number,
): Promise<Used[] | "too_many"> {
  const end = span.last + dayMs - 1;
  const dayOf = await sumDays(DB, accountId);
  // A month whose daily sums were added up counts as a whole, by its first day.
  const monthEnd = toMonth(toMonth(end) + 32 * dayMs) - 1;
  const lastAt = dayOf(monthEnd) <= span.last ? monthEnd : end;
  const months: [number, number] = [toMonth(span.first), toMonth(end)];
  const select = partsIn(DB, accountId, months, [span.first, lastAt], { limit: 10 * maxParts, skip: 0 });
  // One transaction: what the totals have besides is exactly the usage without a reference.
  const [[{ tasks }], written, all, parts] = await readReferencedUsage(DB, accountId, span, columns, maxTasks, select);
  const files = parts.filter(({ referenced }) => referenced > 0);
  if (tasks > maxTasks || files.length > maxParts || parts.length === 10 * maxParts) return "too_many";
  const toName = (used: Used) => JSON.stringify(columns.map((column) => used[column]));
  const toFullName = (used: Used) => JSON.stringify([used.reference, toName(used)]);
  const groups = new Map(written.map((used) => [toFullName(used), used]));
  let count = tasks;
  for (const file of files)
    for (const entry of await readPart(ASSETS, file)) {
      const day = dayOf(entry.at);
      if (entry.reference === undefined || entry.outcome === "refused" || day < span.first || day > span.last) continue;
      if (++count > maxTasks) return "too_many";
      const used = toUsed(entry, day, columns);
      const name = toFullName(used);
      const group = groups.get(name);
      if (!group) groups.set(name, used);
      else for (const sum of usageSums) group[sum] += used[sum];
    }
  const referenced = [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, used]) => used);
  // Without columns, an account without usage has one row of nulls as its totals.
  const rest = new Map(all.filter(({ charged }) => charged !== null).map((used) => [toName(used), { reference: null, ...used }]));
  for (const used of referenced) {
    const group = rest.get(toName(used));
    if (group) for (const sum of usageSums) group[sum] -= used[sum];
  }
  return [...referenced, ...[...rest.values()].filter(({ completed, failed }) => completed > 0 || failed > 0)];
}

/**
 * The day (its first millisecond) whose sums contain an entry of this time: the entry's own day, or the first of its month if the month was
 * added up.
 */
async function sumDays(db: Env["DB"], accountId: string): Promise<(at: number) => number> {
  const { month: current = 0, after = "" } = (await readJob<SumsPlace>(db, "sums")) ?? {};
  return (at) => {
    const month = toMonth(at);
    const isAddedUp = month < current || (month === current && accountId <= after);
    return isAddedUp ? month : Math.floor(at / dayMs) * dayMs;
  };
}

function toUsed({ model, keyId, charged, held, outcome, reference }: ArchivedEntry, day: number, columns: readonly Column[]): Used {
  const isCompleted = outcome === "completed";
  return {
    reference: reference ?? null,
    ...(columns.includes("day") && { day }),
    ...(columns.includes("model") && { model }),
    ...(columns.includes("key") && { key: keyId }),
    charged,
    returned: held - charged,
    completed: isCompleted ? 1 : 0,
    failed: isCompleted ? 0 : 1,
  };
}
