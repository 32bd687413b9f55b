/** From a submission to its files: submits once, retries, waits, downloads. */

import { type Client, createClient } from "./generated/client/index.js";
import { createImage, createVideo, getTask, remixVideo } from "./generated/sdk.gen.js";
import type { ImageRequest, RemixRequest, Task, VideoRequest } from "./generated/types.gen.js";

/** A client of the gateway at `baseUrl` with an API key, for every function of this package. */
export const connect = ({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }): Client => createClient({ baseUrl, auth: () => apiKey });

/** The gateway answered with an error. `body` is its answer: `error.code`, `error.message`, `error.details` with each violated field. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  constructor(
    readonly status: number,
    readonly body: unknown,
  ) {
    const { error, message } = (body ?? {}) as { error?: { code: string; message: string }; message?: string };
    super(error ? `${error.code}: ${error.message}` : (message ?? `HTTP ${status}`));
  }
}

/** The task failed; it cost nothing. */
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";
  constructor(readonly task: Task) {
    super(`${task.error?.code}: ${task.error?.message}`);
  }
}

/** The request: the body of `POST /v1/images/generations`, `/v1/videos/generations` or `/v1/videos/{id}/remix`. */
export type Submission = { image: ImageRequest } | { video: VideoRequest } | { remix: RemixRequest; of: string };

export interface SubmitOptions {
  /**
   * For 24 hours the same key and body are one task and one charge, so that a restarted program continues with the same task. Random by
   * default.
   */
  idempotencyKey?: string;
  /** Called with the task whenever its progress has changed. */
  onProgress?: (task: Task) => void;
  /** Stops waiting; the task continues. */
  signal?: AbortSignal;
}

/** Submits and waits until the task is completed. Throws `GatewayError` if it is refused and `TaskFailed` if it fails. */
export async function submitAndWait(client: Client, what: Submission, options: SubmitOptions = {}): Promise<Task> {
  const common = { client, signal: options.signal ?? null, headers: { "Idempotency-Key": options.idempotencyKey ?? crypto.randomUUID() } };
  const submitted = await persist(options.signal, async () => {
    if ("image" in what) return createImage({ ...common, body: what.image });
    if ("video" in what) return createVideo({ ...common, body: what.video });
    return remixVideo({ ...common, body: what.remix, path: { video_id: what.of } });
  });
  if (!("id" in submitted)) throw new TypeError("A dry run makes no task to wait for.");
  return waitForTask(client, submitted.id, options);
}

/** Waits until a task is completed. Throws `TaskFailed` if it fails. */
export async function waitForTask(client: Client, taskId: string, { onProgress, signal }: SubmitOptions = {}): Promise<Task> {
  for (let last = -1; ;) {
    const query = { wait: onProgress ? 3 : 30 };
    const { data: task } = await persist(signal, () => getTask({ client, path: { task_id: taskId }, query, signal: signal ?? null }));
    if (task.progress > last) onProgress?.(task);
    last = task.progress;
    if (task.status === "completed") return task;
    if (task.status === "failed") throw new TaskFailed(task);
  }
}

interface Answered<T> {
  data?: T | undefined;
  error?: unknown;
  response?: Response;
}

/** Retries with growing delays if the gateway cannot be reached or is busy. A submission is safe to repeat because of its key. */
async function persist<T>(signal: AbortSignal | undefined, ask: () => Promise<Answered<T>>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    const { data, error, response } = await ask();
    if (data !== undefined && response?.ok) return data;
    signal?.throwIfAborted();
    const isPassing = response === undefined || response.status === 429 || response.status >= 500;
    if (!isPassing || attempt === 5) throw response ? new GatewayError(response.status, error) : error;
    const seconds = Number(response?.headers.get("retry-after")) || 2 ** attempt / 2;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

export interface GatewayFile {
  url: string;
  type: string;
  bytes: Uint8Array;
}

/** The files of a completed task: images, a video with its thumbnail, or a character's image. Links are valid for 24 hours. */
export async function download({ result }: Task): Promise<GatewayFile[]> {
  if (!result) throw new TypeError("The task has no files: it is not completed.");
  const urls =
    "images" in result
      ? result.images.flatMap(({ url }) => url)
      : "videos" in result
        ? result.videos.flatMap(({ url, thumbnail }) => [...url, ...(thumbnail === undefined ? [] : [thumbnail])])
        : result.data.characters.map((character) => character.profile_picture_url);
  return Promise.all(
    urls.map(async (url) => {
      const response = await fetch(url);
      if (!response.ok) throw new GatewayError(response.status, await response.json());
      const type = response.headers.get("content-type") ?? "application/octet-stream";
      return { url, type, bytes: new Uint8Array(await response.arrayBuffer()) };
    }),
  );
}
