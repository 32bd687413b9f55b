/** What the role of a key's owner allows: members see their own tasks and usage and change nothing of the account, viewers only read. */

import { ApiError } from "../../base/errors.ts";
import { toObjectId } from "../../base/ids.ts";
import { retryRestart } from "../../base/retry.ts";
import { isOthers } from "../../db/callers.ts";
import type { AppContext, Handle } from "./context.ts";

/** The handler for what owners and admins do: settings of the account, and lists of everybody's acts and events. */
export const managed =
  (handle: Handle): Handle =>
  (c, id) => {
    const { role } = c.get("caller");
    if (role !== undefined && role !== "admin") throw new ApiError("key_scope");
    return handle(c, id);
  };

/** True if the caller may see the task: all tasks of the account, or the member's own ones. True also for a task that does not exist. */
export async function isOwnTask(c: AppContext, taskId: string): Promise<boolean> {
  const caller = c.get("caller");
  const id = caller.ownWallets && toObjectId(c.env.TASKS, taskId);
  const task = id && (await retryRestart("read", taskId, async () => c.env.TASKS.get(id).read(caller.accountId)));
  return !task || !isOthers(caller, task.submission.keyId);
}

/** The handler for a task, which for a member must be the member's own. */
export const ownTask =
  (handle: Handle): Handle =>
  async (c, id) => {
    if (!(await isOwnTask(c, id))) throw new ApiError("task_not_found");
    return handle(c, id);
  };
