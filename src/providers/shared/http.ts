/** Shared by all HTTP upstreams: sending requests, converting answers to faults, reading files. */

import { limitWait } from "../../base/limit-wait.ts";
import { parseJson } from "../../media/json-limits.ts";
import { boundedBody } from "../../net/bounded-body.ts";
import type { MakerUsage } from "../../base/maker-usage.ts";
import { type Failed, heldOutput, type Output, ProviderError, type Succeeded, unknownWork } from "../provider.ts";
import type { ProviderErrorKind } from "../provider-error.ts";

/** The longest pause that an upstream may request: tasks have minutes. */
export const maxRetryAfterMs = 60_000;

/** `Retry-After`, seconds or a date, in milliseconds from now and at most `maxRetryAfterMs`; undefined if it is absent. */
function retryAfterMs(headers: Headers): number | undefined {
  const value = headers.get("retry-after");
  if (!value) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return ms > 0 ? Math.min(ms, maxRetryAfterMs) : undefined;
}

/** The kind of fault for an HTTP status of a submission. Redirects are not followed, so their outcome is unknown. */
function kindOfStatus(status: number): ProviderErrorKind {
  if (status === 401 || status === 402 || status === 403) return "account";
  // 529: "overloaded", as Anthropic's API and others with that status answer.
  if (status === 429 || status === 503 || status === 529) return "busy";
  if (status === 408 || status >= 500) return "unreachable";
  if (status === 404 || status === 410) return "model";
  return status >= 400 ? "refused" : "unclear";
}

/** Converts an answer without a verdict to a fault. 400, 413 and 422 mean that a chat is malformed for this model. */
export const toFault = ({ status, headers }: { status: number; headers: Headers }, message: string): ProviderError =>
  new ProviderError(kindOfStatus(status), `${message}: ${status}`, {
    retryAfterMs: retryAfterMs(headers),
    ...([400, 413, 422].includes(status) && {
      malformed: { code: status === 413 ? "context_length_exceeded" : "invalid_request", onlyHere: true },
    }),
  });

/** Converts a fault to one after acceptance: the work stays accepted, and the operator may still correct the credentials. `isRetryable` defaults to the fault's own. */
export const laterFault = (
  { message, retryable, account, retryAfterMs, cause }: ProviderError,
  isRetryable = retryable || account,
): ProviderError => new ProviderError(account ? "accountLater" : isRetryable ? "unreachable" : "unclear", message, { retryAfterMs, cause });

/**
 * The verdict on accepted work from a refused poll: the upstream does not know it. Throws any other refusal as a retryable fault: the work
 * stays accepted, whatever error the account has now.
 */
export async function refusedPoll(response: Response, step = "poll"): Promise<Failed> {
  await response.body?.cancel();
  if ([400, 404, 410, 422].includes(response.status)) return unknownWork;
  throw laterFault(toFault(response, step), true);
}

/** The time limit for the beginning of an answer. An object has six connections: polls of an upstream that hangs must not use them all. */
const answerMs = 30_000;

/**
 * Sends a request, for at most `answerMs` if `init` has no signal. Throws a retryable fault if no answer arrives. Does not follow redirects,
 * because another host must not get the key.
 */
export async function ask(fetcher: { fetch: typeof fetch }, url: string, init: RequestInit): Promise<Response> {
  const late = init.signal ? null : new AbortController();
  const timer = late && setTimeout(() => late.abort(), answerMs);
  try {
    return await fetcher.fetch(url, { redirect: "manual", ...(late && { signal: late.signal }), ...init });
  } catch (error) {
    throw new ProviderError("unreachable", "no answer", { cause: error });
  } finally {
    if (timer !== null) clearTimeout(timer);
  }
}

/** Sends a request to a path of an upstream. */
export type Call = (path: string, init?: Omit<RequestInit, "headers"> & { headers?: Record<string, string> }) => Promise<Response>;

/** Requests below `base` with a bearer token, as `ask` sends them. */
export const bearerCall =
  (base: string, token: string): Call =>
  (path, init = {}) =>
    ask(globalThis, base + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });

