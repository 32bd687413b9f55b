/** Errors of the HTTP API as text for a language model: the cause, the field, the allowed values, and the next step. */

import type { GatewayError } from "../client.ts";

/** The API answered with an error, or an argument is wrong. The message says what to change, for the language model that called the tool. */
export class ApiRefusal extends Error {}

/** The next steps of the language model after an error, in addition to correcting the named fields. */
const advice: Record<string, string> = {
  cost_limit_exceeded: "Raise max_cost to at least this price, or choose a cheaper model, fewer images or a shorter duration.",
  insufficient_quota: "Nothing was charged. The tool balance shows what is left, the tool estimate what a request costs.",
  budget_exceeded: "Nothing was charged. Too little is left of the budget of this period; the tool balance shows it.",
  key_scope: "The API key is not allowed to do this. Use another model or kind, or ask the user for another key.",
  task_not_found: "Use a task_id that a tool returned; list_tasks shows the account's tasks.",
  model_not_found: "The tool list_models shows the models.",
  model_not_available: "The tool list_models shows the models that are available.",
  content_policy_violation: "Nothing was charged. Change the prompt.",
  task_already_final: "The task cannot be cancelled. The tool get_task shows its result.",
  idempotency_conflict: "Give the argument variation another value.",
};

/** The error for an error answer of any family of the API. */
export async function toRefusal(answer: Response): Promise<ApiRefusal> {
  return new ApiRefusal(describe(await answer.json(), answer.headers.get("retry-after")));
}

/** `retryAfter` in seconds. */
function describe({ error, message }: { error?: GatewayError; message?: string }, retryAfter: string | null): string {
  const later = retryAfter === null ? [] : [`Try again in ${retryAfter} seconds.`];
  if (!error) return [message ?? "The gateway answered with an error.", ...later].join("\n");
  const fields = (error.details ?? []).map((detail) => {
    const allowed = detail.allowed === undefined ? "" : ` (allowed: ${JSON.stringify(detail.allowed)})`;
    return `- ${toArgument(detail.param)}: ${detail.message}${allowed}`;
  });
  const todo = advice[error.code];
  return [`${error.code}: ${toArgument(error.message)}`, ...fields, ...(todo === undefined ? [] : [todo]), ...later].join("\n");
}

/** The id of a remix's source is `video_id` in the API's path, and `task_id` in a tool's arguments. */
const toArgument = (text: string) => text.replace(/^video_id\b/, "task_id");
