/** The fal queue (fal.ai/docs): submit, status, result, cancel. The inputs of each endpoint are in `families.ts`. */

import { ask, toFault, readJson, laterFault, outputAt, refusedPoll } from "../shared/http.ts";
import { allImages } from "../shared/frames.ts";
import { promptEndpoint, toPlan } from "./families.ts";
import type { Plan } from "./plan.ts";
import { lookUp } from "../shared/listed.ts";
import { jsonPieces, measurePieces, type Piece, type PostInit, postPieces } from "../shared/streamed-body.ts";
import { ownPieces, readOwnAnswer } from "../shared/own-input.ts";
import {
  badInput,
  blocked,
  type Failed,
  type InputImage,
  type Job,
  ownFailure,
  type Provider,
  ProviderError,
  type Succeeded,
} from "../provider.ts";
import { isSigned } from "./webhook.ts";

interface Config {
  key: string;
  /** The base URL without a trailing slash. */
  baseUrl?: string | undefined;
}

/** The queue's answer to a submission, and the part of it that the operation contains. */
interface Urls {
  status: string;
  result: string;
  cancel: string;
  /** True if the request was an own input, whose result may have any shape. */
  own?: boolean;
  /** True if its safety checker is off: nothing is blackened. */
  unchecked?: boolean;
}

interface Submitted {
  request_id?: string | null;
  status_url?: string | null;
  response_url?: string | null;
  cancel_url?: string | null;
}

/** Errors of models are a list, errors of requests are a text beside `error_type`, and older endpoints send only a text (fal.ai/docs, errors). */
interface Trouble {
  detail?: string | ({ loc?: (string | number)[] | null; type?: string } | null)[] | null;
  error_type?: string | null;
}

type File = { url?: string | null } | null;
interface Result {
  images?: File[] | null;
  image?: File;
  video?: File;
  videos?: File[] | null;
  /** What the safety checker has flagged, in the order of the images. */
  has_nsfw_concepts?: unknown;
}

/** The list of fal's own platform (fal.ai/docs/platform-apis/v1/models). */
interface ModelList {
  models?: { endpoint_id?: string | null; metadata?: { status?: "active" | "deprecated" | null } | null }[] | null;
}

const queue = "https://queue.fal.run";
const platform = "https://api.fal.ai/v1";

/** Results are kept as long as the gateway's own assets. */
const lifecycle = JSON.stringify({ expiration_duration_seconds: 86_400 });

