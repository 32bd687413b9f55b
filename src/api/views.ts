/** How a task looks to callers: the submission's record, the three status answers. */

import { pollSeconds } from "../catalog/models.ts";
import type { Parameters } from "../catalog/parse.ts";
import { signedUrl } from "../asset-urls.ts";
import type { Asset } from "../assets.ts";
import { signingSecret } from "../config.ts";
import { toUnits } from "../quota.ts";
import { isFinal, progressAt, remainingSeconds, type Task } from "../tasks/task.ts";
import type { AppContext } from "./frame.ts";
import { type Language, say } from "./messages.ts";

const seconds = (ms: number) => Math.floor(ms / 1000);

/** Makes the URLs of a request's answers: on the gateway's own host unless the operator says otherwise. */
export type Link = (asset: Asset, expiresAt: number) => Promise<string>;

export function linksOf(c: AppContext): Link {
  return (asset, expiresAt) => signedUrl(c.env.ASSET_BASE_URL ?? new URL(c.req.url).origin, signingSecret(c.env), asset, expiresAt);
}

function metadataOf({ submission }: Task): Parameters & { kind: string; reserved: number; source_task?: string } {
  const { kind, parameters, price, source } = submission;
  return {
    kind,
    ...parameters,
    reserved: toUnits(price),
    ...(kind === "remix" && source?.taskId !== undefined && { source_task: source.taskId }),
  };
}

/** 2.1 of the interface: what every submission answers, also when it is answered again. */
export const submissionView = (task: Task) => ({
  id: task.id,
  object: "generation.task",
  model: task.submission.model,
  status: "queued",
  progress: 0,
  created_at: seconds(task.createdAt),
  metadata: metadataOf(task),
});

const errorOf = (task: Task, language: Language) => task.error && { code: task.error, message: say(language, task.error) };

async function resultOf(task: Task, link: Link) {
  const { result } = task;
  if (!result) return undefined;
  const expiresAt = task.expiresAt!;
  const expires_at = seconds(expiresAt);
  switch (result.kind) {
    case "images":
      return { images: await Promise.all(result.images.map(async (image) => ({ url: [await link(image, expiresAt)], expires_at }))) };
    case "video":
      return {
        videos: [
          {
            url: [await link(result.video, expiresAt)],
            ...(result.thumbnail && { thumbnail: await link(result.thumbnail, expiresAt) }),
            duration: Math.round(result.seconds),
            size: `${result.width}x${result.height}`,
            expires_at,
          },
        ],
      };
    case "character":
      return {
        type: "character",
        data: {
          characters: [
            {
              id: result.id,
              display_name: result.displayName,
              profile_picture_url: await link(result.picture, expiresAt),
              username: result.username,
            },
          ],
        },
      };
  }
}

/** `data` of the generic query (2.3 of the interface, section 2 of the contract). */
export async function taskData(task: Task, link: Link, language: Language, now: number) {
  const estimated = remainingSeconds(task, now);
  const error = errorOf(task, language);
  return {
    id: task.id,
    object: "generation.task",
    model: task.submission.model,
    status: task.status,
    progress: progressAt(task, now),
    created_at: seconds(task.createdAt),
    ...(estimated !== undefined && { estimated_time: estimated }),
    metadata: metadataOf(task),
    ...(task.status === "completed" && {
      completed_at: seconds(task.finalAt!),
      expires_at: seconds(task.expiresAt!),
      result: await resultOf(task, link),
    }),
    ...(error && { error }),
  };
}

/** 2.3: the generic query, for tasks of every kind. */
export async function genericView(task: Task, link: Link, language: Language, now: number) {
  const data = await taskData(task, link, language, now);
  return { code: 200, data, ...(data.error && { message: data.error.message }) };
}

/** 2.2: the video query. `queued` is called `submitted` there. */
export async function videoView(task: Task, link: Link, language: Language, now: number) {
  const estimated = remainingSeconds(task, now);
  const { result } = task;
  return {
    id: task.id,
    object: "video.generation",
    status: task.status === "queued" ? "submitted" : task.status,
    progress: progressAt(task, now),
    model: task.submission.model,
    created_at: seconds(task.createdAt),
    ...(estimated !== undefined && { estimated_time: estimated }),
    ...(result?.kind === "video" && {
      completed_at: seconds(task.finalAt!),
      url: await link(result.video, task.expiresAt!),
      ...(result.thumbnail && { thumbnail: await link(result.thumbnail, task.expiresAt!) }),
      duration: Math.round(result.seconds),
      size: `${result.width}x${result.height}`,
      expires_at: seconds(task.expiresAt!),
    }),
    ...(task.error && { error: { message: say(language, task.error) } }),
  };
}

/** 2.4: the character query. */
export async function characterView(task: Task, link: Link, language: Language, now: number) {
  const error = errorOf(task, language);
  return {
    id: task.id,
    object: "generation.task",
    model: task.submission.model,
    status: task.status,
    progress: progressAt(task, now),
    created_at: seconds(task.createdAt),
    ...(task.status === "completed" && { completed_at: seconds(task.finalAt!), result: await resultOf(task, link) }),
    metadata: metadataOf(task),
    ...(error && { error }),
  };
}

/** What a status answer's ETag stands for: everything in it but the seconds that pass. */
export const etagOf = (task: Task, language: Language, now: number) =>
  `W/"${task.status}-${progressAt(task, now)}-${task.finalAt ?? task.createdAt}-${language}"`;

/** Seconds to wait before asking again; undefined when there will be nothing new. */
export const retryAfterOf = (task: Task) => (isFinal(task) ? undefined : pollSeconds[task.submission.kind]);