/** The longest answer in memory: Replicate repeats an input, whose images may have ten million bytes. An own input can ask for files in the answer. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** Reads an answer's text. Throws a retryable fault if it breaks off or is too long; its status still shows whether the work was accepted. */
export const readText = (response: Response): Promise<string> =>
  new Response(response.body && boundedBody(response.body, { maxBytes: maxAnswerBytes })).text().catch((error: unknown) => {
    const { nothingAccepted } = toFault(response, "");
    throw new ProviderError(nothingAccepted ? "busy" : "unreachable", "the answer broke off", { cause: error });
  });

/** Reads an answer's JSON body; undefined if it is not JSON, or has too many values. Throws as `readText` does. */
export async function readJson<T>(response: Response): Promise<T | undefined> {
  const text = await readText(response);
  try {
    return parseJson(text) as T;
  } catch {
    return undefined;
  }
}

/** Builds a POST request with a JSON body. */
export const jsonPost = (body: unknown, headers: Record<string, string> = {}) => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/**
 * A file at a URL from an upstream, requested without credentials. A missing file (403, 404, 410: signed URLs expire) is a permanent fault,
 * and so is a text that is no URL.
 */
export function outputAt(url: string): Output {
  return {
    async open() {
      if (!/^(?:https?|data):/.test(URL.parse(url)?.protocol ?? "")) throw new ProviderError("unclear", "output: its URL is invalid");
      const response = await ask(globalThis, url, { redirect: "follow" });
      if (!response.ok || !response.body) {
        await response.body?.cancel();
        const mayPass = response.status === 429 || response.status >= 500;
        throw new ProviderError(mayPass ? "unreachable" : "unclear", `output: ${response.status}`);
      }
      return toOpened(response, response.body);
    },
  };
}

/** Files at these URLs, and the operation by which `poll` returns them again. */
export const madeAt = ({ urls, usage }: MadeFiles): Succeeded => ({
  status: "succeeded",
  outputs: urls.map((url) => outputAt(url)),
  operation: JSON.stringify({ urls, ...(usage && { usage }) } satisfies MadeFiles),
  ...(usage && { usage }),
});

/** The operation of files that a start made at once, and what they cost if the maker says it. */
export interface MadeFiles {
  urls: string[];
  usage?: MakerUsage;
}

/** A file that needs the operator's key. Only the upstream's own origin gets the key; storage that it redirects to does not. */
export function outputBehindKey(url: string, headers: Record<string, string>, maxRedirects = 3): Output {
  return {
    async open() {
      const response = await ask(globalThis, url, { headers });
      const location = response.headers.get("location");
      if (response.status >= 300 && response.status < 400 && location !== null && maxRedirects > 0) {
        await response.body?.cancel();
        const target = new URL(location, url);
        const isOwn = target.origin === new URL(url).origin;
        return (isOwn ? outputBehindKey(target.href, headers, maxRedirects - 1) : outputAt(target.href)).open();
      }
      if (!response.ok || !response.body) {
        await response.body?.cancel();
        throw laterFault(toFault(response, "output"));
      }
      return toOpened(response, response.body);
    },
  };
}

/** The body of an answer as an opened file, with the announced length. */
function toOpened({ headers }: Response, body: ReadableStream<Uint8Array>): Awaited<ReturnType<Output["open"]>> {
  const length = headers.get("content-length");
  const isWhole = headers.get("content-encoding") === null;
  return { body, ...(length !== null && isWhole && { length: Number(length) }) };
}

/** Decodes a file that an answer contains as Base64; undefined if it is not. */
export function toOutput(base64: string): Output | undefined {
  try {
    return heldOutput(Uint8Array.fromBase64(base64));
  } catch {
    return undefined;
  }
}

/**
 * Generates up to `n` outputs one after the other. Stops at the first failure and returns the outputs so far, or the failure if there are
 * none.
 */
export async function makeSeveral<T>(n: number, make: () => Promise<T | Failed>): Promise<T[] | Failed> {
  const made: T[] = [];
  for (let at = 0; at < n; at++) {
    try {
      const one = await make();
      if (typeof one === "object" && one !== null && "status" in one && one.status === "failed") {
        if (made.length === 0) return one;
        break;
      }
      made.push(one as T);
    } catch (error) {
      if (made.length === 0) throw error;
      break;
    }
  }
  return made;
}

/** Rejects with a retryable fault if the promise takes longer than `ms`. The work behind the promise is not stopped. */
export async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  const answer = await limitWait(ms, promise, late);
  if (answer === late) throw new ProviderError("unreachable", "no answer in time");
  return answer;
}

const late = Symbol("late");