export function fal({ key, baseUrl }: Config): Provider {
  const base = baseUrl || queue;
  const { origin } = new URL(base);

  const checkOrigin = (url: string) => {
    if (URL.canParse(url) && new URL(url).origin === origin) return;
    throw new ProviderError("unclear", "status_url, response_url or cancel_url is not at the host of FAL_BASE_URL");
  };
  /** Sends the key to the configured origin only, whatever URL an answer or a record contains. */
  const call = async (url: string, init: RequestInit = {}, headers: Record<string, string> = {}) => {
    checkOrigin(url);
    return ask(globalThis, url, { ...init, headers: { ...headers, authorization: `Key ${key}` } });
  };

  return {
    name: "fal",
    repeatable: false,
    // The queue answers a submission at once; the time is for reading the callers' images before that.
    startTimeoutMs: (kind) => (kind === "image" ? 45_000 : 90_000),
    reportsProgress: false,
    takesOwnInput: true,

    unsupportedField(request) {
      const plan = toPlan(request);
      return "unsupported" in plan ? plan.unsupported : undefined;
    },

    imageOutputs(request) {
      const plan = toPlan(request);
      return "unsupported" in plan ? undefined : plan.outputs;
    },

    // A queue in front of fal's need not have its list.
    ...(base === queue && {
      async lookUpModel(model: string) {
        const id = promptEndpoint(model);
        if (id === undefined) return { gone: false };
        return lookUp(`${platform}/models?endpoint_id=${encodeURIComponent(id)}`, { authorization: `Key ${key}` }, (answer) => {
          const found = (answer as ModelList).models?.find(({ endpoint_id }) => endpoint_id === id);
          return { gone: found?.metadata?.status !== "active" };
        });
      },
    }),

    async start(job, signal) {
      const { endpoint, pieces } = job.input ? { endpoint: job.model, pieces: ownPieces(job) } : plannedCall(job);
      const headers = { "x-fal-object-lifecycle-preference": lifecycle };
      const query = job.callbackUrl === undefined ? "" : `?fal_webhook=${encodeURIComponent(job.callbackUrl)}`;
      const send = (init: PostInit) => call(`${base}/${endpoint}${query}`, init, init.headers);
      const response = await postPieces(send, pieces, { headers, length: await measurePieces(pieces), signal });
      if (!response.ok) {
        const { status } = response;
        const verdict =
          status === 400 || status === 422 ? await parseVerdict(response, job.input !== undefined) : await response.body?.cancel();
        if (verdict) return verdict;
        throw toFault(response, "submit");
      }
      const urls = requestUrls((await readJson<Submitted>(response)) ?? {}, base, endpoint);
      // The work was accepted, but these URLs must not get the key.
      [urls.status, urls.result, urls.cancel].forEach(checkOrigin);
      const { enable_safety_checker: isChecked }: { enable_safety_checker?: unknown } = job.input ?? {};
      const own = job.input && { own: true, unchecked: isChecked === false };
      return { status: "accepted", operation: JSON.stringify({ ...urls, ...own }) };
    },

    async poll(operation) {
      const urls = JSON.parse(operation) as Urls;
      const response = await call(urls.status);
      if (!response.ok) return refusedPoll(response, "status");
      const status = await readJson<{ status?: string; metrics?: { inference_time?: number | null } | null }>(response);
      if (!status) throw new ProviderError("unreachable", "status: the answer is not JSON");
      // `COMPLETED` means ended: only the result shows whether it succeeded.
      if (status.status !== "COMPLETED") return { status: "pending" };
      const seconds = status.metrics?.inference_time ?? undefined;
      return { ...(await parseResult(await call(urls.result), urls)), usage: { seconds } };
    },

    readCallback: isSigned,

    /** Only queued work certainly stops: the model of running work gets a signal and may make it nevertheless (fal.ai/docs, "Cancel a request"). */
    async cancel(operation) {
      const urls = JSON.parse(operation) as Urls;
      const before = await readJson<{ status?: string }>(await call(urls.status));
      const response = await call(urls.cancel, { method: "PUT" });
      await response.body?.cancel();
      // 400 and 404: it has ended already.
      if (!response.ok && response.status !== 400 && response.status !== 404) throw toFault(response, "cancel");
      return response.ok && before?.status === "IN_QUEUE";
    },
  };
}

/** The endpoint and body for a request of the interface. */
function plannedCall(job: Job): { endpoint: string; pieces: Piece[] } {
  const plan = toPlan(job);
  if ("unsupported" in plan) throw new ProviderError("refused", `cannot honour ${plan.unsupported}`);
  return { endpoint: plan.endpoint, pieces: toPieces(plan, allImages(job)) };
}

/** The JSON body: the plan's input, and its images as URLs or data URIs in their fields. */
function toPieces({ input, images }: Plan, all: InputImage[]): Piece[] {
  const used = Object.values(images)
    .flat()
    .flatMap((at) => all[at] ?? []);
  return jsonPieces(used, (urls) => {
    const left = [...urls];
    const fields = Object.entries(images).map(([field, at]) => [field, typeof at === "number" ? left.shift() : left.splice(0, at.length)]);
    return { ...input, ...Object.fromEntries(fields) };
  });
}

/** The URLs of an accepted request. If the answer does not contain them, they are built as in @fal-ai/client: from owner and app. */
function requestUrls(submitted: Submitted, base: string, endpoint: string): Urls {
  const { request_id: id, status_url, response_url, cancel_url } = submitted;
  if (!id && !(status_url && response_url)) throw new ProviderError("unclear", "start: the answer has neither request_id nor URLs");
  const request = `${base}/${endpoint.split("/").slice(0, 2).join("/")}/requests/${id ?? ""}`;
  return { status: status_url ?? `${request}/status`, result: response_url ?? request, cancel: cancel_url ?? `${request}/cancel` };
}

