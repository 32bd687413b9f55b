/** BytePlus ModelArk (Volcengine Ark has the same API): Seedream images in the answer, Seedance videos as tasks. */

import { bearerCall, type Call, toFault, readJson, refusedPoll, outputAt, madeAt, type MadeFiles, makeSeveral } from "../shared/http.ts";
import { allImages } from "../shared/frames.ts";
import { readUnsigned } from "../shared/callbacks.ts";
import { videoBody, unsupportedVideo } from "./videos.ts";
import { imageBody, unsupportedImage } from "./images.ts";
import { toFailure, readRefusal, type WireError } from "./errors.ts";
import { jsonPieces, measurePieces, postPieces } from "../shared/streamed-body.ts";
import {
  ownFailure,
  type Accepted,
  type Failed,
  type Job,
  type Pending,
  type Provider,
  ProviderError,
  type Succeeded,
} from "../provider.ts";

interface WireImages {
  data?: ({ url?: string | null; error?: WireError | null } | null)[] | null;
  error?: WireError | null;
}

interface WireTask {
  id?: string | null;
  status?: string | null;
  content?: { video_url?: string | null; last_frame_url?: string | null } | null;
  error?: WireError | null;
  usage?: { completion_tokens?: number } | null;
}

/** A video's task id, or completed images. */
type Handle = { task: string } | MadeFiles;

const makersBase = "https://ark.ap-southeast.bytepluses.com/api/v3";
const tasks = "/contents/generations/tasks";
const taskPath = (id: string) => `${tasks}/${encodeURIComponent(id)}`;

export function modelark({ key, base = makersBase }: { key: string; base?: string | undefined }): Provider {
  const call = bearerCall(base, key);

  return {
    name: "modelark",
    // It accepts no idempotency key, and its list of tasks does not contain their prompts.
    repeatable: false,
    answersWhenDone: ({ kind }) => kind === "image",
    // An image task has 120 seconds; the remaining time is for storing its files. A video's task is created at once, but its input images
    // have to be uploaded.
    startTimeoutMs: (kind) => (kind === "image" ? 80_000 : 60_000),
    reportsProgress: false,

    labelSwitch: () => "switch",
    unsupportedField: (request) =>
      request.kind === "image" ? unsupportedImage(request) : request.kind === "video" ? unsupportedVideo(request) : "model",
    start: (job, signal) => (job.kind === "image" ? makeImages(job, call, signal) : startVideo(job, call, signal)),

    async poll(operation) {
      const handle = JSON.parse(operation) as Handle;
      if ("urls" in handle) return madeAt(handle);
      const response = await call(taskPath(handle.task));
      return response.ok ? parseVerdict(await readJson<WireTask>(response)) : refusedPoll(response);
    },

    readCallback: readUnsigned,

    async cancel(operation) {
      const handle = JSON.parse(operation) as Handle;
      // Polled first: the same call deletes work that has ended, and then nothing says that it is billed.
      if ("urls" in handle || (await this.poll(operation)).status !== "pending") return false;
      const response = await call(taskPath(handle.task), { method: "DELETE" });
      await response.body?.cancel();
      // 409: the task is already running and cannot be cancelled (InvalidAction.RunningTaskDeletion).
      if (!response.ok && ![400, 404, 409].includes(response.status)) throw toFault(response, "cancel");
      return response.ok;
    },
  };
}

async function makeImages(job: Job, call: Call, signal: AbortSignal): Promise<Succeeded | Failed> {
  const pieces = jsonPieces(job.images, (urls) => imageBody(job, urls));
  const length = await measurePieces(pieces);
  const urls = await makeSeveral(job.n, async (): Promise<string | Failed> => {
    const response = await postPieces((init) => call("/images/generations", init), pieces, { length, signal });
    if (!response.ok) return readRefusal(response, "start", job.images.length > 0);
    const body = await readJson<WireImages>(response);
    // The image may be generated and billed although the answer cannot be parsed: do not submit again.
    const data = body?.data ?? [];
    if (!body || !Array.isArray(data)) throw new ProviderError("unclear", "start: the answer has no list data");
    const url = data.find((image) => image?.url)?.url;
    return url ?? toFailure(data.find((image) => image?.error)?.error ?? body.error) ?? ownFailure;
  });
  return Array.isArray(urls) ? madeAt({ urls }) : urls;
}

async function startVideo(job: Job, call: Call, signal: AbortSignal): Promise<Accepted | Failed> {
  const pieces = jsonPieces(allImages(job), (urls) => ({
    ...videoBody(job, urls),
    callback_url: job.callbackUrl,
  }));
  const response = await postPieces((init) => call(tasks, init), pieces, { length: await measurePieces(pieces), signal });
  if (!response.ok) return readRefusal(response, "start", job.images.length > 0);
  const task = (await readJson<WireTask>(response))?.id;
  if (!task) throw new ProviderError("unclear", "start: the answer has no task id");
  return { status: "accepted", operation: JSON.stringify({ task } satisfies Handle) };
}

/** Treats unknown statuses as pending. */
function parseVerdict(task: WireTask | undefined): Pending | Succeeded | Failed {
  if (!task) throw new ProviderError("unreachable", "poll: the answer is not JSON");
  switch (task.status) {
    case "succeeded": {
      const { video_url: url, last_frame_url: lastFrame } = task.content ?? {};
      if (!url) return ownFailure;
      const usage = { outputTokens: task.usage?.completion_tokens };
      return { status: "succeeded", outputs: [{ ...outputAt(url), ...(lastFrame && { thumbnail: outputAt(lastFrame) }) }], usage };
    }
    case "failed":
      return toFailure(task.error) ?? ownFailure;
    case "cancelled":
    case "expired":
      return ownFailure;
    default:
      return { status: "pending" };
  }
}
