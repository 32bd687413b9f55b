/** What the error answers of OpenAI's format mean, for every endpoint and for whoever speaks the same format. */

import { toFault, readJson } from "../shared/http.ts";
import { type Failed, ProviderError } from "../provider.ts";

interface WireError {
  error?: { code?: string | number | null; type?: string | null; param?: string | null } | string | null;
}

/** `ResponseError.code` in openai 7.55.0's types, and what its images, videos and Azure's chat answer. */
const contentCodes = new Set([
  "moderation_blocked",
  "content_policy_violation",
  "content_filter",
  "invalid_prompt",
  "image_content_policy_violation",
]);
const moneyCodes = new Set(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"]);
/** The same types: what can be wrong with a picture. */
const isPictureCode = (code: string) =>
  /^(?:image_|invalid_(?:base64_)?image|unsupported_image|empty_image|failed_to_download_image)/.test(code);
const isInputParam = (param: string) => /^(?:images?|input_reference|video)\b/.test(param);

/** Whether an error code is a verdict on the content. */
export const isContentCode = (code: unknown) => typeof code === "string" && contentCodes.has(code);

/**
 * A submission that was refused: a verdict on its content, its pictures or its clip, or the fault to throw. The upstream's own words are
 * dropped: they repeat parts of prompts and keys.
 */
export async function parseRefusal(response: Response, what: string): Promise<Failed | ProviderError> {
  const { status } = response;
  const body = await readJson<WireError>(response).catch(() => undefined); // its status says enough
  const { code: given, param: field } = typeof body?.error === "object" && body.error !== null ? body.error : {};
  const code = typeof given === "string" && /^\w{1,60}$/.test(given) ? given : "";
  const param = typeof field === "string" ? field : "";
  const isRefusal = status >= 400 && status < 500 && status !== 401 && status !== 429;
  if (isRefusal && contentCodes.has(code)) return { status: "failed", code: "content_policy_violation" };
  if ((status === 400 || status === 422) && (isPictureCode(code) || isInputParam(param)))
    return { status: "failed", code: "invalid_input" };
  const message = code ? `${what} (${code})` : what;
  if (moneyCodes.has(code)) return new ProviderError(`${message}: ${status}`, { retryable: false, nothingAccepted: true, account: true });
  // A retired model is 404, and 403 where the project may not see it: neither is about the credentials.
  if (code === "model_not_found") return new ProviderError(`${message}: ${status}`, { retryable: false, nothingAccepted: true });
  return toFault(response, message);
}

/** The verdict of a submission that was refused. Throws what is none. */
export async function refused(response: Response, what: string): Promise<Failed> {
  const refusal = await parseRefusal(response, what);
  if (refusal instanceof ProviderError) throw refusal;
  return refusal;
}
