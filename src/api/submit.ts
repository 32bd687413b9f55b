/** Submissions of images, videos, characters and remixes: the HTTP request as a value, the steps to its task, the answer. */

import { inputPrefix, removeUnder } from "../assets.ts";
import { ApiError, budgetExceeded } from "../errors.ts";
import { toTaskId } from "../ids.ts";
import { retry } from "../retry.ts";
import type { ClaimAnswer } from "../tasks/claim-object.ts";
import type { Submission, Task } from "../tasks/record.ts";
import { submissionView, toMetadata } from "../tasks/views.ts";
import { withSpan } from "../tracing.ts";
import { readObject, smallBody } from "./body.ts";
import { answerDryRun } from "./dry-run.ts";
import { type AppContext, answer, assetBase } from "./frame.ts";
import { type Claim, findReplay, replayed, toClaim } from "./idempotency.ts";
import { digestBody, storeInputs } from "./inputs.ts";
import { readLargeBody, withoutImages } from "./large-body.ts";
import { isOpenAi } from "./openai.ts";
import { isDryRun } from "./options.ts";
import { type Checked, readFields, type SubmissionRequest, toSubmission } from "./submission.ts";

type Endpoint = SubmissionRequest["endpoint"];

/** Answers the submission of an image, a video or character, or a remix of the task `videoId`. */
export async function submit(c: AppContext, endpoint: "image" | "video"): Promise<Response>;
export async function submit(c: AppContext, endpoint: "remix", videoId: string): Promise<Response>;
export async function submit(c: AppContext, endpoint: Endpoint, videoId?: string): Promise<Response> {
  const work = accept(c, endpoint, videoId);
  // Continues after the caller disconnects: everything stored then belongs to a task or is deleted.
  c.executionCtx.waitUntil(work.catch(() => undefined)); // reported below
  return work;
}

/** Reads the request. The images in its body are stored under the task's inputs, unless it is a dry run. */
async function readRequest(c: AppContext, taskId: string, endpoint: Endpoint, videoId: string | undefined): Promise<SubmissionRequest> {
  const read =
    videoId === undefined ? readLargeBody(c, taskId, { keepsImages: !isDryRun(c) }) : readObject(c, smallBody).then(withoutImages);
  return {
    endpoint,
    videoId,
    read: await read,
    caller: c.get("caller"),
    idempotencyKey: c.req.header("idempotency-key"),
    isDryRun: isDryRun(c),
    isOpenAi: isOpenAi(c.req.raw),
    path: c.req.path,
    host: new URL(c.req.url).hostname,
    base: assetBase(c),
    requestId: c.get("requestId"),
    language: c.get("language"),
  };
}

async function accept(c: AppContext, endpoint: Endpoint, videoId: string | undefined): Promise<Response> {
  const { env } = c;
  const objectId = env.TASKS.newUniqueId();
  const taskId = toTaskId(objectId);
  const removeInputs = () => retry("remove", taskId, () => removeUnder(env.ASSETS, inputPrefix(taskId)));
  const removeAndThrow = (hasInputs: boolean) => async (error: unknown) => {
    if (hasInputs) await removeInputs();
    throw error;
  };

  const request = await readRequest(c, taskId, endpoint, videoId);
  const { read } = request;
  const prepared = await withSpan("validate", { kind: endpoint, task: taskId }, () => prepare(c, request)).catch(
    removeAndThrow(read.hasInputs),
  );
  if ("replay" in prepared) {
    if (read.hasInputs) await removeInputs();
    return request.isDryRun ? preview(c, { ...prepared.replay.submission, price: 0 }, true) : answerTask(c, prepared.replay, true);
  }
  const { submission, references, claim } = prepared;
  if (request.isDryRun) {
    if (read.hasInputs) await removeInputs();
    return preview(c, submission);
  }

  const hasInputs = read.hasInputs || references.some(({ inline }) => inline);
  const complete = async (): Promise<Submission> => {
    const bodyDigest = await digestBody(env.ASSETS, taskId, read);
    return { ...submission, bodyDigest, inputs: await storeInputs(env.ASSETS, taskId, references, read) };
  };
  const completed = await complete().catch(removeAndThrow(hasInputs));
  // If the outcome of creating the task is unknown, the files stay, because the task may exist and need them.
  const made = await retry("create", taskId, async (): Promise<ClaimAnswer> =>
    claim
      ? await env.CLAIMS.getByName(claim.name).submit(taskId, claim.fingerprint, completed)
      : await env.TASKS.get(objectId).create(completed),
  );
  const isNew = "task" in made && made.created;
  if (!isNew && hasInputs) await removeInputs();
  if ("refused" in made) throw refusals[made.refused](made.until);
  if (isNew) {
    c.set("task", made.task.id);
    c.set("isAccepted", true);
  }
  return answerTask(c, made.task, !isNew);
}

/** The steps before anything is stored or reserved. Returns the task that the idempotency key belongs to, or the checked submission. Throws if the submission is refused. */
async function prepare(c: AppContext, request: SubmissionRequest): Promise<{ replay: Task } | (Checked & { claim: Claim | undefined })> {
  const { env } = c;
  const claim = await toClaim(request);
  // The key is looked up first: a repeat is answered even if the submission would be refused now.
  const replay = claim && (await findReplay(env, claim, request.caller.accountId));
  if (replay) return { replay };
  const fields = await readFields(env, request);
  c.set("model", fields.model.id);
  return { ...(await toSubmission(env, c.executionCtx, request, fields)), claim };
}

/** Answers a dry run; the price of a replay is 0. */
const preview = (c: AppContext, submission: Omit<Submission, "inputs">, isReplay = false) =>
  answerDryRun(c, { ...submission, metadata: toMetadata(submission), isReplay });

function answerTask(c: AppContext, task: Task, isReplay: boolean): Response {
  c.header("location", `/v1/tasks/${task.id}`);
  c.header("retry-after", task.submission.kind === "image" ? "2" : "5");
  return isReplay ? replayed(c, submissionView(task)) : answer(c, submissionView(task));
}

const refusals = {
  insufficient: () => new ApiError("insufficient_quota"),
  token: () => new ApiError("token_exhausted"),
  too_many: () => new ApiError("too_many_open_tasks"),
  budget: (until?: number) => budgetExceeded(until),
  unavailable: () => new ApiError("unavailable"),
  conflict: () => new ApiError("idempotency_conflict"),
};
