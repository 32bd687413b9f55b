/** What every HTTP upstream has in common: how its answers become verdicts or faults. */

import { ProviderError } from "./provider.ts";

/** Seconds or a date, as `Retry-After` has them, in milliseconds from now; undefined when there is none worth waiting for. */
function retryAfterMs(headers: Headers): number | undefined {
  const value = headers.get("retry-after");
  if (!value) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return ms > 0 && ms <= 60_000 ? ms : undefined;
}

/**
 * An answer that is no verdict, as a fault: 408, 429 and 5xx may pass, the rest will not. For a submission, 429 and 503
 * say that nothing was accepted, and so does every other 4xx.
 */
export function faultOf(response: Response, message: string): ProviderError {
  const { status, headers } = response;
  const retryable = status === 408 || status === 429 || status >= 500;
  return new ProviderError(`${message}: ${status}`, {
    retryable,
    nothingAccepted: status === 503 || (status >= 400 && status < 500 && status !== 408),
    retryAfterMs: retryAfterMs(headers),
  });
}

/** Asks an upstream; a request that gets no answer at all is a fault that may pass. */
export async function ask(fetcher: { fetch: typeof fetch }, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetcher.fetch(url, init);
  } catch (error) {
    throw new ProviderError("no answer", { retryable: true, cause: error });
  }
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
