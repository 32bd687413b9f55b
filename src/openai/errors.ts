/** Errors in OpenAI's shape, and how the gateway's own become them. The only place where error answers are made. */

import type { ContentfulStatusCode } from "hono/utils/http-status";
import { chooseLanguage } from "../messages/language.ts";
import { translate, type Sentence, translateViolation } from "./messages.ts";
import type { AppContext } from "./paths.ts";

interface Details {
  param?: string | null;
  code?: string | null;
  headers?: Record<string, string>;
  /** What the field may be, where the gateway says so. */
  allowed?: unknown;
}

/** An error as OpenAI's clients know it: `{error: {message, type, param, code}}`. */
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

/** The language of an answer's sentences, as headers. */
export const languageHeaders = (c: AppContext) => ({ "content-language": readLanguage(c), vary: "Accept-Language" });

/** An error that one of our own sentences describes. */
export const refuse = (c: AppContext, status: number, sentence: Sentence, values?: Record<string, string>, details?: Details) =>
  new OpenAiError(status, translate(readLanguage(c), sentence, values), details);

/** An error of the gateway's own, found before it is asked. */
export const refuseLike = (c: AppContext, status: number, code: string) =>
  toError({ message: translate(readLanguage(c), code), code }, status, status === 503 ? { "retry-after": "1" } : {});

/** 400 for a field that breaks a rule: one of ours, or of the gateway's own (`required`, `not_one_of`, `wrong_type`). */
export const refuseField = (c: AppContext, param: string, rule: string, values?: Record<string, string | number>) =>
  new OpenAiError(400, translateViolation(readLanguage(c), param, rule, values), { param });

/** Rethrows what the gateway has against a field under the name that OpenAI's callers know it by. */
export const renameField = (rename: (param: string) => string | undefined) => (error: unknown) => {
  if (!(error instanceof OpenAiError) || error.param === null) throw error;
  const param = rename(error.param) ?? error.param;
  const message = error.message.startsWith(error.param) ? param + error.message.slice(error.param.length) : error.message;
  throw new OpenAiError(error.status, message, { param, code: error.code, headers: error.headers });
};

/** OpenAI's word for the kind of an error. */
function toType({ status, code }: OpenAiError): string {
  if (code === "insufficient_quota") return "insufficient_quota";
  if (status === 429) return "requests";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

/** What OpenAI answers where the gateway has a word and a status of its own. */
const changed: Record<string, { status?: number; code?: string | null }> = {
  unauthorized: { code: "invalid_api_key" },
  insufficient_quota: { status: 429 },
  budget_exceeded: { status: 429, code: "insufficient_quota" },
  content_policy_violation: { status: 400 },
  model_not_found: { status: 404 },
  model_not_available: { status: 404, code: "model_not_found" },
  task_not_found: { code: "not_found" },
  invalid_request: { code: null },
};

/** What the gateway says about an error of its own. */
interface GatewayError {
  message: string;
  code: string;
  param?: string | null;
  details?: { allowed?: unknown }[];
}

/** An error of the gateway, by its own code, as OpenAI would have said it. */
export function toError(
  { message, code, param = null, details }: GatewayError,
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

/** Headers of a refusal that callers act on. */
const kept = /^(?:retry-after|www-authenticate|allow|content-range|content-language|vary|x-ratelimit-.*)$/;

/** A refusal of the gateway as OpenAI would have said it. */
export async function toOpenAiError(response: Response): Promise<OpenAiError> {
  const { error } = await response.json<{ error: GatewayError }>();
  return toError(error, response.status, Object.fromEntries([...response.headers].filter(([name]) => kept.test(name))));
}

/** OpenAI's clients repeat 409, 429 and 5xx by themselves: these come out the same each time. */
const isFutile = ({ status, code }: OpenAiError) => status === 409 || code === "insufficient_quota";

/** Answers whatever was thrown. */
export function onError(thrown: Error, c: AppContext): Response {
  const isOurs = thrown instanceof OpenAiError;
  if (!isOurs) console.error(JSON.stringify({ unit: "openai", outcome: "internal_error", error: thrown.stack ?? String(thrown) }));
  const error = isOurs ? thrown : refuse(c, 500, "server_error");
  const headers = { ...languageHeaders(c), ...error.headers, ...(isFutile(error) && { "x-should-retry": "false" }) };
  return c.json({ error: error.body }, error.status as ContentfulStatusCode, headers);
}
