/** The object of a task, over RPC. */

import type { LeaseGiver } from "./perform.ts";
import { toObjectId } from "../../base/ids.ts";
import { retry } from "../../base/retry.ts";

/** A new stub for each call; undefined if the text is no task id. */
export function openTask(taskId: string, { TASKS }: Env): ReturnType<Env["TASKS"]["get"]> | undefined {
  const id = toObjectId(TASKS, taskId);
  return id && TASKS.get(id);
}

/** The report is retried, because outputs must not be lost while the object is relocated. */
export const toLeaseGiver = (taskId: string, env: Env): LeaseGiver => ({
  holdsLease: async (lease) => (await openTask(taskId, env)?.holdsLease(lease)) ?? false,
  report: (lease, outcome) => retry("report", taskId, async () => (await openTask(taskId, env)?.report(lease, outcome)) ?? false),
});
