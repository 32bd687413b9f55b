/** Converts an error in OpenAI's format to a fault of a chat, before its answer or inside its stream. The upstream's text is never kept. */

import { ProviderError } from "../provider.ts";
import type { FieldReason } from "../provider-error.ts";
import { readJson, toFault } from "./http.ts";

/** `ResponseError.code` in openai 7.55.0's types, and the codes of its images, videos and Azure's chat. */
export const contentCodes = new Set([
  "moderation_blocked",
  "content_policy_violation",
  "content_filter",
  "invalid_prompt",
  "image_content_policy_violation",
]);
export const moneyCodes = new Set(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"]);
/** A retired model, or one that is not open to the project (403) or its organization (403, without a code): neither is about the credentials. */
export const lacksModel = (status: number, code: string, message: unknown) =>
  code === "model_not_found" || (status === 403 && typeof message === "string" && message.includes("must be verified to use"));
/** Codes for a field or value that this model refuses and others with the same format accept. */
export const modelCodes = new Set(["unsupported_parameter", "unsupported_value", "unknown_parameter"]);

/** Why a field was refused, by the upstream's code: seen in OpenAI's answers, and in those of upstreams with the same format. */
const reasons: [RegExp, FieldReason][] = [
  [/^invalid_(?:function_parameters|json_schema|schema)$/, "bad_schema"],
  [/^(?:unsupported|unknown)_parameter$|^extra_forbidden$/, "field_not_supported"],
  [/^unsupported_value$/, "value_not_supported"],
  [/^(?:string|array|object)_above_max_(?:length|properties)$|^too_long$/, "longer_than_accepted"],
  [/^(?:integer|decimal|number)_(?:above_max|below_min)_value$/, "value_out_of_range"],
  [/^invalid_type$/, "not_of_this_type"],
  [/^missing(?:_required_parameter)?$/, "required"],
];
/** The fields that hold a caller's JSON Schema: some upstreams name the field and give no code. */
const schemaFields = /^(?:tools\[\d+\]\.(?:function\.)?parameters|functions\[\d+\]\.parameters|response_format\.json_schema\.schema)\b/;

const toReason = (code: string, param: string): FieldReason | undefined =>
  reasons.find(([codes]) => codes.test(code))?.[1] ?? (schemaFields.test(param) ? "bad_schema" : undefined);

/** A field's path in the notation of our own errors: `tools.0.function` and `messages.[0]` become `tools[0].function` and `messages[0]`. */
const toPath = (param: string) => param.replaceAll(".[", "[").replace(/\.(\d{1,6})(?=[.[]|$)/g, "[$1]");

/** Only codes and field paths match: both appear in answers and logs. */
const word = (value: unknown, form: RegExp) => (typeof value === "string" && form.test(value) ? value : "");

/** The fault for an `error` value with this status. The value is an object in OpenAI's format; anything else is ignored. */
export function toChatFault(error: unknown, { status, headers }: { status: number; headers: Headers }): ProviderError {
  const { code: given, type, param, message: text } = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  const code = word(given, /^\w{1,60}$/) || word(type, /^\w{1,60}$/);
  const message = `chat${code && ` (${code})`}: ${status}`;
  if (contentCodes.has(code)) return new ProviderError("content", message);
  if (moneyCodes.has(code)) return new ProviderError("account", message);
  if (lacksModel(status, code, text)) return new ProviderError("model", message);
  if (code === "context_length_exceeded" || [400, 413, 422].includes(status)) {
    const path = toPath(word(param, /^\w{1,60}(?:\.?(?:\w{1,60}|\[\d{1,6}\])){0,20}$/));
    return new ProviderError("refused", message, {
      malformed: {
        code: code === "context_length_exceeded" ? code : "invalid_request",
        ...(path && { param: path, reason: toReason(code, path) }),
        onlyHere: modelCodes.has(code),
      },
    });
  }
  return toFault({ status, headers }, code ? `chat (${code})` : "chat");
}

/** The fault that a refused chat throws. */
export async function readChatFault(response: Response): Promise<ProviderError> {
  const body = await readJson<{ error?: unknown }>(response).catch(() => undefined); // the status alone is used
  return toChatFault(body?.error, response);
}

/** Words of errors that pass, in `code` or `type`. */
const busyWords = /rate_?limit|overloaded|unavailable|too_many/i;

/** The fault for an `error` inside a stream or an answer with status 200. Some gateways put an HTTP status into its `code`. */
export function toStreamFault(error: unknown): ProviderError {
  const { code, type } = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  const given = Number(code ?? Number.NaN);
  const status = given >= 400 && given < 600 ? given : [code, type].some((one) => busyWords.test(String(one))) ? 503 : 500;
  return toChatFault(error, { status, headers: new Headers() });
}

/**
 * Throws if an answer with status 200 cannot be that of a model, so that nothing was generated: it has no body, or is an HTML page, as from a
 * proxy or a wrong base URL. The content type is not enough: some servers send JSON as `text/html`. A body with the type of an answer counts
 * as one: looking at it would cost each chat a copy.
 */
export async function refuseEmptyOrPage(response: Response): Promise<void> {
  const { headers } = response;
  const isTyped = /^(?:application\/json|text\/event-stream)\b/i.test(headers.get("content-type") ?? "");
  const isEmpty = !response.body || headers.get("content-length") === "0";
  if (!isEmpty && (isTyped || (await isAnswer(response.clone())))) return;
  await response.body?.cancel();
  throw new ProviderError("refused", `chat: ${response.status} with no body or an HTML page`);
}

/** False if the text begins like markup, or has nothing. What breaks off before it shows that may be an answer. */
async function isAnswer({ body }: Response): Promise<boolean> {
  try {
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? [])
      if (part.trim() !== "") return !part.trimStart().startsWith("<");
  } catch {
    return true; // its reader gets the fault
  }
  return false;
}
