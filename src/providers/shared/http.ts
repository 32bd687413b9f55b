/** What every HTTP upstream has in common: how it is asked, how its answers become faults, how its files are read. */

import { type Failed, type Output, ProviderError } from "../provider.ts";

/** Seconds or a date, as `Retry-After` has them, in milliseconds from now; undefined when there is none worth waiting for. */
function retryAfterMs(headers: Headers): number | undefined {
  const value = headers.get("retry-after");
  if (!value) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return ms > 0 && ms <= 60_000 ? ms : undefined;
}

/**
 * An answer that is no verdict, as a fault: 408, 429 and 5xx may pass, the rest will not; 401, 402 and 403 are the
 * operator's account. For a submission, 429 and 503 say that nothing was accepted, and so does every other 4xx.
 */
export function toFault(response: { status: number; headers: Headers }, message: string): ProviderError {
  const { status, headers } = response;
  return new ProviderError(`${message}: ${status}`, {
    retryable: status === 408 || status === 429 || status >= 500,
    nothingAccepted: status === 503 || (status >= 400 && status < 500 && status !== 408),
    account: status === 401 || status === 402 || status === 403,
    retryAfterMs: retryAfterMs(headers),
  });
}

/** A fault after the work was accepted: it stays accepted, and credentials may be put right. */
export const laterFault = ({ message, retryable, account, retryAfterMs, cause }: ProviderError, mayPass = retryable || account) =>
  new ProviderError(message, { retryable: mayPass, account, retryAfterMs, cause });

/** Asks an upstream; a request that gets no answer at all is a fault that may pass. A redirect is not followed: it could take the key elsewhere. */
export async function ask(fetcher: { fetch: typeof fetch }, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetcher.fetch(url, { redirect: "manual", ...init });
  } catch (error) {
    throw new ProviderError("no answer", { retryable: true, cause: error });
  }
}

/** An answer's text. Throws a fault that may pass when it breaks off; its status still tells whether it was a refusal. */
export const readText = (response: Response): Promise<string> =>
  response.text().catch((error: unknown) => {
    const { nothingAccepted } = toFault(response, "");
    throw new ProviderError("the answer broke off", { retryable: true, nothingAccepted, cause: error });
  });

/** An answer's JSON body; `undefined` when it is none. Throws as `textOf` does. */
export async function readJson<T>(response: Response): Promise<T | undefined> {
  const text = await readText(response);
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}

/** A POST of JSON. */
export const jsonPost = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/**
 * A file behind a URL that an upstream gave. It is asked without credentials unless `headers` has them. A file that is gone
 * (403, 404, 410: signed URLs expire) is a fault that does not pass.
 */
export function outputAt(url: string, headers: Record<string, string> = {}): Output {
  return {
    async open() {
      const response = await ask(globalThis, url, { headers, redirect: "follow" });
      if (!response.ok || !response.body) {
        await response.body?.cancel();
        throw new ProviderError(`output: ${response.status}`, { retryable: response.status === 429 || response.status >= 500 });
      }
      return opened(response, response.body);
    },
  };
}

/** A file as it comes, with the length that was announced. */
export function opened({ headers }: Response, body: ReadableStream<Uint8Array>): Awaited<ReturnType<Output["open"]>> {
  const length = headers.get("content-length");
  const isWhole = headers.get("content-encoding") === null;
  const type = headers.get("content-type") ?? "application/octet-stream";
  return { body, type, ...(length !== null && isWhole && { length: Number(length) }) };
}

/** A file that came in base64 within an answer. */
export function toOutput(base64: string, type: string): Output {
  const bytes = Uint8Array.fromBase64(base64);
  return { open: () => Promise.resolve({ body: new Blob([bytes]).stream(), type, length: bytes.byteLength }) };
}

/** One after the other, for upstreams that make one picture a call. What was made counts; when nothing was, the last failure does. */
export async function several<T>(n: number, make: () => Promise<T | Failed>): Promise<T[] | Failed> {
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

/** Rejects with a fault that may pass when the promise takes longer. What it waited for goes on, unheard. */
export async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  const timeout = new AbortController();
  try {
    return await Promise.race([
      promise,
      scheduler.wait(ms, { signal: timeout.signal }).then(() => {
        throw new ProviderError("no answer in time", { retryable: true });
      }),
    ]);
  } finally {
    timeout.abort();
  }
}
