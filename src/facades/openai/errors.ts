/** Errors in OpenAI's format, and the conversion of the gateway's errors. The only place that builds error answers. */

import type { AppContext } from "./context.ts";
import type { GatewayError } from "../client.ts";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type ErrorCode, errorTable } from "../../base/errors.ts";
import { JsonBodyError } from "../../media/json-error.ts";
import { NetError } from "../../net/net-error.ts";
import { chooseLanguage, sentenceEnds } from "../../messages/language.ts";
import { translate, type Sentence, translateViolation } from "./messages.ts";

interface Details {
  param?: string | null;
  code?: string | null;
  headers?: Record<string, string>;
  /** The allowed values, if the gateway lists them. */
  allowed?: unknown;
}

/** An error in OpenAI's format: `{error: {message, type, param, code}}`. */
export class OpenAiError extends Error {
  override readonly name = "OpenAiError";
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;
  readonly headers: Record<string, string>;
  readonly allowed: unknown;

  constructor(status: number, message: string, { param = null, code = null, headers = {}, allowed }: Details = {}) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
    this.headers = headers;
    this.allowed = allowed;
  }

  /** The `error` object. */
  get body() {
    return { message: this.message, type: toType(this), param: this.param, code: this.code };
  }
}

const readLanguage = (c: AppContext) => chooseLanguage(c.req.query("language"), c.req.header("accept-language"));

/** The language of an answer's messages, as headers. */
export const languageHeaders = (c: AppContext) => ({ "content-language": readLanguage(c), vary: "Accept-Language" });

/** An error with one of this Worker's own messages. */
export const refuse = (c: AppContext, status: number, sentence: Sentence, values?: Record<string, string>, details?: Details) =>
  new OpenAiError(status, translate(readLanguage(c), sentence, values), details);

/** 405 with the methods that the path has. */
export const refuseMethod = (c: AppContext, allowed: string) =>
  new OpenAiError(405, translate(readLanguage(c), "method_not_allowed", { allowed }), {
    code: "method_not_allowed",
    headers: { allow: allowed },
  });

/** An error of the gateway's, found before the gateway is called, with the code's message or a more specific one. */
export const refuseLike = (c: AppContext, status: number, code: string, sentence = code) =>
  toError({ message: translate(readLanguage(c), sentence), code }, status, status === 503 ? { "retry-after": "1" } : {});

/** 400 for a field that violates a rule, either of this Worker or of the gateway (`required`, `not_one_of`, `wrong_type`). */
export const refuseField = (c: AppContext, param: string, rule: string, values?: Record<string, string | number>) =>
  new OpenAiError(400, translateViolation(readLanguage(c), param, rule, values), { param });

/** A gateway error about a field, with the name that the field has in OpenAI's API. */
export function withFieldRenamed(error: OpenAiError, rename: (param: string) => string | undefined): OpenAiError {
  if (error.param === null) return error;
  const param = rename(error.param) ?? error.param;
  const message = error.message.startsWith(error.param) ? param + error.message.slice(error.param.length) : error.message;
  return new OpenAiError(error.status, message, { param, code: error.code, headers: error.headers });
}

/** Rethrows a gateway error with `withFieldRenamed`. */
export const renameField = (rename: (param: string) => string | undefined) => (error: unknown) => {
  throw error instanceof OpenAiError ? withFieldRenamed(error, rename) : error;
};

/** OpenAI's `type` of an error. */
function toType({ status, code }: OpenAiError): string {
  if (code === "insufficient_quota") return "insufficient_quota";
  if (status === 429) return "requests";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

/** Error codes of the gateway for which OpenAI uses another code or status. */
const changed: Record<string, { status?: number; code?: string | null }> = {
  unauthorized: { code: "invalid_api_key" },
  insufficient_quota: { status: 429 },
  budget_exceeded: { status: 429, code: "insufficient_quota" },
  content_policy_violation: { status: 400 },
  model_not_found: { status: 404 },
  model_not_available: { status: 404, code: "model_not_found" },
  task_not_found: { code: "not_found" },
  file_not_found: { code: "not_found" },
  batch_not_found: { code: "not_found" },
  character_not_found: { code: "not_found" },
  invalid_request: { code: null },
};

/** Converts an error of the gateway to OpenAI's format. */
export function toError(
  { message, code, param = null, details }: Pick<GatewayError, "message" | "code"> & Partial<GatewayError>,
  status: number,
  headers: Record<string, string> = {},
): OpenAiError {
  const change = changed[code] ?? {};
  return new OpenAiError(change.status ?? status, message, {
    param,
    code: "code" in change ? (change.code ?? null) : code,
    headers,
    allowed: details?.[0]?.allowed,
  });
}

/** Converts an error that has no HTTP status of its own: of a failed task, or of a line of a batch. */
export function toFailure(error: Parameters<typeof toError>[0]): OpenAiError {
  const isCallers = error.code === "invalid_input" || error.code === "cancelled";
  return toError(error, isCallers ? 400 : (errorTable[error.code as ErrorCode]?.[0] ?? 500));
}

/** Headers of an error answer that clients use. */
const kept = /^(?:retry-after|www-authenticate|allow|content-range|content-language|vary|x-should-retry|x-ratelimit-.*)$/;

/** Converts an error answer of the gateway to OpenAI's format. */
export async function toOpenAiError(response: Response): Promise<OpenAiError> {
  const { error } = await response.json<{ error: GatewayError }>();
  if (error.code === "model_not_found") {
    const language = chooseLanguage(response.headers.get("content-language") ?? undefined, undefined);
    error.message = `${error.message.replace(/[.。]$/, "")}${sentenceEnds[language]}${translate(language, "see_models")}`;
  }
  return toError(error, response.status, Object.fromEntries([...response.headers].filter(([name]) => kept.test(name))));
}

/** OpenAI's clients retry 409, 429 and 5xx automatically. A retry of these errors would get the same answer. */
const isFutile = ({ status, code }: OpenAiError) => status === 409 || code === "insufficient_quota";

/** Converts any thrown error to an answer. */
export function onError(thrown: Error, c: AppContext): Response {
  const isOurs = thrown instanceof OpenAiError;
  if (!isOurs) console.error(JSON.stringify({ unit: "openai", outcome: "internal_error", error: thrown.stack ?? String(thrown) }));
  const error = isOurs ? thrown : refuse(c, 500, "server_error");
  const headers = { ...languageHeaders(c), ...error.headers, ...(isFutile(error) && { "x-should-retry": "false" }) };
  return c.json({ error: error.body }, error.status as ContentfulStatusCode, headers);
}

/** The refusal of a body that could not be read as JSON; other errors as they are. */
export function refuseBody(c: AppContext, error: unknown): unknown {
  if (error instanceof SyntaxError) return refuseLike(c, 400, "invalid_json");
  if (!(error instanceof JsonBodyError)) return error;
  if (error.cause instanceof NetError && error.cause.reason === "timeout") return refuseLike(c, 408, "body_too_slow");
  return error.reason === "too_large" ? refuseLike(c, 413, "body_too_large") : refuseLike(c, 400, "invalid_json");
}
