/** Everything the sandbox refuses, as one error with the status and the code that go to the wire. */

import type { ContentfulStatusCode } from "hono/utils/http-status";

export type FaultCode =
  | "invalid_request"
  | "not_found"
  | "not_ready"
  | "too_large"
  | "content_policy_violation"
  | "provider_error"
  | "temporarily_unavailable";

const STATUS: Record<FaultCode, ContentfulStatusCode> = {
  invalid_request: 400,
  not_found: 404,
  not_ready: 409,
  too_large: 413,
  content_policy_violation: 422,
  provider_error: 500,
  temporarily_unavailable: 503,
};

/** Thrown anywhere in a request; answered as `{error: {code, message}}`, a temporary one with `Retry-After: 1`. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string) {
    super(message);
    this.code = code;
  }

  toResponse(): Response {
    const headers: HeadersInit = this.code === "temporarily_unavailable" ? { "retry-after": "1" } : {};
    return Response.json({ error: { code: this.code, message: this.message } }, { status: STATUS[this.code], headers });
  }
}
