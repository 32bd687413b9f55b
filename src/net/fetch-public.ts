/** The only fetch for callers' URLs: public hosts only, no identifying headers, bounded in time, bytes and redirects. */

import { boundedBody } from "./bounded-body.ts";
import { NetError, permitted } from "./net-error.ts";
import { checkPublicUrl, type UrlRules } from "./public-url.ts";

export interface PublicFetchOptions extends UrlRules {
  /** Time limit in milliseconds for all redirects and the whole body. */
  timeoutMs: number;
  maxBytes: number;
  accept: string;
}

const maxRedirects = 3;

/**
 * Downloads a file from a foreign host. Sends no credentials, cookies or referrer: only the headers named here, on every hop. The body fails with
 * `NetError` at a limit, and must be read or cancelled.
 * @throws NetError
 */
export async function fetchPublic(url: string, options: PublicFetchOptions): Promise<ReadableStream<Uint8Array>> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new NetError("timeout")), options.timeoutMs);
  const onEnd = () => clearTimeout(timer);
  try {
    const response = await follow(url, options, deadline.signal);
    if (contentLength(response) > options.maxBytes) return await refuse(response, new NetError("too_large"));
    return boundedBody(response.body ?? new Blob([]).stream(), { maxBytes: options.maxBytes, signal: deadline.signal, onEnd });
  } catch (error) {
    onEnd();
    if (error instanceof NetError) throw error;
    throw new NetError(deadline.signal.aborted ? "timeout" : "unreachable", { cause: error });
  }
}

/** Returns the first answer that is not a redirect. Every hop's address is checked like the first one. */
async function follow(url: string, options: PublicFetchOptions, signal: AbortSignal): Promise<Response> {
  let next = url;
  for (let hops = 0; hops <= maxRedirects; hops++) {
    const found = permitted(checkPublicUrl(next, options));
    const response = await fetch(found.href, { redirect: "manual", headers: headersFor(options), signal });
    if (response.ok) return response;
    const location = response.headers.get("location");
    if (!isRedirect(response.status) || !location) return await refuse(response, new NetError("bad_status", { status: response.status }));
    await response.body?.cancel();
    // A location that cannot be resolved fails in the address check.
    next = URL.parse(location, found.href)?.href ?? location;
  }
  throw new NetError("too_many_redirects");
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

const headersFor = ({ accept }: PublicFetchOptions) => ({
  accept,
  // A compressed body has no known length.
  "accept-encoding": "identity",
  // The platform sends no User-Agent, and some large hosts answer 403 without one.
  "user-agent": "generation-gateway",
});

/** Frees the connection and throws. */
async function refuse(response: Response, error: NetError): Promise<never> {
  await response.body?.cancel();
  throw error;
}

/** The number of bytes that the host announces; 0 if it announces none. */
function contentLength({ headers }: Response): number {
  // If the host compresses anyway, this is the compressed length while the body arrives decompressed.
  const encoding = headers.get("content-encoding") ?? "identity";
  return encoding === "identity" ? Number(headers.get("content-length")) || 0 : 0;
}
