/** What the owner of a task does with it: cancelling, deleting, delivering again. */

import type { AppContext } from "../request/context.ts";
import { ApiError } from "../../base/errors.ts";
import { toObjectId } from "../../base/ids.ts";
import { retryRestart } from "../../base/retry.ts";
import { maySee } from "../request/client-tokens.ts";
import { readNoBody } from "../request/body.ts";
import { answer, respond } from "../request/answer.ts";
import { forgetAnswers, readQuestion } from "./status.ts";

type Stub = ReturnType<Env["TASKS"]["get"]>;

/** What a task's object answers; what is asked must be safe to repeat. Throws 404 for an id that was never issued, and for a task that the caller does not have. */
export async function askObject<T>(c: AppContext, taskId: string, ask: (task: Stub, isRepeat: boolean) => Promise<T | null>): Promise<T> {
  const id = maySee(c.get("caller"), taskId) ? toObjectId(c.env.TASKS, taskId) : undefined;
  const answered = id && (await retryRestart("task", taskId, (isRepeat) => ask(c.env.TASKS.get(id), isRepeat)));
  if (!answered) throw new ApiError("task_not_found");
  c.set("task", taskId);
  return answered;
}

export async function cancelTask(c: AppContext, taskId: string): Promise<Response> {
  await readNoBody(c);
  const done = await askObject(c, taskId, async (task, isRepeat) => task.cancel(readQuestion(c, "generic"), isRepeat));
  if (done === "final") throw new ApiError("task_already_final");
  return answer(c, JSON.parse(done.text) as object);
}

/** Deletes a final task's files and record; its entry in the ledger stays. */
export async function deleteTask(c: AppContext, taskId: string): Promise<Response> {
  await readNoBody(c);
  const removal = askObject(c, taskId, async (task, isRepeat) => task.remove(c.get("caller").accountId, isRepeat));
  // Also if the RPC fails: the object may have deleted the task before its answer was lost.
  const done = await removal.finally(() => forgetAnswers(taskId));
  if (done === "open") throw new ApiError("task_not_final");
  if (done === "unavailable") throw new ApiError("unavailable");
  return respond(c, null, 204);
}

/** Delivers the files of a completed task again at once. Answers before the bucket does. */
export async function repeatDelivery(c: AppContext, taskId: string): Promise<Response> {
  await readNoBody(c);
  const done = await askObject(c, taskId, async (task) => task.repeatDelivery(readQuestion(c, "generic")));
  if (typeof done === "string") throw new ApiError(done);
  forgetAnswers(taskId);
  return answer(c, JSON.parse(done.text) as object);
}
