/** The schemas of the gateway's answers. `answers.ts` loads this module at the first answer: building them all makes a start longer. */

import * as z from "zod/mini";
import { errorAnswer, taskError } from "../api/schema/errors.ts";
import { awaitedSubmission, submission, taskAnswer } from "../api/schema/tasks.ts";

export { modelDraft, modelEntry } from "../api/schema/admin.ts";
export { characterList, usageList } from "../api/schema/account.ts";
export { batch, batchList } from "../api/schema/batches.ts";
export { destinationList, destinationTest } from "../api/schema/destinations.ts";
export { file } from "../api/schema/files.ts";
export { taskCallback, webhookTest } from "../api/schema/callbacks.ts";
export { modelList } from "../api/schema/models.ts";
export { dryRun, taskList } from "../api/schema/tasks.ts";
export { taskAnswer };

/** The answer to a submission, also to one that waited, or to a change of a task. */
export const changedTask = z.union([submission, awaitedSubmission, taskAnswer]);
export const anyError = z.union([errorAnswer, taskError]);
