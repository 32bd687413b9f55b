/** `/v1/images/generations`, `/v1/videos/generations`, `/v1/videos/{id}/remix`, `/v1/tasks`: admits submissions. */

import type { Handle } from "../request/context.ts";
import { admitToSubmit, countAwaitedSubmission } from "../request/auth.ts";
import { requireTasksLeft } from "../request/client-tokens.ts";
import { readQuery } from "../request/query.ts";
import { submissionQuery } from "../schema/queries.ts";
import { type Endpoint, submit } from "./submit.ts";
import { requireVariables } from "../request/variable-checks.ts";

/** Submits to an endpoint: `video` is a video or a character, `task` a model of any kind but text with the body of its own path. */
export const submitTo =
  (endpoint: Endpoint): Handle =>
  async (c, id) => {
    await admitToSubmit(c, "client tokens");
    requireTasksLeft(c);
    requireVariables(c.env, "task");
    const { wait, dry_run: dryRun } = readQuery(c, submissionQuery);
    if (wait !== undefined && dryRun !== "true") await countAwaitedSubmission(c);
    return submit(c, endpoint, endpoint === "remix" ? id : undefined);
  };
