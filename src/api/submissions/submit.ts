/** `/v1/images/generations`, `/v1/videos/generations`, `/v1/videos/{id}/remix`, `/v1/tasks`: the HTTP request as a value, the steps to its task, the answer. */

import { announceEnd } from "../request/model-end.ts";
import { type AppContext, assetBase, type Handle, hostName } from "../request/context.ts";
import { inputPrefix, removeUnder } from "../../storage/assets.ts";
import { ApiError, budgetExceeded } from "../../base/errors.ts";
import { toTaskId } from "../../base/ids.ts";
import { retry } from "../../base/retry.ts";
import type { ClaimAnswer } from "../../tasks/object/claim-object.ts";
import type { Submission, Task } from "../../tasks/record.ts";
import { toMetadata } from "../../tasks/answers/views.ts";
import { withSpan } from "../../tracing.ts";
import { readObject, smallBody } from "../request/body.ts";
import { admitToSubmit, countAwaitedSubmission } from "../request/auth.ts";
import { countRefusal, requireTasksLeft } from "../request/client-tokens.ts";
import { isOthers } from "../../db/callers.ts";
import { ignoredFields } from "../../catalog/parse.ts";
import { type Claim, findReplay, toClaim } from "./idempotency.ts";
import { completeSubmission, hasInputs } from "./inputs.ts";
import { type LargeBody, readLargeBody, withoutImages } from "../request/large-body.ts";
import { isOpenAi } from "../request/origin.ts";
import { type OpenWait, openWait } from "../request/open-wait.ts";
import { answerDryRun, isDryRun } from "../request/options.ts";
import { readQuery } from "../request/query.ts";
import { requireVariables } from "../request/variable-checks.ts";
import { submissionQuery } from "../schema/queries.ts";
import { type Accepted, answerAccepted } from "./answer.ts";
import { type Checked, type Fields, readFields, type SubmissionRequest, toSubmission } from "./submission.ts";

type Endpoint = SubmissionRequest["endpoint"];

/** Submits to an endpoint: `video` is a video or a character, `task` a model of any kind but text with the body of its own path. */
export const submitTo =
  (endpoint: Endpoint): Handle =>
  async (c, id) => {
    await admitToSubmit(c, "client tokens");
    requireTasksLeft(c);
    requireVariables(c.env, "task");
    const { wait, dry_run: dryRun } = readQuery(c, submissionQuery);
    if (wait !== undefined && dryRun !== "true") await countAwaitedSubmission(c);
    return submit(c, endpoint, endpoint === "remix" ? id : undefined, wait ?? 0);
  };

/** Answers the submission of an image, a video or character, a task of any kind, or a remix of the task `videoId`, within `seconds`. */
async function submit(c: AppContext, endpoint: Endpoint, videoId: string | undefined, seconds: number): Promise<Response> {
  const work = accept(c, endpoint, videoId, seconds > 0)
    .catch(async (error: unknown) => {
      if (error instanceof ApiError) await countRefusal(c, error.status);
      throw error;
    })
    // Outside `accept`, so that its request can be released from memory while the answer waits.
    .then((accepted) => (accepted instanceof Response ? accepted : answerAccepted(c, accepted, seconds)));
  // Continues after the caller disconnects: everything stored then belongs to a task or is deleted.
  c.executionCtx.waitUntil(work.catch(() => undefined)); // reported below
  return work;
}

/** Reads the request. The images in its body are stored under the task's inputs, unless it is a dry run. */
async function readRequest(c: AppContext, taskId: string, endpoint: Endpoint, videoId: string | undefined): Promise<SubmissionRequest> {
  const read =
    videoId === undefined ? readLargeBody(c, taskId, { keepsImages: !isDryRun(c) }) : readObject(c, smallBody).then(withoutImages);
  return toRequest(c, endpoint, videoId, await read);
}

const toRequest = (c: AppContext, endpoint: Endpoint, videoId: string | undefined, read: LargeBody): SubmissionRequest => ({
  endpoint,
  videoId,
  read,
  caller: c.get("caller"),
  idempotencyKey: c.req.header("idempotency-key"),
  isDryRun: isDryRun(c),
  isOpenAi: isOpenAi(c.req.raw),
  path: c.req.path,
  host: hostName(c),
  base: assetBase(c),
  requestId: c.get("requestId"),
  language: c.get("language"),
});

/** Answers what `submit` would answer to this body with `?dry_run=true` and no idempotency key. No image of the body is stored. */
export async function previewSubmission(c: AppContext, endpoint: Endpoint, read: LargeBody, videoId?: string): Promise<Response> {
  const request = toRequest(c, endpoint, videoId, read);
  const fields = await checkFields(c, request);
  return preview(c, (await toSubmission(c.env, c.executionCtx, request, fields)).submission);
}

