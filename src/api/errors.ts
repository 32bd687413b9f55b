/** Converts anything thrown into the error of its family: the only place that builds error answers, except for the balances. */

import type { ErrorHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { ApiError, type ErrorCode } from "../errors.ts";
import { alert } from "../log.ts";
import { errorBody } from "./error-body.ts";
import type { AppContext, AppEnv } from "./frame.ts";
import type { Language } from "../messages/index.ts";

const byStatus: Record<number, ErrorCode> = {
  400: "invalid_request",
  401: "unauthorized",
  404: "not_found",
  405: "method_not_allowed",
  413: "body_too_large",
};

/** Converts anything thrown into an `ApiError`. Unexpected errors are logged and become `internal_error`. */
function toApiError(error: unknown, requestId: string): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof HTTPException) return new ApiError(byStatus[error.status] ?? "invalid_request", { cause: error });
  // Errors that the platform marks as temporary faults of an object's machine.
  const passing =
    typeof error === "object" &&
    error !== null &&
    (("retryable" in error && error.retryable) || ("overloaded" in error && error.overloaded));
  alert("request", { request: requestId, outcome: passing ? "unavailable" : "internal_error" }, error);
  return new ApiError(passing ? "unavailable" : "internal_error", { cause: error });
}

/** Sets an answer's status and headers; the family gives the body. */
export function prepare(c: AppContext, thrown: unknown): { error: ApiError; status: ContentfulStatusCode } {
  const error = toApiError(thrown, c.get("requestId"));
  c.set("outcome", error.code);
  for (const [name, value] of Object.entries(error.headers)) c.header(name, value);
  if (error.retryAfter !== undefined) c.header("retry-after", String(error.retryAfter));
  // With rate limits off only the limit of open tasks is left, and no answer has headers about limits.
  const isOff = error.code === "too_many_open_tasks" && c.get("limit") === undefined;
  if (error.status === 429 && !isOff) c.header("x-ratelimit-reset-requests", `${error.retryAfter}s`);
  return { error, status: error.status };
}

function inLanguage(c: AppContext): Language {
  c.header("content-language", c.get("language"));
  // An existing response is the 404 that becomes a 405; its Vary header is already set.
  if (!c.finalized) c.header("vary", "Accept-Language", { append: true });
  return c.get("language");
}

/** The `error` object inside a stream, whose status has already been sent. */
export function toErrorObject(error: ApiError, c: AppContext): object {
  c.set("outcome", error.code);
  return errorBody(error, c.get("language"));
}

/**
 * `{"error": {...}}`, and in `/v1/tasks` the same beside `code` and `message`. The path is checked in one place, because a router
 * with its own error handler wraps each of its handlers.
 */
export const onError: ErrorHandler<AppEnv> = (thrown, c) => {
  const { error, status } = prepare(c, thrown);
  const body = errorBody(error, inLanguage(c));
  return c.json(/^\/v1\/tasks(\/|$)/.test(c.req.path) ? { code: status, message: body.message, error: body } : { error: body }, status);
};

/** For unknown paths. If `/v1` is missing or slashes are doubled, the message says where the API begins. */
export function pathNotFound(c: AppContext): ApiError {
  const { origin, pathname } = new URL(c.get("url"));
  if (/^\/(v1|admin)(\/|$)/.test(pathname) && !pathname.includes("//")) return new ApiError("not_found");
  return new ApiError("not_found", { sentence: { key: "not_found_here", values: { base: `${origin}/v1/` } } });
}

/** For existing paths with another method. */
export const onMethodNotAllowed = (c: AppContext, methods: string[]) =>
  onError(new ApiError("method_not_allowed", { headers: { allow: methods.join(", ") } }), c);
