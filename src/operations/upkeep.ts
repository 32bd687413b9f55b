/** The regular jobs after the checks: archiving, deleting unused archive files, and deleting expired rows. A failed job does not stop the others. */

import { alert, log } from "../log.ts";
import { archive } from "./archive.ts";
import { sweepArchive } from "./archive-check.ts";
import { expire } from "./expire.ts";

/** Runs a part of each job. Errors are logged; the next run tries again. */
export async function runUpkeep(env: OperationsBindings): Promise<void> {
  const jobs = {
    archive: async () => {
      const entries = await archive(env);
      if (entries > 0) log("archive", { outcome: "moved", entries });
    },
    sweep: () => sweepArchive(env, Date.now()),
    expire: () => expire(env.DB, Date.now()),
  };
  for (const [job, run] of Object.entries(jobs)) {
    try {
      await run();
    } catch (error) {
      alert("upkeep", { outcome: "retry", job }, error);
    }
  }
}
