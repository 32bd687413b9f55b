/** xAI: chats in OpenAI's format, Grok Imagine's images in the answer and its videos by polling. It bills requests whose content it refuses. */

import type { MakerUsage } from "../../base/maker-usage.ts";
import { chatAt } from "../shared/chat-at.ts";
import { bearerCall, type Call, laterFault, madeAt, type MadeFiles, makeSeveral, outputAt, readJson, refusedPoll } from "../shared/http.ts";
import { allImages } from "../shared/frames.ts";
import { jsonPieces, measurePieces, postPieces } from "../shared/streamed-body.ts";
import {
  ownFailure,
  blocked,
  type Accepted,
  type Failed,
  type Job,
  type Pending,
  type Provider,
  ProviderError,
  type Succeeded,
} from "../provider.ts";
import { isModerated, readChatFault, readRefusal } from "./errors.ts";
import { imageBody, imagePath, unsupportedImage } from "./images.ts";
import { addUsage, toUsage, type WireUsage } from "./usage.ts";
import { unsupportedVideo, videoBody } from "./videos.ts";

/** `respect_moderation` is false if the work was refused after it was made; then it has no URL. */
interface WireFile {
  url?: string | null;
  respect_moderation?: boolean | null;
}

interface WireImages {
  data?: (WireFile | null)[] | null;
  usage?: WireUsage | null;
}

interface WireVideo {
  request_id?: string | null;
  status?: string | null;
  video?: WireFile | null;
  usage?: WireUsage | null;
  error?: { code?: string | null; message?: string | null } | null;
}

/** A video's request id, or completed images. */
type Handle = { request: string } | MadeFiles;

const makersBase = "https://api.x.ai/v1";

export function xai({ key, base = makersBase }: { key: string; base?: string | undefined }): Provider {
  const call = bearerCall(base, key);

  return {
    name: "xai",
    // It accepts no idempotency key and has no list of requests.
    repeatable: false,
    answersWhenDone: ({ kind }) => kind === "image",
    // An image task has 120 seconds; the remaining time is for storing its files. A video's request is answered at once, but its input images
    // have to be uploaded.
    startTimeoutMs: (kind) => (kind === "image" ? 80_000 : 60_000),
    reportsProgress: false,

    unsupportedField: (request) =>
      request.kind === "image" ? unsupportedImage(request) : request.kind === "video" ? unsupportedVideo(request) : "model",
    start: (job, signal) => (job.kind === "image" ? makeImages(job, call, signal) : startVideo(job, call, signal)),

    async poll(operation) {
      const handle = JSON.parse(operation) as Handle;
      if ("urls" in handle) return madeAt(handle);
      const response = await call(`/videos/${encodeURIComponent(handle.request)}`);
      if (response.ok) return parseVideo(await readJson<WireVideo>(response), response.status === 202);
      // Also a video that was refused after it was made is answered with 400.
      if (response.status === 400 || response.status === 403 || response.status === 422) return readLate(response);
      return refusedPoll(response);
    },

    chat: chatAt(base, { authorization: `Bearer ${key}` }, { readFault: readChatFault }),
  };
}

/** The maker makes several images of a prompt in one call, but only one of an edit. */
async function makeImages(job: Job, call: Call, signal: AbortSignal): Promise<Succeeded | Failed> {
  const [calls, each] = job.images.length > 0 ? [job.n, 1] : [1, job.n];
  const pieces = jsonPieces(job.images, (urls) => imageBody(job, each, urls));
  const length = await measurePieces(pieces);
  let usage: MakerUsage = { usd: 0 };
  const several = await makeSeveral(calls, async (): Promise<string[] | Failed> => {
    const response = await postPieces((init) => call(imagePath(job), init), pieces, { length, signal });
    const refusal = response.ok ? undefined : await readRefusal(response, "start");
    const body = refusal ? undefined : await readJson<WireImages>(response);
    // The image may be generated and billed although the answer cannot be parsed: do not submit again.
    if (!refusal && !Array.isArray(body?.data)) throw new ProviderError("unclear", "start: the answer has no list data");
    usage = addUsage(usage, refusal?.usage ?? toUsage(body?.usage));
    if (refusal) return refusal;
    const data = body?.data ?? [];
    const urls = data.flatMap((image) => (image?.url && image.respect_moderation !== false ? [image.url] : []));
    if (urls.length > 0) return urls;
    return { ...(data.some((image) => image?.respect_moderation === false) ? blocked : ownFailure), usage };
  });
  return Array.isArray(several) ? madeAt({ urls: several.flat(), usage }) : several;
}

async function startVideo(job: Job, call: Call, signal: AbortSignal): Promise<Accepted | Failed> {
  const pieces = jsonPieces(allImages(job), (urls) => videoBody(job, urls));
  const length = await measurePieces(pieces);
  const response = await postPieces((init) => call("/videos/generations", init), pieces, { length, signal });
  if (!response.ok) return readRefusal(response, "start");
  const request = (await readJson<WireVideo>(response))?.request_id;
  if (!request) throw new ProviderError("unclear", "start: the answer has no request_id");
  return { status: "accepted", operation: JSON.stringify({ request } satisfies Handle) };
}

/** Treats unknown statuses as pending, and so an answer without a body, which comes with 202 (`mayBeEmpty`). */
function parseVideo(answer: WireVideo | undefined, mayBeEmpty: boolean): Pending | Succeeded | Failed {
  if (!answer && !mayBeEmpty) throw new ProviderError("unreachable", "poll: the answer is not JSON");
  const { status, video, error } = answer ?? {};
  const usage = toUsage(answer?.usage);
  switch (status) {
    case "done":
      if (video?.respect_moderation === false) return { ...blocked, usage };
      return video?.url ? { status: "succeeded", outputs: [outputAt(video.url)], usage } : { ...ownFailure, usage };
    case "failed":
      return { ...([error?.code, error?.message].some(isModerated) ? blocked : ownFailure), usage };
    case "expired":
      return { ...ownFailure, usage };
    default:
      return { status: "pending" };
  }
}

/** The verdict of a poll that was refused. Only refused content and an invalid request are final: a key or funds may be corrected. */
async function readLate(response: Response): Promise<Failed> {
  try {
    return await readRefusal(response, "poll");
  } catch (error) {
    if (error instanceof ProviderError && error.kind === "refused") return ownFailure;
    throw error instanceof ProviderError ? laterFault(error, true) : error;
  }
}
