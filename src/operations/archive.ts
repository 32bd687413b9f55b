/** Moves old settled entries from D1 to the archive, a batch at a time. Each step may be repeated; a crash between two steps loses no entry. */

import { dayMs, hourMs } from "../base/times.ts";
import {
  type ArchivedEntry,
  type ArchivePart,
  toMonth,
  databaseBytes,
  lastPart,
  moveEntries,
  nextDueAccount,
  readDue,
} from "../db/archive.ts";
import { DamagedArchiveError, newFile, readPart, storePart, sumUp } from "../storage/archive.ts";
import { readJob, writeJob } from "../db/jobs.ts";
import { alert } from "../base/log.ts";
import { recordMs } from "./erase.ts";
import { ledgerDays, ledgerMaxBytes } from "./settings.ts";

/**
 * The number of entries in a batch, which is one transaction of a few thousand rows, and in a part, which is rewritten when a batch is
 * added to it.
 */
const perBatch = 1_000;
const perPart = 5_000;
/** The number of batches in one run, and of one account within it. With the time limit this bounds a run. */
const batchesPerRun = 60;
const batchesPerAccount = 30;
const maxRunMs = 60_000;
/** The number of accounts that one query examines. */
const accountsPerLook = 1_000;

type Bindings = Pick<OperationsBindings, "DB" | "ASSETS" | "LEDGER_DAYS" | "LEDGER_MAX_MB">;

/** The state of the job: the last account that is finished in this round over all accounts. */
interface Place {
  after: string;
}

/**
 * One run: continues where the last one ended, at most to the end of the round. Entries are moved when they are `LEDGER_DAYS` old; while
 * the database is larger than `LEDGER_MAX_MB`, as soon as the records of their tasks are deleted. Returns the number of moved entries.
 */
export async function archive(bindings: Bindings): Promise<number> {
  const { DB, ASSETS } = bindings;
  const started = Date.now();
  const days = ledgerDays(bindings);
  const maxBytes = ledgerMaxBytes(bindings);
  let place = (await readJob<Place>(DB, "archive"))?.after ?? "";
  let bytes = await databaseBytes(DB);
  let moved = 0;
  for (let batches = 0; batches < batchesPerRun && Date.now() - started < maxRunMs;) {
    const cutoff = cutoffAt(started, bytes > maxBytes ? undefined : days);
    const { due, last } = await nextDueAccount(DB, place, cutoff, accountsPerLook);
    if (due === undefined) {
      place = last ?? "";
      if (last === undefined) break;
      continue;
    }
    for (let count = 1; ; count++) {
      const batch = await archiveBatch({ DB, ASSETS }, due, cutoff);
      batches++;
      bytes = batch?.bytes ?? bytes;
      moved += batch?.entries ?? 0;
      if (!batch?.hasMore || count === batchesPerAccount || batches === batchesPerRun) break;
    }
    place = due;
  }
  await writeJob(DB, "archive", { after: place } satisfies Place);
  return moved;
}

/** Entries before this time are moved: `days` whole days ago, or without `days` the time before which every task's record is deleted. */
const cutoffAt = (now: number, days: number | undefined) =>
  days === undefined ? Math.floor((now - recordMs) / hourMs) * hourMs : (Math.floor(now / dayMs) - days) * dayMs;

interface Batch {
  entries: number;
  /** The size of the database in bytes after the batch. */
  bytes: number | undefined;
  hasMore: boolean;
}

/** Moves the next batch of an account: entries of one month. A fault is logged and undefined returned; the next round tries again. */
async function archiveBatch(bindings: Pick<Bindings, "DB" | "ASSETS">, accountId: string, cutoff: number): Promise<Batch | undefined> {
  try {
    const due = await readDue(bindings.DB, accountId, cutoff, perBatch);
    const [first] = due;
    if (!first) return undefined;
    const month = toMonth(first.at);
    const entries = due.filter(({ at }) => toMonth(at) === month);
    const bytes = await move(bindings, accountId, month, entries);
    return {
      entries: bytes === undefined ? 0 : entries.length,
      bytes,
      hasMore: bytes !== undefined && (due.length === perBatch || entries.length < due.length),
    };
  } catch (error) {
    alert("archive", { account: accountId, outcome: "retry" }, error);
    return undefined;
  }
}

/** Writes the file and checks it; only then does D1 refer to it and delete the entries. Returns the size of the database; undefined if the entries have changed in the meantime. */
async function move(
  { DB, ASSETS }: Pick<Bindings, "DB" | "ASSETS">,
  accountId: string,
  month: number,
  entries: ArchivedEntry[],
): Promise<number | undefined> {
  const before = await lastPart(DB, accountId, month);
  const joined = before && before.entries + entries.length <= perPart ? await readJoined(ASSETS, before) : undefined;
  const all = [...(joined ?? []), ...entries];
  const part = { accountId, month, part: (before?.part ?? 0) + (joined ? 0 : 1), ...sumUp(all), file: "" } satisfies ArchivePart;
  part.file = newFile(part);
  await storePart(ASSETS, part, all);
  return moveEntries(DB, part, joined ? before?.file : undefined, entries);
}

/** The entries of a part to which others will be added; undefined if it is damaged: then the others begin a new part, and the check reports the damage. */
async function readJoined(bucket: R2Bucket, part: ArchivePart): Promise<ArchivedEntry[] | undefined> {
  try {
    return await readPart(bucket, part);
  } catch (error) {
    if (error instanceof DamagedArchiveError) return undefined;
    throw error;
  }
}
