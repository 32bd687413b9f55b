/** Every error answer of the sandbox, as one error class with its status and code. */

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

/** Thrown anywhere in a request; answered in OpenAI's error format, with `Retry-After: 1` if it is temporary. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly #param: string | null;

  /** `param` is the invalid field, dotted and indexed: `tools[0].function.name`. */
  constructor(code: FaultCode, message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.#param = param;
  }

  /** `{error: {message, type, param, code}}`, in a body or in an event of a stream. */
  toBody(): { error: object } {
    const type = STATUS[this.code] < 500 ? "invalid_request_error" : "server_error";
    return { error: { message: this.message, type, param: this.#param, code: this.code } };
  }

  toResponse(): Response {
    const headers: HeadersInit = this.code === "temporarily_unavailable" ? { "retry-after": "1" } : {};
    return Response.json(this.toBody(), { status: STATUS[this.code], headers });
  }
}
