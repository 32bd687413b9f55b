/** The answer to an accepted submission: the task as it was accepted, or with `?wait=` in its state when the wait is over. */

import { ApiError } from "../../base/errors.ts";
import { firstPollSeconds } from "../../catalog/models.ts";
import { alert } from "../../base/log.ts";
import type { Task } from "../../tasks/record.ts";
import { awaitedSubmissionView, submissionView, type TaskData } from "../../tasks/answers/views.ts";
import type { AppContext } from "../request/context.ts";
import { answer } from "../request/answer.ts";
import type { OpenWait } from "../request/open-wait.ts";
import { askSubmitted, awaitTask } from "../tasks/status.ts";

/** The task of a submission, and the wait that was opened for a new one. */
export interface Accepted {
  task: Task;
  /** True if an earlier request with the same idempotency key has made the task. */
  isReplay: boolean;
  wait: OpenWait | undefined;
}

export async function answerAccepted(c: AppContext, { task, isReplay, wait }: Accepted, seconds: number): Promise<Response> {
  const data = seconds > 0 ? await awaitSubmitted(c, task.id, seconds, wait) : undefined;
  const isFinal = data?.status === "completed" || data?.status === "failed";
  return answer(c, data ? awaitedSubmissionView(data) : submissionView(task), 200, {
    location: `/v1/tasks/${task.id}`,
    ...(!isFinal && { "retry-after": String(firstPollSeconds[task.submission.kind]) }),
    ...(isReplay && { "idempotent-replayed": "true" }),
  });
}

/**
 * `data` of the task once it is final or the seconds have passed; undefined if the wait failed: the task was accepted, so an error would lead
 * the caller to submit it again.
 */
async function awaitSubmitted(c: AppContext, taskId: string, seconds: number, wait: OpenWait | undefined): Promise<TaskData | undefined> {
  try {
    const { text } = await awaitTask(c, () => askSubmitted(c, taskId), Date.now() + 1000 * seconds, wait);
    return (JSON.parse(text) as { data: TaskData }).data;
  } catch (error) {
    // The key has ended, the caller has disconnected or deleted the task, or a repeat has too many waits.
    if (!(error instanceof ApiError)) alert("wait", { request: c.get("requestId"), task: taskId, outcome: "fault" }, error);
    return undefined;
  }
}
