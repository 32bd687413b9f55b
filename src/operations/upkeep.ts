/** The regular jobs after the checks: archiving, the days of accounts, deleting unused archive files, expired rows and fingerprints, the rests of batches that never began, e-mail about low balances, and sealing stored secrets. A failed job does not stop the others. */

import { alert, log } from "../base/log.ts";
import { readJob, writeJob } from "../db/jobs.ts";
import type { Objects } from "../rpc/objects.ts";
import { sumAccountDays } from "./account-days.ts";
import { archive } from "./archive.ts";
import { sweepArchive } from "./archive-check.ts";
import { expire } from "./expire.ts";
import { expireFingerprints } from "./expire-fingerprints.ts";
import { tellLowBalances } from "./low-balances.ts";
import { sweepBatches } from "./sweep-batches.ts";

/** Runs a part of each job. Errors are logged; the next run tries again. */
export async function runUpkeep(env: OperationsBindings, objects: Objects, proofDays?: number): Promise<void> {
  const jobs = {
    archive: async () => {
      const entries = await archive(env);
      if (entries > 0) log("archive", { outcome: "moved", entries });
    },
    sweep: () => sweepArchive(env, Date.now()),
    account_days: () => sumAccountDays(env, Date.now()),
    expire: () => expire(env, Date.now()),
    low_balances: () => tellLowBalances(env, objects),
    batches: () => sweepBatches(env, objects, Date.now()),
    fingerprints: async () => (proofDays === undefined ? undefined : expireFingerprints(env.DB, proofDays, Date.now())),
    seal: async () => {
      const { after = "" } = (await readJob<{ after?: string }>(env.DB, "seal")) ?? {};
      const last = await objects.sealSecrets(after);
      if (last !== after) await writeJob(env.DB, "seal", last === undefined ? {} : { after: last });
    },
  };
  for (const [job, run] of Object.entries(jobs)) {
    try {
      await run();
    } catch (error) {
      alert("upkeep", { outcome: "retry", job }, error);
    }
  }
}
