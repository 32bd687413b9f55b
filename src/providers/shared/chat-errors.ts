/** What an error in OpenAI's format means for a chat, before its answer or inside its stream. The upstream's text is never kept. */

import { ProviderError } from "../provider.ts";
import { readJson, toFault } from "./http.ts";

/** `ResponseError.code` in openai 7.55.0's types, and what its images, videos and Azure's chat answer. */
export const contentCodes = new Set([
  "moderation_blocked",
  "content_policy_violation",
  "content_filter",
  "invalid_prompt",
  "image_content_policy_violation",
]);
export const moneyCodes = new Set(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"]);
/** The model refuses a field or value that others of the same format take. */
const modelCodes = new Set(["unsupported_parameter", "unsupported_value", "unknown_parameter"]);

/** Only codes and paths of fields: both stand in answers and logs. */
const word = (value: unknown, form: RegExp) => (typeof value === "string" && form.test(value) ? value : "");

/** The fault behind an `error` value (an object, as OpenAI's; anything else says nothing) that came with this status. */
export function toChatFault(error: unknown, { status, headers }: { status: number; headers: Headers }): ProviderError {
  const { code: given, type, param } = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  const code = word(given, /^\w{1,60}$/) || word(type, /^\w{1,60}$/);
  const message = `chat${code && ` (${code})`}: ${status}`;
  if (contentCodes.has(code)) return new ProviderError("content", message);
  if (moneyCodes.has(code)) return new ProviderError("account", message);
  // A retired model is 404, and 403 where the project may not see it: neither is about the credentials.
  if (code === "model_not_found") return new ProviderError("refused", message);
  if (code === "context_length_exceeded" || [400, 413, 422].includes(status)) {
    const path = word(param, /^\w{1,60}(?:\.?(?:\w{1,60}|\[\d{1,6}\])){0,20}$/).replaceAll(".[", "[");
    return new ProviderError("refused", message, {
      malformed: {
        code: code === "context_length_exceeded" ? code : "invalid_request",
        ...(path && { param: path }),
        onlyHere: modelCodes.has(code),
      },
    });
  }
  return toFault({ status, headers }, code ? `chat (${code})` : "chat");
}

/** The fault that a refused chat throws. */
export async function readChatFault(response: Response): Promise<ProviderError> {
  const body = await readJson<{ error?: unknown }>(response).catch(() => undefined); // its status says enough
  return toChatFault(body?.error, response);
}

/** The fault of an `error` inside a stream or an answer with status 200. Some gateways put an HTTP status into its `code`. */
export function toStreamFault(error: unknown): ProviderError {
  const code = typeof error === "object" && error !== null && "code" in error ? Number(error.code) : Number.NaN;
  return toChatFault(error, { status: code >= 400 && code < 600 ? code : 500, headers: new Headers() });
}
