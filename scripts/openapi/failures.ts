/** The errors of operations: those that follow from an operation's parameters, and an example of each, built by the gateway's own code. */

import type * as z from "zod/mini";
import { errorBody } from "../../src/api/request/error-body.ts";
import { balanceError, errorAnswer, taskError } from "../../src/api/schema/errors.ts";
import { ApiError, type ErrorCode, statusAndType, type Violation } from "../../src/base/errors.ts";
import { t } from "../../src/messages/index.ts";
import { sentences } from "../../src/api/account/balance-sentences.ts";
import type { Examples, Failure, Operation } from "./definition.ts";
import type { HeaderName } from "./headers.ts";

export type Family = "common" | "tasks" | "balance";

/** The error envelope of a path. */
export function pathFamily(path: string): Family {
  if (/^(?:\/v1)?(?:\/user)?\/balance$/.test(path)) return "balance";
  return /^\/v1\/tasks(?:\/|$)/.test(path) ? "tasks" : "common";
}

export const envelopes: Record<Family, z.ZodMiniType> = { common: errorAnswer, tasks: taskError, balance: balanceError };

const ofBodies: ErrorCode[] = ["invalid_json", "body_too_slow", "body_too_large", "unsupported_media_type"];

/** Every error of an operation, by its HTTP status. */
export function failuresByStatus(
  family: Family,
  { security = "key", query, body, upload, errors = [] }: Operation,
): Map<number, ErrorCode[]> {
  const all: Failure[] = [
    ...(query || (body && body !== "none") ? (["invalid_request"] as const) : []),
    ...(body || upload ? ofBodies : []),
    ...(security === "none" ? [] : (["unauthorized", "rate_limit_exceeded"] as const)),
    // Answered to a client token on a path of `key`, and to a key or token outside its scope.
    ...(security === "key" || security === "token" ? (["key_scope"] as const) : []),
    // Answered if the operator has set no secret: then the admin API does not exist.
    ...(security === "admin" ? (["not_found"] as const) : []),
    ...errors,
    "internal_error",
    ...(family === "balance" ? [] : (["unavailable"] as const)),
  ];
  const byStatus = new Map<number, ErrorCode[]>();
  for (const failure of all) {
    const { code, status } = typeof failure === "string" ? { code: failure, status: statusAndType(failure).status } : failure;
    const codes = byStatus.get(status) ?? [];
    if (!codes.includes(code)) byStatus.set(status, [...codes, code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

const defaultViolation: Violation = {
  param: "limit",
  rule: "out_of_range",
  values: { minimum: 1, maximum: 100 },
  allowed: { minimum: 1, maximum: 100 },
};
const examplePrice = 0.12;
const violations: Partial<Record<ErrorCode, Violation>> = {
  model_not_found: { param: "model", rule: "unknown_model", allowed: ["imgA-4", "imgB-4o-image"] },
  model_not_available: { param: "model", rule: "model_not_available" },
  unsupported_parameter: { param: "metadata.storyboard", rule: "unsupported_parameter" },
  cost_limit_exceeded: { param: "max_cost", rule: "above_max_cost", values: { price: examplePrice }, allowed: examplePrice },
  context_length_exceeded: { param: "messages", rule: "context_length_exceeded" },
  conflict: { param: "email", rule: "in_use" },
};

const ofBalances: Partial<Record<ErrorCode, string[]>> = {
  unauthorized: [sentences.noHeader, sentences.unknownKey, sentences.unknownUser],
  key_scope: [sentences.key_scope],
  rate_limit_exceeded: [sentences.rate_limit_exceeded],
  internal_error: [sentences.fault],
};

/** The error's message in English. */
export const explain = (family: Family, code: ErrorCode) => (family === "balance" ? (ofBalances[code] ?? []).join(". ") : t("en", code));

/** Examples of an error answer for this family of paths, in English. */
export function failureExamples(family: Family, code: ErrorCode, status: number, violation: Violation | undefined): Examples {
  if (family !== "balance") return { [code]: failureExample(family, code, status, violation) };
  return Object.fromEntries(
    (ofBalances[code] ?? []).map((message) => [message.toLowerCase().replaceAll(" ", "_"), { success: false, message }]),
  );
}

function failureExample(family: Family, code: ErrorCode, status: number, violation: Violation | undefined): object {
  const isOfPath = code === "model_not_found" && status === 404;
  const about = code === "invalid_request" ? (violation ?? defaultViolation) : isOfPath ? undefined : violations[code];
  const error = errorBody(new ApiError(code, { violations: about ? [about] : [] }), "en");
  return family === "tasks" ? { code: status, message: error.message, error } : { error };
}

/** The headers of an error answer in addition to those of every answer. */
export function failureHeaders(status: number, family: Family): HeaderName[] {
  const isRefused = status === 401 && family !== "balance";
  return [
    ...(family === "balance" ? (["access-control-allow-origin"] as const) : (["content-language", "vary"] as const)),
    ...(isRefused ? (["www-authenticate"] as const) : []),
    ...(status === 429 ? (["x-ratelimit-reset-requests"] as const) : []),
    ...(status === 402 || status === 429 || status === 503 ? (["retry-after"] as const) : []),
  ];
}
