/** Deletes fingerprints of files that were made longer ago than the operator keeps them: once a day through all of them, a part in each run. */

import { dayMs } from "../base/times.ts";
import { deleteFingerprints } from "../db/fingerprints.ts";
import { readJob, writeJob } from "../db/jobs.ts";

/** 288 runs a day reach 5.7 million fingerprints; with more of them a pass takes longer than a day. */
const rowsPerRun = 20_000;

interface Place {
  /** The last fingerprint of the running pass that was looked at, hexadecimal; empty before a pass. */
  after: string;
  /** When the next pass begins, milliseconds. */
  next: number;
}

/** `proofDays`: how long fingerprints are kept; 0 deletes all of them. */
export async function expireFingerprints(db: Env["DB"], proofDays: number, now: number): Promise<void> {
  const { after, next } = (await readJob<Place>(db, "fingerprints")) ?? { after: "", next: 0 };
  if (after === "" && next > now) return;
  const last = await deleteFingerprints(db, after, now - proofDays * dayMs, rowsPerRun);
  await writeJob(db, "fingerprints", { after: last ?? "", next: last === undefined ? now + dayMs : next } satisfies Place);
}
