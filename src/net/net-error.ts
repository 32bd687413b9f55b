/** The error of a read from a foreign host: a closed set of reasons, and whether a retry may help. */

import type { UrlProblem } from "./public-url.ts";

/**
 * - `blocked_url` the address, or one that it redirects to, is not allowed
 * - `too_many_redirects` more hops than allowed
 * - `bad_status` the host answered, but not with the file
 * - `too_large` more bytes than allowed, announced or sent
 * - `timeout` the time limit ran out, before or during the body
 * - `unreachable` no answer: the name does not resolve, the connection was refused or broken, or TLS failed
 * - `interrupted` the connection broke within the body
 */
type NetErrorReason = "blocked_url" | "too_many_redirects" | "bad_status" | "too_large" | "timeout" | "unreachable" | "interrupted";

/** Thrown by every network read in `net`. The message contains no part of the URL, which may carry a signature. */
export class NetError extends Error {
  override readonly name = "NetError";
  readonly reason: NetErrorReason;
  /** Whether the same read may succeed later. */
  readonly retryable: boolean;

  /** The message names the HTTP status, for `bad_status`, or the violated rule of the address, for `blocked_url`. */
  constructor(reason: NetErrorReason, { status = 0, problem, cause }: { status?: number; problem?: UrlProblem; cause?: unknown } = {}) {
    super([reason, status || problem].filter(Boolean).join(" "), { cause });
    this.reason = reason;
    const mayPass = status === 408 || status === 429 || status >= 500;
    this.retryable = mayPass || reason === "timeout" || reason === "unreachable" || reason === "interrupted";
  }
}

/** The URL that a check allows. Throws `blocked_url` for another. */
export function permitted(found: URL | { reason: UrlProblem }): URL {
  if (found instanceof URL) return found;
  throw new NetError("blocked_url", { problem: found.reason });
}
