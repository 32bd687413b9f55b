/** Waits for tasks, and reports the fields of a request that were dropped. */

import { readTask, type TaskData } from "./ask.ts";
import { refuse, toError } from "./errors.ts";
import { WorkFailed } from "./once.ts";
import type { AppContext } from "./paths.ts";
import { type DryRun, isDryRun } from "./submission.ts";

/** The maximum time until an answer, and the maximum wait of one status query. */
const waitMs = 115_000;
const longestWaitS = 60;

/** The HTTP status of a failed task's error, by its code. */
const failures: Record<string, number> = { content_policy_violation: 400, invalid_input: 400, cancelled: 400 };

/**
 * Returns the task once it is completed. Throws the task's error if it fails, and 504 with its id if it is not final in time; then it
 * continues.
 */
async function awaitTask(c: AppContext, id: string): Promise<TaskData> {
  const until = Date.now() + waitMs;
  for (;;) {
    const left = Math.ceil((until - Date.now()) / 1000);
    const task = await readTask(c, id, Math.max(0, Math.min(longestWaitS, left)));
    if (task.status === "completed") return task;
    if (task.error) {
      const { status, message, param, code } = toError(task.error, failures[task.error.code] ?? 500);
      throw new WorkFailed(status, message, { param, code });
    }
    if (Date.now() >= until)
      throw refuse(c, 504, "not_ready", { task: id }, { code: "task_not_final", headers: { location: `/v1/tasks/${id}` } });
  }
}

/**
 * Returns the task of a submission once it is completed, or a dry run's answer. Passes on the header of a replay. Throws as `awaitTask`
 * does.
 */
export async function awaitSubmitted(c: AppContext, sent: Response): Promise<TaskData | DryRun> {
  const submitted = await sent.json<{ id: string } | DryRun>();
  if (isDryRun(submitted)) return submitted;
  const replayed = sent.headers.get("idempotent-replayed");
  if (replayed !== null) c.header("idempotent-replayed", replayed);
  return awaitTask(c, submitted.id);
}

/** Reports accepted fields that have no effect. */
export function tellDropped(c: AppContext, names: string[]): void {
  if (names.length > 0) c.header("x-dropped-params", names.join(", "));
}
