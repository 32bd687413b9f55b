/**
 * Removes what a crash left of batches that never began: their rows, which count for the account's files, and their inputs. Does the same with
 * open batches that a restored database brought back and that are removed since, and notes the end of those that have ended.
 */

import { alert } from "../base/log.ts";
import { dayMs, hourMs } from "../base/times.ts";
import { deleteBatch, noteBatchBegun, noteBatchEnded, openBatches, unbegunBatches } from "../db/batches.ts";
import type { Objects } from "../rpc/objects.ts";
import { batchPrefix, removeUnder } from "../storage/assets.ts";

/** After this time no request that would begin the batch is running. */
const beginningMs = hourMs;
const maxBatches = 50;
/** How many open batches are asked, and how old they are: few take longer than this. */
const open = { batches: 20, ageMs: dayMs };

export async function sweepBatches(
  { DB, ASSETS }: Pick<OperationsBindings, "DB" | "ASSETS">,
  objects: Pick<Objects, "hasBatch">,
  now: number,
): Promise<void> {
  const unbegun = await unbegunBatches(DB, now - beginningMs, maxBatches);
  for (const { accountId, id } of [...unbegun, ...(await openBatches(DB, now - open.ageMs, open.batches))]) {
    try {
      const has = await objects.hasBatch(accountId, id);
      if (has === "ended") await noteBatchEnded(DB, accountId, id);
      if (has) await noteBatchBegun(DB, accountId, id);
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
