/** Every error of a request: a closed union of codes, their HTTP statuses, and the error class to throw. */

import type { failureCodes } from "./words.ts";

/** Code -> HTTP status and the interface's error type (part 7 of the interface, section 5 of the contract). */
export const errorTable = {
  invalid_request: [400, "invalid_request"],
  invalid_json: [400, "invalid_request"],
  model_not_found: [400, "invalid_request"],
  model_not_available: [400, "invalid_request"],
  unsupported_parameter: [400, "invalid_request"],
  cost_limit_exceeded: [400, "invalid_request"],
  context_length_exceeded: [400, "invalid_request"],
  unauthorized: [401, "unauthorized"],
  insufficient_quota: [402, "insufficient_quota"],
  budget_exceeded: [402, "insufficient_quota"],
  key_scope: [403, "unauthorized"],
  token_exhausted: [403, "unauthorized"],
  invalid_signature: [403, "unauthorized"],
  task_not_found: [404, "task_not_found"],
  webhook_not_found: [404, "invalid_request"],
  destination_not_found: [404, "invalid_request"],
  delivery_not_found: [404, "invalid_request"],
  file_not_found: [404, "invalid_request"],
  batch_not_found: [404, "invalid_request"],
  character_not_found: [404, "invalid_request"],
  not_made_here: [404, "invalid_request"],
  not_found: [404, "invalid_request"],
  method_not_allowed: [405, "invalid_request"],
  body_too_slow: [408, "invalid_request"],
  idempotency_conflict: [409, "invalid_request"],
  task_already_final: [409, "invalid_request"],
  task_not_final: [409, "invalid_request"],
  conflict: [409, "invalid_request"],
  too_many_keys: [409, "invalid_request"],
  too_many_destinations: [409, "invalid_request"],
  code_redeemed: [409, "invalid_request"],
  asset_expired: [410, "invalid_request"],
  body_too_large: [413, "invalid_request"],
  unsupported_media_type: [415, "invalid_request"],
  range_not_satisfiable: [416, "invalid_request"],
  content_policy_violation: [422, "content_policy_violation"],
  rate_limit_exceeded: [429, "rate_limit_exceeded"],
  too_many_open_tasks: [429, "rate_limit_exceeded"],
  too_many_waits: [429, "rate_limit_exceeded"],
  too_many_files: [429, "rate_limit_exceeded"],
  internal_error: [500, "internal_error"],
  unavailable: [503, "internal_error"],
} as const satisfies Record<string, readonly [number, string]>;

export type ErrorCode = keyof typeof errorTable;

/** The HTTP status and the interface's `type` word of an error code. */
export const statusAndType = (code: ErrorCode) => ({ status: errorTable[code][0], type: errorTable[code][1] });

/** One violated rule of a request. `rule` names a message in the message table, `values` fill its placeholders. */
export interface Violation {
  /** Dotted and indexed path of the field: `metadata.style`, `images[0]`. */
  param: string;
  rule: string;
  values?: Record<string, string | number>;
  /** The allowed values, if they can be listed. */
  allowed?: unknown;
}

/** The violation of a value that is not allowed. */
export const notOneOf = (param: string, allowed: readonly unknown[]): Violation => ({
  param,
  rule: allowed.length === 1 ? "not_equal" : "not_one_of",
  values: { allowed: allowed.map(String).join(", ") },
  allowed,
});

/** The violation of a field that is not known. */
export const unknownField = (param: string, allowed: readonly string[]): Violation => ({
  param,
  rule: "unknown_field",
  values: { allowed: allowed.join(", ") },
  allowed,
});

/** The violation of a value beyond a limit, such as `{ maximum: 4 }`. */
export const beyondLimit = (param: string, rule: string, limits: Record<string, number>): Violation => ({
  param,
  rule,
  values: limits,
  allowed: limits,
});

/** `["metadata", "style"]` -> `metadata.style`, `["images", 0]` -> `images[0]`. A name that the caller chose may be long, and is cut. */
export const toParam = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    const name = String(step).slice(0, 64);
    return text ? `${text}.${name}` : name;
  }, "");

/** What a JSON value has at such a path. */
export const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (found, step) => (typeof found === "object" && found !== null ? (found as Record<PropertyKey, unknown>)[step] : undefined),
    value,
  );

/** The maximum number of violations in an answer (contract, section 1). */
export const maxViolations = 50;

/** An error that is reported to the caller. Thrown anywhere in `api`; turned into an answer in one place. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  /** The headers of the answer. */
  readonly status: (typeof errorTable)[ErrorCode][0];
  readonly violations: Violation[];
  /** Seconds after which the same request may succeed; sent as `Retry-After`. */
  readonly retryAfter: number | undefined;
  readonly headers: Record<string, string>;
  /** A more specific message id of the message table, with its values. */
  readonly sentence: { key: string; values: Record<string, string> } | undefined;

  constructor(
    code: ErrorCode,
    options: {
      /** A status other than the code's default: an unknown model in a path is 404. */
      status?: 404;
      violations?: Violation[];
      retryAfter?: number;
      headers?: Record<string, string>;
      sentence?: { key: string; values: Record<string, string> };
      cause?: unknown;
    } = {},
  ) {
    super(code, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? errorTable[code][0];
    this.violations = (options.violations ?? []).slice(0, maxViolations);
    this.retryAfter = options.retryAfter ?? (this.status === 429 || this.status === 503 ? 5 : undefined);
    this.headers = options.headers ?? {};
    this.sentence = options.sentence;
  }
}

/** The error for a method that a path does not have. */
export function methodNotAllowed(methods: readonly string[]): ApiError {
  const allowed = methods.join(", ");
  return new ApiError("method_not_allowed", { headers: { allow: allowed }, sentence: { key: "method_not_allowed", values: { allowed } } });
}

/** The error for a body with more bytes than this. */
export const bodyTooLarge = (maxBytes: number, cause?: unknown) =>
  new ApiError("body_too_large", { sentence: { key: "larger_than", values: { maximum: String(maxBytes / 2 ** 20) } }, cause });

/** The error for a budget that is used up until the window's end (milliseconds). */
export const budgetExceeded = (until = Date.now() + 60_000) =>
  new ApiError("budget_exceeded", { retryAfter: Math.max(1, Math.ceil((until - Date.now()) / 1000)) });

/** A request refused because of one field. */
export const invalid = (param: string, rule: string, values?: Violation["values"], allowed?: unknown) =>
  new ApiError("invalid_request", { violations: [{ param, rule, ...(values && { values }), ...(allowed !== undefined && { allowed }) }] });

/** Throws 400 with these violations, if there are any. */
export function refuse(violations: Violation[]): void {
  if (violations.length > 0) throw new ApiError("invalid_request", { violations });
}

/** The reason why a task failed. */
export type FailureCode = (typeof failureCodes)[number];
