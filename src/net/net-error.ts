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
export type NetErrorReason = "blocked_url" | "too_many_redirects" | "bad_status" | "too_large" | "timeout" | "unreachable" | "interrupted";

/** Thrown by every network read in `net`. The message contains no part of the URL, which may carry a signature. */
export class NetError extends Error {
  override readonly name = "NetError";
  readonly reason: NetErrorReason;
  /** Whether the same read may succeed later. */
  readonly retryable: boolean;
  /** The HTTP status, for `bad_status`. */
  readonly status: number | undefined;
  /** The violated rule of the address, for `blocked_url`. */
  readonly problem: UrlProblem | undefined;

  constructor(reason: NetErrorReason, options: { status?: number; problem?: UrlProblem; cause?: unknown } = {}) {
    super([reason, options.status ?? options.problem].filter(Boolean).join(" "), { cause: options.cause });
    this.reason = reason;
    this.status = options.status;
    this.problem = options.problem;
    this.retryable =
      reason === "bad_status" ? mayPass(options.status ?? 0) : reason === "timeout" || reason === "unreachable" || reason === "interrupted";
  }
}

const mayPass = (status: number) => status === 408 || status === 429 || status >= 500;

/** The URL that a check allows. Throws `blocked_url` for another. */
export function permitted(found: URL | { reason: UrlProblem }): URL {
  if (found instanceof URL) return found;
  throw new NetError("blocked_url", { problem: found.reason });
}
