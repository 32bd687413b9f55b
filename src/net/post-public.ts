/** The only POST to callers' URLs: public hosts only, no redirects; returns only the answer's status. */

import { NetError, permitted } from "./net-error.ts";
import { checkReceiverUrl, type UrlRules } from "./public-url.ts";

interface PublicPostOptions extends UrlRules {
  headers: Record<string, string>;
  body: string;
  /** Time limit in milliseconds until the answer's status. */
  timeoutMs: number;
}

/**
 * Posts a body and returns the status of the answer, redirects included: none is followed. No byte of the answer's body is read, so its
 * size and pace do not matter.
 * @throws NetError `blocked_url`, `timeout` or `unreachable`
 */
export async function postPublic(url: string, { headers, body, timeoutMs, ...rules }: PublicPostOptions): Promise<number> {
  const { href } = permitted(checkReceiverUrl(url, rules));
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  try {
    const response = await fetch(href, {
      method: "POST",
      redirect: "manual",
      headers: { "user-agent": "generation-gateway", ...headers },
      body,
      signal: deadline.signal,
    });
    // The body is cancelled, not read. An error of that does not affect the result.
    await response.body?.cancel().catch(() => undefined);
    return response.status;
  } catch (error) {
    throw new NetError(deadline.signal.aborted ? "timeout" : "unreachable", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
