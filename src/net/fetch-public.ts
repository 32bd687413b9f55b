/** The one fetch for URLs that are not ours: only to public hosts, without a word about us, bounded in time, bytes and redirects. */

import { boundedBody } from "./bounded-body.ts";
import { NetError } from "./net-error.ts";
import { checkPublicUrl } from "./public-url.ts";
import type { UrlRules } from "./public-url.ts";

export interface PublicFetchOptions extends UrlRules {
  /** Milliseconds for everything: all redirects and the whole body. */
  timeoutMs: number;
  maxBytes: number;
  /** The `Accept` header. */
  accept?: string;
  /** Redirects followed, 3 unless told. */
  maxRedirects?: number;
}

export interface PublicFile {
  /** Ends with a `NetError` when it breaks a bound. Must be read or cancelled. */
  body: ReadableStream<Uint8Array>;
  /** What the host calls it: lower case, without parameters; `application/octet-stream` when it does not say. A claim, not a fact. */
  type: string;
  /** Exact number of bytes of `body`, when the host tells it. */
  length?: number;
  /** Where it was found, after redirects. */
  url: string;
}

/**
 * Gets a file from a stranger's host. Sends no credentials, cookies or referrer: only the headers named here, to every hop.
 * @throws NetError
 */
export async function fetchPublic(url: string, options: PublicFetchOptions): Promise<PublicFile> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new NetError("timeout")), options.timeoutMs);
  const onEnd = () => clearTimeout(timer);
  try {
    const { response, found } = await follow(url, options, deadline.signal);
    const length = contentLength(response);
    if (length !== undefined && length > options.maxBytes) return await refuse(response, new NetError("too_large"));
    const body = boundedBody(response.body ?? new Blob([]).stream(), { maxBytes: options.maxBytes, signal: deadline.signal, onEnd });
    return { body, type: contentType(response), ...(length !== undefined && { length }), url: found.href };
  } catch (error) {
    onEnd();
    if (error instanceof NetError) throw error;
    throw new NetError(deadline.signal.aborted ? "timeout" : "unreachable", { cause: error });
  }
}

/** The first answer that is no redirect. Every hop's address is checked as the first one is. */
async function follow(url: string, options: PublicFetchOptions, signal: AbortSignal): Promise<{ response: Response; found: URL }> {
  let next = url;
  for (let hops = 0; hops <= (options.maxRedirects ?? 3); hops++) {
    const found = checkPublicUrl(next, options);
    if (!(found instanceof URL)) throw new NetError("blocked_url", { problem: found.reason });
    const response = await fetch(found.href, { redirect: "manual", headers: headersFor(options), signal });
    if (response.ok) return { response, found };
    const location = response.headers.get("location");
    if (!isRedirect(response.status) || !location) return await refuse(response, new NetError("bad_status", { status: response.status }));
    await response.body?.cancel();
    // An address that cannot be resolved goes to the check as it is, and fails there.
    next = URL.parse(location, found.href)?.href ?? location;
  }
  throw new NetError("too_many_redirects");
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

const headersFor = (options: PublicFetchOptions) => ({
  accept: options.accept ?? "*/*",
  // A compressed body would have neither a known length nor a known end.
  "accept-encoding": "identity",
  // The platform sends none, and some large hosts answer 403 to that.
  "user-agent": "generation-gateway",
});

/** Frees the connection and throws. */
async function refuse(response: Response, error: NetError): Promise<never> {
  await response.body?.cancel();
  throw error;
}

function contentLength(response: Response): number | undefined {
  // Of a host that compresses in spite of us this is the compressed length, while the body comes unpacked.
  const encoding = response.headers.get("content-encoding") ?? "identity";
  const length = response.headers.get("content-length") ?? "";
  return encoding === "identity" && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

function contentType(response: Response): string {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  return type.trim().toLowerCase() || "application/octet-stream";
}
