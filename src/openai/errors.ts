/** Errors in OpenAI's shape, and how the gateway's own become them. The only place where error answers are made. */

import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";

/** Headers of a refusal that callers act on. */
const kept = ["retry-after", "www-authenticate", "allow", "content-language", "vary", /^x-ratelimit-/];

/** An error as OpenAI's clients know it: `{error: {message, type, param, code}}`. */
export class OpenAiError extends Error {
  override readonly name = "OpenAiError";
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    message: string,
    { param = null, code = null, headers = {} }: { param?: string | null; code?: string | null; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
    this.headers = headers;
  }

  /** The `error` object. */
  get body() {
    return { message: this.message, type: toType(this), param: this.param, code: this.code };
  }
}

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

/** OpenAI's clients repeat 408, 409, 429 and 5xx by themselves: these come out the same each time. */
const isFutile = (status: number, code: string | null) => status === 504 || status === 409 || code === "insufficient_quota";

/** A refusal of the gateway as OpenAI would have said it. Details of further violations stay in the message's place: the first. */
export async function toOpenAiError(response: Response): Promise<OpenAiError> {
  const { error } = await response.json<{ error: { message: string; code: string; param: string | null } }>();
  const { status = response.status, code = error.code } = changed[error.code] ?? {};
  const headers = [...response.headers].filter(([name]) => kept.some((one) => (typeof one === "string" ? one === name : one.test(name))));
  return new OpenAiError(status, error.message, { param: error.param, code, headers: Object.fromEntries(headers) });
}

/** Answers whatever was thrown. */
export function onError(thrown: Error, c: Context): Response {
  if (!(thrown instanceof OpenAiError)) console.error(JSON.stringify({ event: "openai", outcome: "internal_error", error: thrown.stack }));
  const error = thrown instanceof OpenAiError ? thrown : new OpenAiError(500, "The server had an error while processing your request.");
  const headers = { ...error.headers, ...(isFutile(error.status, error.code) && { "x-should-retry": "false" }) };
  return c.json({ error: error.body }, error.status as ContentfulStatusCode, headers);
}
