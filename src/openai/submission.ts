/** Shared by the submissions of these paths: the gateway's own fields, and dry runs. */

import type { Fields } from "./form.ts";
import type { AppContext } from "./paths.ts";

/** Fields that OpenAI's API does not have, as under /v1. The header `X-Client-Request-Id` takes precedence over `reference`. */
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

/** Answers a dry run with the requested model name. */
export const answerDryRun = (c: AppContext, { model, ...rest }: DryRun): Response =>
  c.json({ ...rest, model: rest.metadata.requested_model ?? model });
