/** What the submissions of these paths share: the gateway's own fields, and dry runs. */

import type { Fields } from "./form.ts";
import type { AppContext } from "./paths.ts";

/** The fields that OpenAI's API lacks, as under /v1. The header that OpenAI's clients have for it names the task before the field does. */
export const ownFields = (c: AppContext, { max_cost, callback_url, reference }: Fields): Fields => ({
  max_cost,
  callback_url,
  reference: c.req.header("x-client-request-id") ?? reference,
});

/** The gateway's path with the request's `dry_run`. */
export function withDryRun(c: AppContext, path: string): string {
  const dryRun = c.req.query("dry_run");
  return dryRun === undefined ? path : `${path}?dry_run=${encodeURIComponent(dryRun)}`;
}

/** The gateway's answer to a dry run: nothing was submitted. */
export interface DryRun {
  object: "generation.dry_run";
  model: string;
  metadata: { requested_model?: string };
}

export const isDryRun = (answer: object): answer is DryRun => "object" in answer && answer.object === "generation.dry_run";

/** Answers a dry run under the name that the model was asked for by. */
export const answerDryRun = (c: AppContext, { model, ...rest }: DryRun): Response =>
  c.json({ ...rest, model: rest.metadata.requested_model ?? model });
