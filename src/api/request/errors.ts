/** Converts anything thrown into the error of its family: the only place that builds error answers, except for the balances. */

import type { AppContext } from "./context.ts";
import { ApiError } from "../../base/errors.ts";
import { alert } from "../../base/log.ts";
import { answer } from "./answer.ts";
import { errorBody } from "./error-body.ts";

/** Converts anything thrown into an `ApiError`. Unexpected errors are logged and become `internal_error`. */
function toApiError(error: unknown, requestId: string): ApiError {
  if (error instanceof ApiError) return error;
  // Errors that the platform marks as temporary faults of an object's machine.
  const passing =
    typeof error === "object" &&
    error !== null &&
    ["retryable", "overloaded", "durableObjectReset"].some((flag) => (error as Record<string, unknown>)[flag] === true);
  alert("request", { request: requestId, outcome: passing ? "unavailable" : "internal_error" }, error);
  return new ApiError(passing ? "unavailable" : "internal_error", { cause: error });
}

/** The error of anything thrown, its `error` object, and its headers; the family gives the rest of the body. */
export function prepare(c: AppContext, thrown: unknown) {
  const error = toApiError(thrown, c.get("requestId"));
  // With rate limits off only the limit of open tasks is left, and no answer has headers about limits.
  const isOff = error.code === "too_many_open_tasks" && c.get("limit") === undefined;
  return {
    error,
    body: toErrorObject(error, c),
    headers: {
      ...error.headers,
      ...(error.retryAfter !== undefined && { "retry-after": String(error.retryAfter) }),
      ...(error.status === 429 && !isOff && { "x-ratelimit-reset-requests": `${error.retryAfter}s` }),
    },
  };
}

/**
 * `{"error": {...}}`, and in `/v1/tasks` the same beside `code` and `message`. The path is checked here, so that it holds for unknown paths
 * and wrong methods too.
 */
export function onError(thrown: unknown, c: AppContext, more: Record<string, string> = {}): Response {
  const { error, body, headers } = prepare(c, thrown);
  const { status } = error;
  const isOfTasks = /^\/v1\/tasks(\/|$)/.test(c.req.path);
  return answer(c, isOfTasks ? { code: status, message: body.message, error: body } : { error: body }, status, { ...headers, ...more });
}

/** The `error` object of an answer, or inside a stream, whose status has already been sent. The request's line in the log says it too. */
export function toErrorObject(error: ApiError, c: AppContext) {
  const body = errorBody(error, c.get("language"));
  c.set("outcome", error.code);
  c.set("message", body.message);
  return body;
}

/** For unknown paths. If `/v1` is missing or slashes are doubled, the message says where the API begins. */
export function pathNotFound(c: AppContext): ApiError {
  const { origin, pathname } = new URL(c.get("url"));
  if (/^\/(v1|admin)(\/|$)/.test(pathname) && !pathname.includes("//")) return new ApiError("not_found");
  return new ApiError("not_found", { sentence: { key: "not_found_here", values: { base: `${origin}/v1/` } } });
}
