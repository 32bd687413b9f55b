/** Deletes expired rows and callers' expired files, and replaces daily sums that are older than thirteen months by monthly ones. Limited work in each run. */

import { dayMs } from "../base/times.ts";
import { recordSeconds } from "../base/life-times.ts";
import { removeExpiredFiles } from "../storage/files.ts";
import { toMonth } from "../db/archive.ts";
import { pruneAuditLog } from "../db/audit-log.ts";
import { readJob, writeJob } from "../db/jobs.ts";
import { auditDays } from "./settings.ts";
import { addUpMonth, deleteExpired, firstMonth, type SumsPlace } from "../db/expired.ts";

/** Daily sums are kept by day for at least this long; one usage query covers at most 92 days. */
const dailyMs = 400 * dayMs;
/** Deleted characters are kept longer than any task that could settle again. */
const characterMs = 35 * dayMs;
/** Expired invitations are kept a week longer, so that a late use still gets the specific error. */
const expiredMs = 7 * dayMs;
const maxRows = 500;
/** How many parts of expired files a run removes, and the factor of `maxRows` for acts of the audit log: an account may upload 300 files a minute. */
const manyTimes = 10;
/** The number of accounts whose sums of one month are added up in one transaction. */
const accountsPerRun = 100;

export async function expire(
  { DB: db, ASSETS, AUDIT_DAYS }: Pick<OperationsBindings, "DB" | "ASSETS" | "AUDIT_DAYS">,
  now: number,
): Promise<void> {
  for (let turn = 0; turn < manyTimes && (await removeExpiredFiles({ DB: db, ASSETS }, now, maxRows)) === maxRows; turn++);
  await pruneAuditLog(db, now - dayMs * auditDays({ ...(AUDIT_DAYS !== undefined && { AUDIT_DAYS }) }), manyTimes * maxRows);
  await deleteExpired(
    db,
    now,
    { invitationsBefore: now - expiredMs, eventsBefore: now - 1_000 * recordSeconds, charactersBefore: now - characterMs },
    maxRows,
  );
  const place = (await readJob<SumsPlace>(db, "sums")) ?? { month: await firstMonth(db, now), after: "" };
  const next = toMonth(place.month + 32 * dayMs);
  if (next > now - dailyMs) return;
  const last = await addUpMonth(db, place.month, next, place.after, accountsPerRun);
  await writeJob(db, "sums", (last === undefined ? { month: next, after: "" } : { month: place.month, after: last }) satisfies SumsPlace);
}
