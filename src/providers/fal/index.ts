/** The fal queue (fal.ai/docs): submit, status, result, cancel. What is asked of which endpoint is in `fal-families.ts`. */

import { ask, toFault, readJson, laterFault, outputAt } from "../shared/http.ts";
import { preparePost } from "./body.ts";
import { toPlan } from "./families.ts";
import { type Failed, type Provider, ProviderError, type Succeeded } from "../provider.ts";

interface Config {
  key: string;
  /** Without a slash at the end. */
  baseUrl?: string | undefined;
}

/** What the queue answers to a submission, and what the operation keeps of it. */
interface Urls {
  status: string;
  result: string;
  cancel: string;
}

interface Submitted {
  request_id?: string | null;
  status_url?: string | null;
  response_url?: string | null;
  cancel_url?: string | null;
}

/** Errors of models are a list, requests' own are a text beside `error_type`, and older endpoints have a text alone (fal.ai/docs, errors). */
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
}

/** Results live as long as the gateway's own assets. */
const lifecycle = JSON.stringify({ expiration_duration_seconds: 86_400 });

export function fal({ key, baseUrl }: Config): Provider {
  const base = baseUrl || "https://queue.fal.run";
  const { origin } = new URL(base);

  const checkOrigin = (url: string) => {
    if (URL.canParse(url) && new URL(url).origin === origin) return;
    throw new ProviderError("the queue points to a foreign origin", { retryable: false });
  };
  /** The key goes to the configured origin only, wherever an answer, a record or a redirect points. */
  const call = async (url: string, init: RequestInit = {}, headers: Record<string, string> = {}) => {
    checkOrigin(url);
    return ask(globalThis, url, { redirect: "manual", ...init, headers: { ...headers, authorization: `Key ${key}` } });
  };

  return {
    name: "fal",
    repeatable: false,
    // A submission is answered at once; the callers' pictures are read before it.
    startTimeoutMs: (kind) => (kind === "image" ? 45_000 : 90_000),
    reportsProgress: false,

    unsupportedField(request) {
      const plan = toPlan(request);
      return "unable" in plan ? plan.unable : undefined;
    },

    async start(job, signal) {
      const plan = toPlan(job);
      if ("unable" in plan) throw new ProviderError(`cannot honour ${plan.unable}`, { retryable: false, nothingAccepted: true });
      const post = await preparePost(plan, [...job.images, ...job.characters.map(({ picture }) => picture)]);
      const headers = { "content-type": "application/json", "x-fal-object-lifecycle-preference": lifecycle };
      const response = await post((init) => call(`${base}/${plan.endpoint}`, { ...init, signal }, headers));
      if (!response.ok) {
        const { status } = response;
        const verdict = status === 400 || status === 422 ? await parseVerdict(response) : await response.body?.cancel();
        if (verdict) return verdict;
        throw toFault(response, "submit");
      }
      const urls = requestUrls((await readJson<Submitted>(response)) ?? {}, base, plan.endpoint);
      // It was accepted, but nobody may ask there with the key.
      Object.values(urls).forEach(checkOrigin);
      return { status: "accepted", operation: JSON.stringify(urls), pollAfterMs: job.kind === "image" ? 2_000 : 5_000 };
    },

    async poll(operation) {
      const urls = JSON.parse(operation) as Urls;
      const response = await call(urls.status);
      if (!response.ok) {
        await response.body?.cancel();
        if ([400, 404, 410, 422].includes(response.status)) return failed("provider_error");
        throw toLaterFault(response, "status");
      }
      const status = await readJson<{ status?: string }>(response);
      // Completed is the end of it, good or bad: only the result tells which.
      return status?.status === "COMPLETED" ? parseResult(await call(urls.result)) : { status: "pending" };
    },

    async cancel(operation) {
      const response = await call((JSON.parse(operation) as Urls).cancel, { method: "PUT" });
      await response.body?.cancel();
      // 400 and 404 say that it is over already.
      if (!response.ok && response.status !== 400 && response.status !== 404) throw toFault(response, "cancel");
    },
  };
}

const failed = (code: Failed["code"]): Failed => ({ status: "failed", code });

/** The URLs of an accepted request. Where the answer leaves them out they are made as @fal-ai/client does: from owner and app. */
function requestUrls(submitted: Submitted, base: string, endpoint: string): Urls {
  const { request_id: id, status_url, response_url, cancel_url } = submitted;
  if (!id && !(status_url && response_url)) throw new ProviderError("the queue's answer names no request", { retryable: false });
  const request = `${base}/${endpoint.split("/").slice(0, 2).join("/")}/requests/${id ?? ""}`;
  return { status: status_url ?? `${request}/status`, result: response_url ?? request, cancel: cancel_url ?? `${request}/cancel` };
}

async function parseResult(response: Response): Promise<Succeeded | Failed> {
  if (response.ok) {
    const result = await readJson<Result>(response);
    // What was made is paid for: a page that somebody put in the queue's place is not its answer.
    if (!result) throw new ProviderError("the result is no JSON", { retryable: true });
    const files = [result.images, result.image, result.video, result.videos].flat();
    const urls = files.flatMap((file) => (file?.url && /^https?:/.test(file.url) ? [file.url] : []));
    return urls.length > 0 ? { status: "succeeded", outputs: urls.map((url) => outputAt(url)) } : failed("provider_error");
  }
  // About the account or the moment, and not about this request.
  if ([401, 402, 403, 408, 429].includes(response.status)) {
    await response.body?.cancel();
    throw toLaterFault(response, "result");
  }
  const verdict = await parseVerdict(response);
  if (verdict) return verdict;
  // A server error without fal's marks is the queue's own and may pass, a redirect is nobody's; the rest is an answer to this request.
  if (response.status >= 500 || response.status < 400) throw toLaterFault(response, "result");
  return failed("provider_error");
}

/** What was accepted stays accepted, whatever is wrong with us or the queue now: it is asked for again. */
const toLaterFault = (response: Response, what: string) => laterFault(toFault(response, what), true);

/** What an error says about the request, when it says anything. Texts are for people and are not read. */
async function parseVerdict(response: Response): Promise<Failed | undefined> {
  const { status, headers } = response;
  const { detail, error_type } = (await readJson<Trouble>(response)) ?? {};
  if (Array.isArray(detail)) {
    if (detail.some((error) => error?.type === "content_policy_violation")) return failed("content_policy_violation");
    // What the caller gave stands in the prompt and the pictures; every other field is ours, and another route may do.
    const isCallers = detail.length > 0 && detail.every((error) => /^prompt$|_urls?$/.test(String(error?.loc?.[1])));
    const mayPass = headers.get("x-fal-retryable") === "true";
    return failed(status < 500 && isCallers && !mayPass ? "invalid_input" : "provider_error");
  }
  if (error_type ?? headers.get("x-fal-error-type")) return failed("provider_error");
  return status === 422 && typeof detail === "string" ? failed("invalid_input") : undefined;
}
