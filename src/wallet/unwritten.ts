/** Merges a wallet object's entries that D1 does not have yet into the results of a D1 query. Ask the wallet first: an entry that is written in between is then in both, and is returned once. Pure. */

import { dayMs } from "../base/times.ts";
import type { Entry, ModelUse, OpenTask, Place, Spent, TaskPage } from "../db/ledger-reports.ts";
import type { WalletEntry } from "./book.ts";

const newestFirst = (a: Place, b: Place) => b.at - a.at || (a.taskId < b.taskId ? 1 : -1);

/** Newest first, without duplicates, only entries before `after`. An entry in both lists is taken from the wallet. */
function merge<T extends Place>(wallet: T[], written: T[], limit: number, after: Place | undefined): T[] {
  const own = new Set(wallet.map(({ taskId }) => taskId));
  const before = wallet.filter(({ at, taskId }) => !after || at < after.at || (at === after.at && taskId < after.taskId));
  return [...before, ...written.filter(({ taskId }) => !own.has(taskId))].sort(newestFirst).slice(0, limit);
}

type Filters = Pick<TaskPage, "sorts" | "outcome">;

/** True if the wallet does not know that the task is another than these filters ask for. No list has refused ones. */
const mayMatch = ({ kind, model, end }: WalletEntry, { sorts, outcome }: Filters): boolean =>
  sorts.some((sort) => sort.kind === kind && sort.model === model) &&
  end?.outcome !== "refused" &&
  (!end || !outcome || (outcome !== "open" && (outcome === "completed") === (end.outcome === "completed")));

/** Leaves out rows of D1 that do not match the filters according to the wallet. */
export function withoutOthers<T extends Place>(unwritten: WalletEntry[], written: T[], filters: Filters): T[] {
  const others = new Set(unwritten.filter((entry) => !mayMatch(entry, filters)).map(({ taskId }) => taskId));
  return written.filter(({ taskId }) => !others.has(taskId));
}

/** The `Place` of each of an account's tasks, with the filters of `listTasks`. */
export function withTasks(
  unwritten: WalletEntry[],
  written: Place[],
  page: Filters & { limit: number; after?: Place | undefined },
): Place[] {
  return merge(
    unwritten.filter((entry) => mayMatch(entry, page)).map(({ at, taskId }) => ({ at, taskId })),
    written,
    page.limit,
    page.after,
  );
}

/** Ledger entries since `page.since`; `keyNames` maps a wallet id to its key's name. */
export function withEntries(
  unwritten: WalletEntry[],
  written: Entry[],
  page: { since: number; limit: number; after?: Place | undefined },
  keyNames: ReadonlyMap<string, string>,
): Entry[] {
  const own = unwritten
    .filter(({ at }) => at >= page.since)
    .map(({ taskId, kind, model, keyId, at, held, end }) => ({
      taskId,
      kind,
      model,
      keyName: keyNames.get(keyId) ?? null,
      at,
      held,
      charged: end?.charged ?? null,
      outcome: end?.outcome ?? null,
      closedAt: end?.at ?? null,
    }));
  return merge(own, written, page.limit, page.after);
}

/** Charges by day and model, newest day first. */
export function withSpending(unwritten: WalletEntry[], written: Spent[], since: number): Spent[] {
  const sums = new Map(written.map((spent) => [`${spent.day} ${spent.model}`, { ...spent }]));
  for (const { at, model, end } of unwritten) {
    if (at < since || !end || end.charged === 0) continue;
    const day = Math.floor(at / dayMs) * dayMs;
    const sum = sums.get(`${day} ${model}`);
    if (sum) sum.charged += end.charged;
    else sums.set(`${day} ${model}`, { day, model, charged: end.charged });
  }
  return [...sums.values()].sort((a, b) => b.day - a.day || (a.model < b.model ? -1 : 1));
}

/** Counts and charges of ended entries by model, highest charge first. */
export function withUses(unwritten: WalletEntry[], written: ModelUse[], [since, until]: readonly [number, number]): ModelUse[] {
  const uses = new Map(written.map((use) => [use.model, { ...use }]));
  for (const { at, model, end } of unwritten) {
    if (at < since || at >= until || !end || end.outcome === "refused") continue;
    const use = uses.get(model) ?? { model, runs: 0, completed: 0, charged: 0 };
    uses.set(model, use);
    use.runs++;
    use.completed += end.outcome === "completed" ? 1 : 0;
    use.charged += end.charged;
  }
  return [...uses.values()].sort((a, b) => b.charged - a.charged || b.runs - a.runs || (a.model < b.model ? -1 : 1));
}

/** The open tasks of an account's wallet, chats not counted. */
export const selectOpenTasks = (accountId: string, unwritten: WalletEntry[]): OpenTask[] =>
  unwritten
    .filter(({ kind, end }) => kind !== "chat" && !end)
    .map(({ taskId, kind, model, held, at }) => ({ taskId, accountId, kind, model, held, at }));
