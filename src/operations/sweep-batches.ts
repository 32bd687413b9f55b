/** Removes what a crash left of batches that never began: their rows, which count for the account's files, and their inputs. */

import { alert } from "../base/log.ts";
import { hourMs } from "../base/times.ts";
import { deleteBatch, noteBatchBegun, unbegunBatches } from "../db/batches.ts";
import type { Objects } from "../rpc/objects.ts";
import { batchPrefix, removeUnder } from "../storage/assets.ts";

/** After this time no request that would begin the batch is running. */
const beginningMs = hourMs;
const maxBatches = 50;

export async function sweepBatches(
  { DB, ASSETS }: Pick<OperationsBindings, "DB" | "ASSETS">,
  objects: Pick<Objects, "hasBatch">,
  now: number,
): Promise<void> {
  for (const { accountId, id } of await unbegunBatches(DB, now - beginningMs, maxBatches)) {
    try {
      if (await objects.hasBatch(accountId, id)) await noteBatchBegun(DB, accountId, id);
      else {
        await removeUnder(ASSETS, batchPrefix(id));
        await deleteBatch(DB, accountId, id);
      }
    } catch (error) {
      // The others are not kept waiting; the next run tries this one again.
      alert("batch", { batch: id, outcome: "not_swept" }, error);
    }
  }
}
