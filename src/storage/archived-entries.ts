/** An account's entries in D1 and in the archive: pages of them, and the position of an archived task. */

import { type ArchivedEntry, type ArchivePart, toMonth, partsIn, partsToSearch } from "../db/archive.ts";
import { readPart } from "./archive.ts";
import { keyNames } from "../db/api-keys.ts";
import { type Entry, type EntryPage, selectEntries } from "../db/ledger-reports.ts";

/** The number of files that are searched for a task, newest first, because callers continue lists from recent tasks. */
const maxSearched = 8;
const partsAtOnce = 8;
/** Number of parsed files that a reader caches: consecutive pages are mostly in the same file. */
const maxKept = 3;

/** The position of an archived task in its account's lists, by its submission and by its end, in milliseconds. */
export type ArchivedPlace = Pick<ArchivedEntry, "taskId" | "at" | "closedAt">;

const newestFirst = (a: Entry, b: Entry) => b.at - a.at || (a.taskId < b.taskId ? 1 : -1);

/**
 * Reads pages of an account's entries since `since`, newest first, after the entry at `after`. A page's rows of D1 and the names of the
 * files are read in one transaction, so an entry that is being archived is in one of them. Throws if a file cannot be read, so that no page
 * lacks entries without an error.
 */
export function entryReader(db: Env["DB"], bucket: R2Bucket, accountId: string): (page: EntryPage) => Promise<Entry[]> {
  const kept = new Map<string, Entry[]>();
  let names: Map<string, string> | undefined;
  const read = async (part: ArchivePart): Promise<Entry[]> => {
    const known = kept.get(part.file);
    if (known) return known;
    const keys = (names ??= await keyNames(db, accountId));
    const entries = (await readPart(bucket, part)).map((entry) => toEntry(entry, keys));
    const [oldest] = kept.keys();
    if (kept.size >= maxKept && oldest !== undefined) kept.delete(oldest);
    kept.set(part.file, entries);
    return entries;
  };
  return async (page) => {
    const { since, limit, after } = page;
    const until = after?.at ?? Number.MAX_SAFE_INTEGER;
    const months: [number, number] = [toMonth(since), after ? toMonth(after.at) : until];
    const select = (skip: number) => partsIn(db, accountId, months, [since, until], { limit: partsAtOnce, skip });
    const isIn = ({ at, taskId }: Entry) => at >= since && (!after || at < after.at || (at === after.at && taskId < after.taskId));
    const [written, first] = await db.batch([selectEntries(db, accountId, page), select(0)]);
    let rows = (written?.results ?? []) as Entry[];
    let parts = (first?.results ?? []) as ArchivePart[];
    for (let skip = partsAtOnce; ; skip += partsAtOnce) {
      for (const part of parts) {
        const last = rows[limit - 1];
        // The parts are sorted by their latest entries, so the remaining ones have no entry of this page.
        if (last && part.lastAt < last.at) return rows;
        const own = new Set(rows.map(({ taskId }) => taskId));
        const more = (await read(part)).filter((entry) => isIn(entry) && !own.has(entry.taskId));
        rows = [...rows, ...more].sort(newestFirst).slice(0, limit);
      }
      if (parts.length < partsAtOnce) return rows;
      parts = (await select(skip).run<ArchivePart>()).results;
    }
  };
}

const toEntry = (
  { taskId, kind, model, keyId, at, held, charged, outcome, closedAt }: ArchivedEntry,
  keys: Map<string, string>,
): Entry => ({
  taskId,
  kind,
  model,
  keyName: keys.get(keyId) ?? null,
  at,
  held,
  charged,
  outcome,
  closedAt,
});

/**
 * The position of an account's archived task; undefined if the task does not exist. If older files exist, a task that is in none of the
 * newest files is assumed to be in them: its position is then before everything that lists show.
 */
export async function findArchived(
  { DB, ASSETS }: Pick<Env, "DB" | "ASSETS">,
  accountId: string,
  taskId: string,
): Promise<ArchivedPlace | undefined> {
  const parts = await partsToSearch(DB, accountId, taskId, maxSearched + 1);
  for (const part of parts.slice(0, maxSearched)) {
    const entry = (await readPart(ASSETS, part)).find((one) => one.taskId === taskId);
    if (entry) return { taskId, at: entry.at, closedAt: entry.closedAt };
  }
  return parts.length > maxSearched ? { taskId, at: 0, closedAt: 0 } : undefined;
}
