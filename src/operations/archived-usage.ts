/**
 * Answers the gateway's questions about archived entries: usage by reference, and the position of an archived task in its account's lists.
 */

import { type ArchivedEntry, type ArchivePart, toMonth, readPart } from "../archive.ts";
import { partsIn, partsToSearch, readJob } from "../db/archive.ts";
import { type Column, readReferencedUsage, type Span, type Used } from "../db/usage.ts";
import type { SumsPlace } from "./expire.ts";
import type { ArchivedPlace } from "./objects.ts";

const dayMs = 86_400_000;
/** The maximum number of files that one answer reads. */
const maxParts = 100;
/** The number of files that are searched for a task, newest first, because callers continue lists from recent tasks. */
const maxSearched = 8;

type Bindings = Pick<OperationsBindings, "DB" | "ASSETS">;

/** Usage by reference and these columns, of entries in D1 and in the archive. "too_many" if there are more than `maxTasks` tasks with a reference, or too many files with some. */
export async function referencedUsage(
  { DB, ASSETS }: Bindings,
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
  const parts = partsIn(DB, accountId, [toMonth(span.first), toMonth(end)], [span.first, lastAt], { limit: 10 * maxParts, skip: 0 });
  return readReferencedUsage(DB, accountId, span, columns, maxTasks, {
    parts,
    join: async (written, found, left) => {
      const files = (found as unknown as ArchivePart[]).filter(({ referenced }) => referenced > 0);
      if (files.length > maxParts || found.length === 10 * maxParts) return "too_many";
      const groups = new Map(written.map((used) => [toName(used, columns), used]));
      let count = 0;
      for (const file of files)
        for (const entry of await readPart(ASSETS, file)) {
          const day = dayOf(entry.at);
          if (entry.reference === undefined || day < span.first || day > span.last) continue;
          if (++count > left) return "too_many";
          add(groups, toUsed(entry, day, columns), columns);
        }
      return [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, used]) => used);
    },
  });
}

const toName = (used: Used, columns: readonly Column[]) => JSON.stringify([used.reference, ...columns.map((column) => used[column])]);

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

function add(groups: Map<string, Used>, used: Used, columns: readonly Column[]): void {
  const name = toName(used, columns);
  const group = groups.get(name);
  if (!group) groups.set(name, used);
  else for (const sum of ["charged", "returned", "completed", "failed"] as const) group[sum] += used[sum];
}

/**
 * The position of an account's archived task; undefined if the task does not exist. If older files exist, a task that is in none of the
 * newest files is assumed to be in them: its position is then before everything that lists show.
 */
export async function findArchived({ DB, ASSETS }: Bindings, accountId: string, taskId: string): Promise<ArchivedPlace | undefined> {
  const parts = await partsToSearch(DB, accountId, taskId, maxSearched + 1);
  for (const part of parts.slice(0, maxSearched)) {
    const entry = (await readPart(ASSETS, part)).find((one) => one.taskId === taskId);
    if (entry) return { taskId, at: entry.at, closedAt: entry.closedAt };
  }
  return parts.length > maxSearched ? { taskId, at: 0, closedAt: 0 } : undefined;
}
