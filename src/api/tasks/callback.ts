/** `/v1/tasks/{id}/callback`: the state of a task's callback, and sending it again. */

import type { AppContext } from "../request/context.ts";
import { readWebhook } from "../../db/webhooks.ts";
import { ApiError } from "../../base/errors.ts";
import { toEventId } from "../../tasks/answers/event.ts";
import type { Callback, Task } from "../../tasks/record.ts";
import { readNoBody } from "../request/body.ts";
import { answer } from "../request/answer.ts";
import { askObject } from "./tasks.ts";
import { toSeconds } from "../../base/times.ts";

async function findTask(c: AppContext, taskId: string): Promise<{ task: Task; url: string | null }> {
  const { accountId } = c.get("caller");
  const task = await askObject(c, taskId, async (object) => object.read(accountId));
  return { task, url: task.submission.callbackUrl ?? (await readWebhook(c.env, accountId)).url };
}

function callbackFields({ state, step, attempts = [] }: Partial<Callback> = {}) {
  return {
    state: state === undefined || state === "no_endpoint" ? "none" : state,
    // Missing for an attempt that is running or about to start.
    ...(step?.do === "wait" && { next_attempt_at: toSeconds(step.at) }),
    attempts: attempts.map(({ at, ...attempt }) => ({ at: toSeconds(at), ...attempt })),
  };
}

const view = ({ id, callback, deliveryCallback }: Task, url: string | null) => ({
  object: "task.callback",
  task: id,
  url,
  event: toEventId(id),
  ...callbackFields(callback),
  ...(deliveryCallback && { delivery: { event: toEventId(id, true), ...callbackFields(deliveryCallback) } }),
});

export async function showCallback(c: AppContext, taskId: string): Promise<Response> {
  const { task, url } = await findTask(c, taskId);
  return answer(c, view(task, url));
}

/** Sends the callback of a final task again at once. Answers before the receiver does, with the state `pending`. */
export async function repeatCallback(c: AppContext, taskId: string): Promise<Response> {
  await readNoBody(c);
  const { url } = await findTask(c, taskId);
  if (url === null) throw new ApiError("webhook_not_found");
  const task = await askObject(c, taskId, async (object) => object.repeatCallback(c.get("caller").accountId));
  if (task === "open") throw new ApiError("task_not_final");
  return answer(c, view(task, url));
}
