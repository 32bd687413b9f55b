/** Errors: a class for each type of the gateway's, for connections, and for tasks that failed. */

import type { ErrorDetail, Task } from "./generated/types.gen.js";

/** Base of all errors of this package. */
export class GatewayError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** No whole answer arrived: the connection failed or was cut. The outcome of the request is unknown. */
export class ConnectionError extends GatewayError {
  /** True if an answer had begun: the work may be done. */
  hasBegun = false;
}
/** No answer arrived within `timeout`. */
export class TimeoutError extends ConnectionError {}

/** The task failed; it cost nothing. `code` is `task.error.code`. */
export class TaskFailedError extends GatewayError {
  readonly code: string | undefined;
  constructor(readonly task: Task) {
    super(`${task.error?.code}: ${task.error?.message}`);
    this.code = task.error?.code;
  }
}

/** The task completed, and its files could not be delivered to the bucket. They can still be downloaded. */
export class DeliveryFailedError extends GatewayError {
  constructor(readonly task: Task) {
    super(`The files of ${task.id} were not delivered.`);
  }
}

/** The request was refused. */
export class APIError extends GatewayError {
  /** The same in every language: `invalid_request`, `cost_limit_exceeded` ... Undefined if the answer is not the gateway's. */
  readonly code: string | undefined;
  /** The first violated field. */
  readonly param: string | undefined;
  /** Every violated rule. */
  readonly details: ErrorDetail[];
  /** For the operator, when you report a problem. */
  readonly requestId: string | undefined;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  constructor(
    readonly status: number,
    readonly headers: Headers,
    /** The answer: parsed JSON, or text. */
    readonly body: unknown,
  ) {
    const { error, message } = toObject(body);
    const { code, message: text, param, details } = toObject(error);
    super(((text ?? message) as string | undefined) ?? `HTTP ${status}`);
    this.code = code as string | undefined;
    this.param = (param ?? undefined) as string | undefined;
    this.details = (details ?? []) as ErrorDetail[];
    this.requestId = headers.get("x-request-id") ?? undefined;
    this.retryAfter = Number(headers.get("retry-after")) || undefined;
  }
}

export class InvalidRequestError extends APIError {}
/** No key, one that is not valid (401), or one that may not do this (403). */
export class UnauthorizedError extends APIError {}
/** Too little balance or budget. */
export class InsufficientQuotaError extends APIError {}
/** A task or another thing does not exist, or is another account's. */
export class NotFoundError extends APIError {}
export class ContentPolicyError extends APIError {}
/** Too many requests, open tasks or waits. */
export class RateLimitError extends APIError {}
/** A fault of the gateway or of what stands before it. */
export class InternalError extends APIError {}

const byType: Record<string, typeof APIError> = {
  invalid_request: InvalidRequestError,
  unauthorized: UnauthorizedError,
  insufficient_quota: InsufficientQuotaError,
  task_not_found: NotFoundError,
  content_policy_violation: ContentPolicyError,
  rate_limit_exceeded: RateLimitError,
  internal_error: InternalError,
};
const byStatus: Record<number, typeof APIError> = {
  401: UnauthorizedError,
  402: InsufficientQuotaError,
  404: NotFoundError,
  429: RateLimitError,
};

const toObject = (value: unknown) => (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;

/** The error of an answer; one that is not the gateway's own, such as a page of the platform's, has its class by status. */
/** @internal */ export function toError(status: number, headers: Headers, text: string): APIError {
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A page of HTML, for example: `body` is its text.
  }
  const { type } = toObject(toObject(body)["error"]);
  const Class = byStatus[status] ?? byType[type as string] ?? (status >= 500 ? InternalError : InvalidRequestError);
  return new Class(status, headers, body);
}
