/** Shared by the submissions of these paths: the gateway's own fields, dropped fields, dry runs, and the wait for the task. */

import type { AppContext } from "./context.ts";
import type { DryRun, TaskData } from "../client.ts";
import { refuse, renameField, toFailure } from "./errors.ts";
import type { Fields } from "./form.ts";
import { WorkFailed } from "./once.ts";

/** Fields that OpenAI's API does not have, as under /v1. The header `X-Client-Request-Id` takes precedence over `reference`. */
export const ownFields = (c: AppContext, { max_cost, callback_url, deliver_to, reference }: Fields): Fields => ({
  max_cost,
  callback_url,
  deliver_to,
  reference: c.req.header("x-client-request-id") ?? reference,
});

/** Rethrows a gateway error with the name that its field has in the request: one of `renamed`, or the header that was the reference. */
export const withOwnNames = (c: AppContext, renamed: Record<string, string> = {}) =>
  renameField((name) =>
    name === "reference" && c.req.header("x-client-request-id") !== undefined ? "X-Client-Request-Id" : renamed[name],
  );

/** Reports accepted fields that have no effect. */
export function reportDropped(c: AppContext, names: string[]): void {
  if (names.length > 0) c.header("x-dropped-params", names.join(", "));
}

/** The gateway's path with the request's `dry_run`. */
export function withDryRun(c: AppContext, path: string): string {
  const dryRun = c.req.query("dry_run");
  return dryRun === undefined ? path : `${path}?dry_run=${encodeURIComponent(dryRun)}`;
}

export const isDryRun = (answer: object): answer is DryRun => "object" in answer && answer.object === "generation.dry_run";

/** Answers a dry run with the requested model name. */
export const answerDryRun = (c: AppContext, { model, ...rest }: DryRun): Response =>
  c.json({ ...rest, model: rest.metadata.requested_model ?? model });

/** The maximum time until an answer, and the maximum wait of one status query. */
const waitMs = 115_000;
const maxWaitS = 60;

/**
 * Returns the task once it is completed. Throws the task's error if it fails, and 504 with its id if it is not final in time; then it
 * continues.
 */
async function awaitTask(c: AppContext, id: string): Promise<TaskData> {
  const until = Date.now() + waitMs;
  for (;;) {
    const left = Math.ceil((until - Date.now()) / 1000);
    const task = await c.var.gateway.readTask(id, Math.max(0, Math.min(maxWaitS, left)));
    if (task.status === "completed") return task;
    if (task.error) {
      const { status, message, param, code } = toFailure(task.error);
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

/** The URL or the id of a stored file in OpenAI's `{image_url}` or `{file_id}`; another value is returned as it is. */
export function toImageUrl(given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  if ("image_url" in given) return given.image_url;
  return "file_id" in given ? given.file_id : given;
}
