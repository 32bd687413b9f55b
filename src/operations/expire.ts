/** Deletes rows that nothing reads any more, and adds up daily sums that are older than thirteen months by month. A little in each run. */

import { readJob, writeJob } from "../db/archive.ts";
import { addUpMonth, deleteExpired, firstMonth } from "../db/expired.ts";
import { monthOf } from "../archive.ts";

/** Daily sums are kept by day for at least this long; usage is asked for 92 days at a time. */
const dailyMs = 400 * 86_400_000;
/** Deleted characters are kept for longer than any task that could settle again. */
const characterMs = 35 * 86_400_000;
/** What has expired is kept a week longer, so that a late use is still told why it is refused. */
const expiredMs = 7 * 86_400_000;
const maxRows = 500;
/** Accounts whose sums of one month are added up in one transaction. */
const accountsPerRun = 100;

/** The state of the job: the month that is being added up, and the last account of it that is done. */
export interface SumsPlace {
  month: number;
  after: string;
}

export async function expire(db: Env["DB"], now: number): Promise<void> {
  await deleteExpired(db, now - expiredMs, now - characterMs, maxRows);
  const place = (await readJob<SumsPlace>(db, "sums")) ?? { month: await firstMonth(db, now), after: "" };
  const next = monthOf(place.month + 32 * 86_400_000);
  if (next > now - dailyMs) return;
  const last = await addUpMonth(db, place.month, next, place.after, accountsPerRun);
  await writeJob(db, "sums", (last === undefined ? { month: next, after: "" } : { month: place.month, after: last }) satisfies SumsPlace);
}
