/** BytePlus ModelArk (Volcengine Ark speaks the same): Seedream pictures at once, Seedance films as tasks. */

import { ask, toFault, readJson, laterFault, outputAt, several } from "../shared/http.ts";
import { filmBody, unableFilm } from "./videos.ts";
import { pictureBody, unablePicture } from "./images.ts";
import { toFailure, refusal, type WireError } from "./errors.ts";
import { postWithPictures } from "../shared/measured-body.ts";
import { type Accepted, type Failed, type Job, type Pending, type Provider, ProviderError, type Succeeded } from "../provider.ts";

interface WirePictures {
  data?: ({ url?: string | null; error?: WireError | null } | null)[] | null;
  error?: WireError | null;
}

interface WireTask {
  id?: string | null;
  status?: string | null;
  content?: { video_url?: string | null; last_frame_url?: string | null } | null;
  error?: WireError | null;
}

/** A film's task, or the pictures that came at once. */
type Handle = { task: string } | { urls: string[] };

const makersBase = "https://ark.ap-southeast.bytepluses.com/api/v3";
const tasks = "/contents/generations/tasks";
const ownFailure: Failed = { status: "failed", code: "provider_error" };

export function modelark({ key, base = makersBase }: { key: string; base?: string | undefined }): Provider {
  const call = (path: string, init: RequestInit = {}) =>
    ask(globalThis, base + path, {
      ...init,
      headers: { ...(init.headers as Record<string, string> | undefined), authorization: `Bearer ${key}` },
      // The key follows no redirect.
      redirect: "manual",
    });

  return {
    name: "modelark",
    // It knows no idempotency key, and its list of tasks does not tell their prompts.
    repeatable: false,
    // Of the 120 seconds of a picture task the rest is for storing; a film's task is made at once, but its pictures have to get there.
    startTimeoutMs: (kind) => (kind === "image" ? 80_000 : 60_000),
    reportsProgress: false,

    unsupportedField: (request) =>
      request.kind === "image" ? unablePicture(request) : request.kind === "video" ? unableFilm(request) : "model",
    start: (job, signal) => (job.kind === "image" ? makePictures(job, call, signal) : startFilm(job, call, signal)),

    async poll(operation): Promise<Pending | Succeeded | Failed> {
      const handle = JSON.parse(operation) as Handle;
      if ("urls" in handle) return made(handle.urls);
      const response = await call(`${tasks}/${handle.task}`);
      if (response.ok) return parseVerdict(await readJson<WireTask>(response));
      await response.body?.cancel();
      if (response.status === 400 || response.status === 404) return ownFailure;
      // The task is there, whatever is wrong with us now.
      throw laterFault(toFault(response, "poll"), true);
    },

    async cancel(operation) {
      const handle = JSON.parse(operation) as Handle;
      if ("urls" in handle) return;
      const response = await call(`${tasks}/${handle.task}`, { method: "DELETE" });
      await response.body?.cancel();
      // 409 is a task that runs (InvalidAction.RunningTaskDeletion): it cannot be stopped any more.
      if (!response.ok && ![400, 404, 409].includes(response.status)) throw toFault(response, "cancel");
    },
  };
}

type Call = (path: string, init?: RequestInit) => Promise<Response>;

async function makePictures(job: Job, call: Call, signal: AbortSignal): Promise<Succeeded | Failed> {
  const post = await postWithPictures(job.images, (urls) => pictureBody(job, urls));
  const urls = await several(job.n, async (): Promise<string | Failed> => {
    const response = await post((init) => call("/images/generations", { ...init, signal }));
    if (!response.ok) return refusal(response, "start", job.images.length > 0);
    const body = await readJson<WirePictures>(response);
    // Made, perhaps, and not to be had: nobody may make it again.
    if (!body) throw new ProviderError("start: not JSON", { retryable: false });
    const url = body.data?.find((picture) => picture?.url)?.url;
    return url ?? toFailure(body.data?.find((picture) => picture?.error)?.error ?? body.error) ?? ownFailure;
  });
  return Array.isArray(urls) ? made(urls) : urls;
}

const made = (urls: string[]): Succeeded => ({
  status: "succeeded",
  outputs: urls.map((url) => outputAt(url)),
  operation: JSON.stringify({ urls } satisfies Handle),
});

async function startFilm(job: Job, call: Call, signal: AbortSignal): Promise<Accepted | Failed> {
  const post = await postWithPictures([...job.images, ...job.characters.map(({ picture }) => picture)], (urls) => filmBody(job, urls));
  const response = await post((init) => call(tasks, { ...init, signal }));
  if (!response.ok) return refusal(response, "start", job.images.length > 0);
  const task = (await readJson<WireTask>(response))?.id;
  if (!task) throw new ProviderError("start: no task", { retryable: false });
  return { status: "accepted", operation: JSON.stringify({ task } satisfies Handle), pollAfterMs: 5_000 };
}

/** Words that are not known yet are no end. */
function parseVerdict(task: WireTask | undefined): Pending | Succeeded | Failed {
  switch (task?.status) {
    case "succeeded": {
      const { video_url: url, last_frame_url: lastFrame } = task.content ?? {};
      if (!url) return ownFailure;
      return { status: "succeeded", outputs: [{ ...outputAt(url), ...(lastFrame && { thumbnail: outputAt(lastFrame) }) }] };
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
