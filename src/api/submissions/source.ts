/** The earlier task that a remix or a character starts from. */

import { type Caller, isOthers } from "../../db/callers.ts";
import { ApiError, invalid } from "../../base/errors.ts";
import { toObjectId } from "../../base/ids.ts";
import { currentRoute, type Source } from "../../tasks/record.ts";
import { maySee } from "../request/client-tokens.ts";

/** Finds the video of a task of the same account. 404 if the task does not exist, 400 if its video cannot be used, or ends before the end of `timestamps`. */
export async function sourceFromTask(
  tasks: Env["TASKS"],
  caller: Caller,
  taskId: string,
  param: "video_id" | "from_task",
  timestamps?: string,
): Promise<Source> {
  const id = maySee(caller, taskId) ? toObjectId(tasks, taskId) : undefined;
  const task = id && (await tasks.get(id).read(caller.accountId));
  if (!task || isOthers(caller, task.submission.keyId))
    throw new ApiError("task_not_found", { violations: [{ param, rule: "task_not_found" }] });
  const { kind, parameters } = task.submission;
  if (kind !== "video" && kind !== "remix") throw invalid(param, "task_not_video");
  if (task.status !== "completed" || task.result?.kind !== "video") throw invalid(param, "task_not_completed");
  if (task.expiresAt <= Date.now()) throw invalid(param, "task_expired");
  if (param === "video_id" && parameters.private === true) throw invalid(param, "task_private");
  // Makers' videos may be some frames shorter than their whole seconds, which callers see.
  const maximum = Math.ceil(task.result.seconds);
  if (Number(timestamps?.split(",")[1]) > maximum) throw invalid("timestamps", "too_big", { maximum }, { maximum });
  return { taskId: task.id, asset: task.result.video, provider: currentRoute(task).provider, operation: task.operation };
}
