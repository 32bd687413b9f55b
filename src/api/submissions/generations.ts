/** `/v1/images/generations`, `/v1/videos/generations`, `/v1/videos/{id}/remix`, `/v1/tasks`: admits submissions. */

import type { AppContext, Handle } from "../request/context.ts";
import { admitToSubmit, countAwaitedSubmission } from "../request/auth.ts";
import { requireTasksLeft } from "../request/client-tokens.ts";
import { readQuery } from "../request/query.ts";
import { submissionQuery } from "../schema/queries.ts";
import { submit } from "./submit.ts";
import { requireVariables } from "../request/variable-checks.ts";

export const submitImage: Handle = async (c) => {
  await admitSubmission(c);
  return submit(c, "image");
};

/** A video or a character. */
export const submitVideo: Handle = async (c) => {
  await admitSubmission(c);
  return submit(c, "video");
};

/** A task of any model but text: the body is that of the model's own path. */
export const submitTask: Handle = async (c) => {
  await admitSubmission(c);
  return submit(c, "task");
};

export const submitRemix: Handle = async (c, videoId) => {
  await admitSubmission(c);
  return submit(c, "remix", videoId);
};

async function admitSubmission(c: AppContext): Promise<void> {
  await admitToSubmit(c, "client tokens");
  requireTasksLeft(c);
  requireVariables(c.env, "task");
  const { wait, dry_run: dryRun } = readQuery(c, submissionQuery);
  if (wait !== undefined && dryRun !== "true") await countAwaitedSubmission(c);
}