async function parseResult(
  response: Response,
  { own: isOwn = false, unchecked }: { own?: boolean; unchecked?: boolean },
): Promise<Succeeded | Failed> {
  if (response.ok) {
    const result = await readJson<Result>(response);
    // The video is generated and paid for: an HTML page from a proxy is not the queue's answer.
    if (!result) throw new ProviderError("unreachable", "the result is not JSON");
    const { has_nsfw_concepts: flags, images } = result;
    // What is flagged is black, and billed.
    if (unchecked || !Array.isArray(flags) || !flags.includes(true)) return readFiles(result, isOwn);
    if (!flags.includes(false)) return { ...blocked, billed: { outputs: flags.length } };
    if (Array.isArray(images)) result.images = images.filter((_, at) => !flags[at]);
    const made = readFiles(result, isOwn);
    return made.status === "succeeded" ? { ...made, billedOutputs: flags.length } : made;
  }
  // Errors about the account or a temporary state, not about this request.
  if ([401, 402, 403, 408, 429].includes(response.status)) {
    await response.body?.cancel();
    throw toLaterFault(response, "result");
  }
  const verdict = await parseVerdict(response, isOwn);
  if (verdict) return verdict;
  // A server error without fal's error fields comes from the queue itself and is retryable, and so is a redirect; every other answer is
  // about this request.
  if (response.status >= 500 || response.status < 400) throw toLaterFault(response, "result");
  return ownFailure;
}

function readFiles(result: Result, isOwn: boolean): Succeeded | Failed {
  if (isOwn) return readOwnAnswer(result);
  const files = [result.images, result.image, result.video, result.videos].flat();
  const urls = files.flatMap((file) => (file?.url && /^https?:/.test(file.url) ? [file.url] : []));
  return urls.length > 0 ? { status: "succeeded", outputs: urls.map((url) => outputAt(url)) } : ownFailure;
}

/** Accepted work stays accepted, whatever error the account or the queue has now: it is polled again. */
const toLaterFault = (response: Response, what: string) => laterFault(toFault(response, what), true);

/** Faults of fal, of a partner's service or of the model itself, whatever their status (fal.ai/docs, "Model Errors"). */
const serviceTypes = new Set([
  "internal_server_error",
  "generation_timeout",
  "downstream_service_error",
  "downstream_service_unavailable",
  "no_media_generated",
]);

/** Reads the verdict on the request from an error; undefined if it has none. Error texts are not interpreted. */
async function parseVerdict(response: Response, isOwn: boolean): Promise<Failed | undefined> {
  const { status, headers } = response;
  const { detail, error_type } = (await readJson<Trouble>(response)) ?? {};
  if (Array.isArray(detail)) {
    if (detail.some((error) => error?.type === "content_policy_violation")) return blocked;
    // The caller's input is in the prompt and the images only, or is an own input. The gateway sets all other fields, so another route may
    // succeed, as it may with a prompt whose length the interface allows.
    const isCallers =
      detail.length > 0 &&
      (isOwn ||
        detail.every((error) => !/^(?:string|sequence)_/.test(error?.type ?? "") && /^prompt$|_urls?$/.test(String(error?.loc?.[1]))));
    // Documented under both names.
    const isRetryable = ["x-fal-retryable", "x-fal-needs-retry"].some((name) => /^(?:true|1)$/.test(headers.get(name) ?? ""));
    const mayPass = isRetryable || detail.some((error) => serviceTypes.has(error?.type ?? ""));
    return status < 500 && isCallers && !mayPass ? badInput : ownFailure;
  }
  if (error_type ?? headers.get("x-fal-error-type")) return ownFailure;
  return status === 422 && typeof detail === "string" ? badInput : undefined;
}
