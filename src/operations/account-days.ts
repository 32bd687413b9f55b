/** Sums what each account paid and cost, day by day: margins by account read these sums, because entries leave the database. */

import { dayMs } from "../base/times.ts";
import { readJob, writeJob } from "../db/jobs.ts";
import { deleteAccountDays, sumAccountDay, type SummedDays, summedDaysJob } from "../db/margins.ts";

/** A day is summed this long after its end: by then entries are written, and late costs booked, except after long faults. */
const lateMs = 10_800_000;
/** How many days back the first run begins: fewer than entries stay in D1. */
const firstDays = 7;
/** The number of accounts in one statement, and of statements in one run. */
const perStatement = 500;
const statementsPerRun = 20;

/** Continues where the last run ended, at most to the last day that is over. */
export async function sumAccountDays({ DB: db }: Pick<OperationsBindings, "DB">, now: number): Promise<void> {
  const end = Math.floor((now - lateMs) / dayMs) * dayMs;
  let place = (await readJob<SummedDays>(db, summedDaysJob)) ?? { day: end - firstDays * dayMs, after: "" };
  if (place.day >= end) return;
  for (let count = 0; count < statementsPerRun && place.day < end; count++) {
    const after = await sumAccountDay(db, place.day, place.after, perStatement);
    place = after === undefined ? { day: place.day + dayMs, after: "" } : { ...place, after };
    await writeJob(db, summedDaysJob, place);
  }
  await deleteAccountDays(db, now);
}
