/** The identifiers of a task for log lines and spans. They contain no content. */

import { currentRoute, type Task } from "./record.ts";

/** The identifiers of a task for log lines, without content. */
export const logFields = ({ id, submission, route, faults }: Task) => ({
  request: submission.requestId,
  task: id,
  account: submission.accountId,
  model: submission.model,
  provider: currentRoute({ submission, route }).provider,
  attempt: faults + 1,
});

/** The attributes of a task's spans. */
export const toAttributes = ({ id, submission }: Task) => ({ kind: submission.kind, model: submission.model, task: id });

/** The attributes of a call of its current route's provider. */
export function toCallAttributes(task: Task) {
  const { provider, model } = currentRoute(task);
  return { ...toAttributes(task), provider, model };
}
