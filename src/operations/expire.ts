/** Deletes expired rows, and replaces daily sums that are older than thirteen months by monthly ones. Limited work in each run. */

import { readJob, writeJob } from "../db/archive.ts";
import { addUpMonth, deleteExpired, firstMonth } from "../db/expired.ts";
import { toMonth } from "../archive.ts";

/** Daily sums are kept by day for at least this long; one usage query covers at most 92 days. */
const dailyMs = 400 * 86_400_000;
/** Deleted characters are kept longer than any task that could settle again. */
const characterMs = 35 * 86_400_000;
/** Expired rows are kept a week longer, so that a late use still gets the specific error. */
const expiredMs = 7 * 86_400_000;
const maxRows = 500;
/** The number of accounts whose sums of one month are added up in one transaction. */
const accountsPerRun = 100;

/** The state of the job: the month that is being added up, and its last finished account. */
export interface SumsPlace {
  month: number;
  after: string;
}

export async function expire(db: Env["DB"], now: number): Promise<void> {
  await deleteExpired(db, now - expiredMs, now - characterMs, maxRows);
  const place = (await readJob<SumsPlace>(db, "sums")) ?? { month: await firstMonth(db, now), after: "" };
  const next = toMonth(place.month + 32 * 86_400_000);
  if (next > now - dailyMs) return;
  const last = await addUpMonth(db, place.month, next, place.after, accountsPerRun);
  await writeJob(db, "sums", (last === undefined ? { month: next, after: "" } : { month: place.month, after: last }) satisfies SumsPlace);
}