/** Accepts the submission, or answers a dry run. `waits`: the answer will wait for the task. */
async function accept(c: AppContext, endpoint: Endpoint, videoId: string | undefined, waits: boolean): Promise<Response | Accepted> {
  const { env } = c;
  const objectId = env.TASKS.newUniqueId();
  const taskId = toTaskId(objectId);
  const removeInputs = () => retry("remove", taskId, () => removeUnder(env.ASSETS, inputPrefix(taskId)));
  const removeAndThrow = (wasStored: boolean) => async (error: unknown) => {
    if (wasStored) await removeInputs();
    throw error;
  };

  const request = await readRequest(c, taskId, endpoint, videoId);
  const { read } = request;
  const prepared = await withSpan("validate", { kind: endpoint === "task" ? "file" : endpoint, task: taskId }, () =>
    prepare(c, request),
  ).catch(removeAndThrow(read.hasInputs));
  if ("replay" in prepared) {
    if (read.hasInputs) await removeInputs();
    return request.isDryRun
      ? preview(c, { ...prepared.replay.submission, price: 0 }, true)
      : { task: prepared.replay, isReplay: true, wait: undefined };
  }
  const { claim, ...checked } = prepared;
  if (request.isDryRun) {
    if (read.hasInputs) await removeInputs();
    return preview(c, checked.submission);
  }

  const isStored = hasInputs(checked, read);
  let wait: OpenWait | undefined;
  try {
    // Opened first: a submission that is refused because of too many waits leaves no task.
    if (waits) wait = await openWait(c).catch(removeAndThrow(isStored));
    const completed = await completeSubmission(env, taskId, checked, read).catch(removeAndThrow(isStored));
    const made = await retry("create", taskId, async (): Promise<ClaimAnswer> =>
      claim
        ? await env.CLAIMS.getByName(claim.name).submit(taskId, claim.fingerprint, completed)
        : await env.TASKS.get(objectId).create(completed),
    ).catch(async (error: unknown) => {
      // The outcome is unknown: the task may exist and need the files. If that is unknown too, the bucket's rule deletes them in a day.
      const mayExist = retry("exists", taskId, async () =>
        claim ? env.CLAIMS.getByName(claim.name).exists(claim.fingerprint) : env.TASKS.get(objectId).exists(),
      ).catch(() => true);
      return removeAndThrow(isStored && !(await mayExist))(error);
    });
    const isNew = "task" in made && made.created;
    if (!isNew && isStored) await removeInputs();
    if ("refused" in made) throw made.refused === "budget" ? budgetExceeded(made.until) : new ApiError(refusals[made.refused]);
    if (isNew) {
      c.set("task", made.task.id);
      c.set("isAccepted", true);
    }
    // Another member's request with the same key was faster.
    if (isOthers(request.caller, made.task.submission.keyId)) throw new ApiError("idempotency_conflict");
    return { task: made.task, isReplay: !isNew, wait };
  } catch (error) {
    wait?.end();
    throw error;
  }
}

/** The steps before anything is stored or reserved. Returns the task that the idempotency key belongs to, or the checked submission. Throws if the submission is refused. */
async function prepare(c: AppContext, request: SubmissionRequest): Promise<{ replay: Task } | (Checked & { claim: Claim | undefined })> {
  const { env } = c;
  const claim = await toClaim(request);
  // The key is looked up first: a repeat is answered even if the submission would be refused now.
  const replay = claim && (await findReplay(env, claim, request.caller));
  if (replay) {
    await checkFields(c, request).catch(() => undefined); // for the headers of the first answer alone
    return { replay };
  }
  const fields = await checkFields(c, request);
  return { ...(await toSubmission(env, c.executionCtx, request, fields)), claim };
}

/** The most names in an answer's header: clients refuse an answer with long headers, and its task would be lost for them. */
const maxDropped = 20;

async function checkFields(c: AppContext, request: SubmissionRequest): Promise<Fields> {
  const fields = await readFields(c.env, request);
  c.set("model", fields.model.id);
  announceEnd(c, fields.model);
  // An own input has none.
  if (!fields.model.own) c.set("dropped", ignoredFields(request.read.body, fields.output).slice(0, maxDropped).join(", "));
  return fields;
}

/** Answers a dry run; the price of a replay is 0. */
const preview = (c: AppContext, submission: Omit<Submission, "inputs" | "bodyDigest">, isReplay = false) =>
  answerDryRun(c, { ...submission, metadata: toMetadata(submission), isReplay });

const refusals = {
  insufficient: "insufficient_quota",
  token: "token_exhausted",
  too_many: "too_many_open_tasks",
  unavailable: "unavailable",
  conflict: "idempotency_conflict",
} as const;
