/** A task's wire format: the submission's answer, and the bodies of the answers to the three status queries. */

import { signedUrl } from "../../signing/asset-urls.ts";
import type { Asset } from "../../storage/assets.ts";
import { toUnits } from "../../db/ledger.ts";
import { known } from "../../base/known.ts";
import { listFiles } from "../files.ts";
import type { CompletedTask, Result, Submission, Task } from "../record.ts";
import { progressAt, remainingSeconds } from "../transitions/task.ts";
import { type Language, t } from "../../messages/index.ts";
import { toSeconds } from "../../base/times.ts";

/** The URL of one of the task's assets. */
type Link = (asset: Asset) => string;

export const listAssets = (result: Result): Asset[] => listFiles(result).map(({ asset }) => asset);

/** Signs the URLs of all assets of the task in advance, so that the views are synchronous. */
export async function signLinks({ result, expiresAt }: Task, base: string, secret: () => string): Promise<Link> {
  const urls = new Map<string, string>();
  if (result) for (const asset of listAssets(result)) urls.set(asset.key, await signedUrl(base, secret(), asset, expiresAt));
  return ({ key }) => known(urls, key);
}

type Described = Pick<Submission, "kind" | "parameters" | "price" | "source" | "reference">;

/** The resolved parameters of a submission, for its answers. */
export const toMetadata = ({ kind, parameters, price, source, reference }: Described) => ({
  kind,
  ...parameters,
  reserved: toUnits(price),
  ...(reference !== undefined && { reference }),
  ...(kind === "remix" && source?.taskId !== undefined && { source_task: source.taskId }),
});

/** The answer to a submission, also when it is replayed (interface, 2.1). */
export const submissionView = (task: Task) => ({
  id: task.id,
  object: "generation.task",
  model: task.submission.model,
  status: "queued",
  progress: 0,
  created_at: toSeconds(task.createdAt),
  metadata: toMetadata(task.submission),
});

const toError = (task: Task, language: Language) => task.error && { code: task.error, message: t(language, task.error) };

function toResult({ result, expiresAt }: CompletedTask, link: Link) {
  const expires_at = toSeconds(expiresAt);
  const more = {
    ...("files" in result &&
      result.files && {
        files: result.files.map((file) => ({
          url: [link(file)],
          type: file.type,
          bytes: file.bytes,
          credentials: file.credentials,
          expires_at,
        })),
      }),
    ...("data" in result && { data: result.data }),
  };
  switch (result.kind) {
    case "images":
      return { images: result.images.map((image) => ({ url: [link(image)], credentials: image.credentials, expires_at })), ...more };
    case "files":
      return more;
    case "video":
      return {
        videos: [
          {
            url: [link(result.video)],
            credentials: result.video.credentials,
            ...(result.thumbnail && { thumbnail: link(result.thumbnail) }),
            duration: Math.round(result.seconds),
            size: `${result.width}x${result.height}`,
            expires_at,
          },
        ],
        ...more,
      };
    case "character":
      return {
        type: "character",
        data: {
          characters: [
            {
              id: result.id,
              display_name: result.displayName,
              profile_picture_url: link(result.picture),
              username: result.username,
            },
          ],
        },
      };
  }
}

/** The first fields of the generic and the character query. */
const commonFields = (task: Task, now: number) => ({
  id: task.id,
  object: "generation.task",
  model: task.submission.model,
  status: task.status,
  progress: progressAt(task, now),
  created_at: toSeconds(task.createdAt),
});

/** The task's cost in balance units; charged and returned are set once it is final. */
const toCost = ({ submission: { price }, charged }: Task) => ({
  reserved: toUnits(price),
  ...(charged !== undefined && { charged: toUnits(charged), returned: toUnits(price - charged) }),
});

/** The delivery of a task that was submitted with `deliver_to`; nothing is delivered of a failed one. */
function toDelivery({ delivery, submission, status }: Task) {
  if (!submission.deliverTo || status === "failed") return undefined;
  const { state = "pending", files = [], attempts = [], step } = delivery ?? {};
  return {
    status: state,
    files: files.map(({ name, url, sha256 }) => ({ name, url, sha256 })),
    attempts: attempts.map(({ at, ...attempt }) => ({ at: toSeconds(at), ...attempt })),
    ...(step?.do === "wait" && { next_attempt_at: toSeconds(step.at) }),
  };
}

/** `data` of the generic query (2.3 of the interface, section 2 of the contract). Fields that are undefined are not in the JSON. */
export function taskData(task: Task, link: Link, language: Language, now: number) {
  const done = task.status === "completed" ? task : undefined;
  return {
    ...commonFields(task, now),
    estimated_time: remainingSeconds(task, now),
    metadata: toMetadata(task.submission),
    reference: task.submission.reference,
    cost: toCost(task),
    completed_at: done && toSeconds(done.finalAt),
    expires_at: done && toSeconds(done.expiresAt),
    result: done && toResult(done, link),
    delivery: toDelivery(task),
    error: toError(task, language),
  };
}

/** `data` of the generic query. */
export type TaskData = ReturnType<typeof taskData>;

/** The answer to a submission with `?wait=`: the fields of `submissionView` in their present state, and once the task is final its end as in `data`. */
export const awaitedSubmissionView = ({ estimated_time: _estimate, reference: _reference, cost, ...fields }: TaskData) => ({
  ...fields,
  ...(cost.charged !== undefined && { cost }),
});

/** 2.3: the generic query, for tasks of every kind. */
export function genericView(task: Task, link: Link, language: Language, now: number) {
  const data = taskData(task, link, language, now);
  return { code: 200, data, message: data.error?.message };
}

function videoFields({ result, finalAt, expiresAt }: CompletedTask, link: Link) {
  if (result.kind !== "video") return undefined;
  return {
    completed_at: toSeconds(finalAt),
    url: link(result.video),
    ...(result.thumbnail && { thumbnail: link(result.thumbnail) }),
    duration: Math.round(result.seconds),
    size: `${result.width}x${result.height}`,
    expires_at: toSeconds(expiresAt),
  };
}

/** 2.2: the video query. `queued` is called `submitted` there. */
export function videoView(task: Task, link: Link, language: Language, now: number) {
  return {
    id: task.id,
    object: "video.generation",
    status: task.status === "queued" ? "submitted" : task.status,
    progress: progressAt(task, now),
    model: task.submission.model,
    created_at: toSeconds(task.createdAt),
    estimated_time: remainingSeconds(task, now),
    ...(task.status === "completed" && videoFields(task, link)),
    error: task.error && { message: t(language, task.error) },
  };
}

/** 2.4: the character query. */
export function characterView(task: Task, link: Link, language: Language, now: number) {
  return {
    ...commonFields(task, now),
    ...(task.status === "completed" && { completed_at: toSeconds(task.finalAt), result: toResult(task, link) }),
    metadata: toMetadata(task.submission),
    error: toError(task, language),
  };
}
