/** A line of a batch as a submission: checked without being made, and made as the task whose id the batch has chosen. */

import { ApiError, invalid } from "../../base/errors.ts";
import { toObjectId } from "../../base/ids.ts";
import type { Caller } from "../../db/callers.ts";
import { toUnits } from "../../db/ledger.ts";
import { inputPrefix, removeUnder } from "../../storage/assets.ts";
import type { CreateAnswer } from "../../tasks/object/creating.ts";
import type { BatchLine } from "../../tasks/batch-line.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { type ChatFiles, findChatFiles } from "../chat/files.ts";
import { type ChatOrder, checkChat } from "../chat/order.ts";
import { errorBody } from "../request/error-body.ts";
import { withoutImages } from "../request/large-body.ts";
import type { Lookups } from "../submissions/lookups.ts";
import { completeSubmission, hasInputs } from "../submissions/inputs.ts";
import { type Checked, readFields, type SubmissionRequest, toSubmission } from "../submissions/submission.ts";
import type { Line } from "./lines.ts";
import type { BatchTerms } from "./state.ts";

/** No caller waits for a line, and many tasks of a batch are open at once: a minute in which the gateway or a maker does not answer fails none of them. */
const minDeadlineSeconds = 600;

type Background = Pick<ExecutionContext, "waitUntil">;

/** What is needed to make a line's task. */
interface CheckedTask extends Checked {
  request: SubmissionRequest;
}

/** A line that was checked, its price in millionths and its usual seconds. */
export type CheckedLine = { price: number; typicalSeconds: number } & ({ task: CheckedTask } | { chat: CheckedChat });

/** A chat with the stored images that it names. */
export type CheckedChat = ChatOrder & { files: ChatFiles };

/** Checks the body of a chat. It is answered whole. Throws `ApiError`. */
async function checkChatLine(env: Env, caller: Caller, body: Record<string, unknown>): Promise<CheckedChat> {
  const order = checkChat(env, caller, body, await liveCatalog(env.DB));
  if (order.isStream) throw invalid("stream", "not_equal", { allowed: "false" });
  const files = await findChatFiles(env, caller, body);
  return { ...order, files };
}

/** Checks a line as its own endpoint would. Throws `ApiError`. */
export async function checkLine(
  env: Env,
  background: Background,
  terms: BatchTerms,
  caller: Caller,
  line: Line,
  lookups?: Lookups,
): Promise<CheckedLine> {
  const { endpoint } = line;
  if (endpoint === "chat") {
    const chat = await checkChatLine(env, caller, line.body);
    return { price: chat.held, typicalSeconds: chat.typicalSeconds, chat };
  }
  const read = withoutImages(line.body);
  const request: SubmissionRequest = {
    endpoint,
    videoId: line.videoId,
    read: { ...read, body: { ...(terms.deliverTo && { deliver_to: terms.deliverTo }), ...read.body } },
    caller,
    idempotencyKey: undefined,
    isDryRun: false,
    isOpenAi: terms.openAi !== undefined,
    path: line.path,
    host: terms.host,
    base: terms.base,
    requestId: terms.requestId,
    language: terms.language,
    lookups,
  };
  const task = { ...(await toSubmission(env, background, request, await readFields(env, request))), request };
  const { price, typicalSeconds } = task.submission;
  return { price, typicalSeconds, task };
}

/**
 * Makes the line's task. It may be repeated with the same id: the task is made once. Throws 400 if a file of the line is gone, and faults of our
 * own storage.
 */
export async function makeTask(env: Env, taskId: string, checked: CheckedTask, batch: BatchLine): Promise<CreateAnswer> {
  const { read } = checked.request;
  const isStored = hasInputs(checked, read);
  const stub = env.TASKS.get(toObjectId(env.TASKS, taskId)!);
  try {
    const completed = await completeSubmission(env, taskId, checked, read);
    const made = await stub.create({ ...completed, deadlineSeconds: Math.max(completed.deadlineSeconds, minDeadlineSeconds), batch });
    if ("refused" in made && isStored) await removeUnder(env.ASSETS, inputPrefix(taskId));
    return made;
  } catch (error) {
    // An earlier attempt may have made the task, which then needs its inputs.
    if (isStored && error instanceof ApiError && !(await stub.exists())) await removeUnder(env.ASSETS, inputPrefix(taskId));
    throw error;
  }
}

/** The line of the results for a line without a task. */
export const toResult = (customId: string | null, more: object): string =>
  JSON.stringify({
    custom_id: customId,
    status: "failed",
    ...more,
    cost: { reserved: toUnits(0), charged: toUnits(0), returned: toUnits(0) },
  });

/** A refusal as the `error` of a result. */
export function toLineError(error: unknown, { language }: BatchTerms): { code: string; message: string; param: string | null } {
  const { code, message, param } = errorBody(error instanceof ApiError ? error : new ApiError("internal_error"), language);
  return { code, message, param };
}
