/** The only fetch for callers' URLs: public hosts only, no identifying headers, bounded in time, bytes and redirects. */

import { boundedBody } from "./bounded-body.ts";
import { NetError, permitted } from "./net-error.ts";
import { checkPublicUrl, type UrlRules } from "./public-url.ts";

export interface PublicFetchOptions extends UrlRules {
  /** Time limit in milliseconds for all redirects and the whole body. */
  timeoutMs: number;
  maxBytes: number;
  /** The `Accept` header. */
  accept?: string;
  /** Maximum number of redirects; defaults to 3. */
  maxRedirects?: number;
}

export interface PublicFile {
  /** Errors with `NetError` at a limit. Must be read or cancelled. */
  body: ReadableStream<Uint8Array>;
  /** The host's content type in lower case without parameters, `application/octet-stream` if missing. Not verified. */
  type: string;
  /** Exact number of bytes of `body`, if the host states it. */
  length?: number;
  /** The final URL, after redirects. */
  url: string;
}

/**
 * Downloads a file from a foreign host. Sends no credentials, cookies or referrer: only the headers named here, on every hop.
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

/** Returns the first answer that is not a redirect. Every hop's address is checked like the first one. */
async function follow(url: string, options: PublicFetchOptions, signal: AbortSignal): Promise<{ response: Response; found: URL }> {
  let next = url;
  for (let hops = 0; hops <= (options.maxRedirects ?? 3); hops++) {
    const found = permitted(checkPublicUrl(next, options));
    const response = await fetch(found.href, { redirect: "manual", headers: headersFor(options), signal });
    if (response.ok) return { response, found };
    const location = response.headers.get("location");
    if (!isRedirect(response.status) || !location) return await refuse(response, new NetError("bad_status", { status: response.status }));
    await response.body?.cancel();
    // A location that cannot be resolved fails in the address check.
    next = URL.parse(location, found.href)?.href ?? location;
  }
  throw new NetError("too_many_redirects");
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

const headersFor = (options: PublicFetchOptions) => ({
  accept: options.accept ?? "*/*",
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

function contentLength(response: Response): number | undefined {
  // If the host compresses anyway, this is the compressed length while the body arrives decompressed.
  const encoding = response.headers.get("content-encoding") ?? "identity";
  const length = response.headers.get("content-length") ?? "";
  return encoding === "identity" && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

function contentType(response: Response): string {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  return type.trim().toLowerCase() || "application/octet-stream";
}
