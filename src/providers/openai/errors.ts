/** Converts the error answers of OpenAI's format, for every endpoint and every upstream with the same format. */

import { contentCodes, lacksModel, modelCodes, moneyCodes } from "../shared/chat-errors.ts";
import { toFault, readJson } from "../shared/http.ts";
import { badInput, blocked, type Failed, ownFailure, ProviderError, unknownWork } from "../provider.ts";

export interface WireError {
  error?: { code?: string | number | null; param?: string | null; message?: string | null } | string | null;
}

/** The types of errors about an image, from the same type definitions. */
const isImageCode = (code: string) =>
  /^(?:image_|invalid_(?:base64_)?image|unsupported_image|empty_image|failed_to_download_image)/.test(code);
const isInputParam = (param: string) => /^(?:images?|input_reference|video)\b/.test(param);

/** The verdict of an error that an answer with status 200 states. */
export const toFailure = (error: WireError["error"]): Failed =>
  contentCodes.has(String(typeof error === "object" ? error?.code : error)) ? blocked : ownFailure;

/**
 * Reads a refusal: a verdict on the content, images or clip, or the fault to throw. The upstream's text is not kept, because it may repeat
 * parts of prompts and keys.
 */
async function parseRefusal(response: Response, what: string): Promise<Failed | ProviderError> {
  const { status } = response;
  const body = await readJson<WireError>(response).catch(() => undefined); // the status alone is used
  const { code: given, param: field, message: text } = typeof body?.error === "object" && body.error !== null ? body.error : {};
  const code = typeof given === "string" && /^\w{1,60}$/.test(given) ? given : "";
  const param = typeof field === "string" ? field : "";
  const isRefusal = status >= 400 && status < 500 && status !== 401 && status !== 429;
  if (isRefusal && contentCodes.has(code)) return blocked;
  const isInput = isImageCode(code) || (isInputParam(param) && !modelCodes.has(code));
  if ((status === 400 || status === 422) && isInput) return badInput;
  const message = code ? `${what} (${code})` : what;
  if (moneyCodes.has(code)) return new ProviderError("account", `${message}: ${status}`);
  if (lacksModel(status, code, text)) return new ProviderError("model", `${message}: ${status}`);
  // Not the model is missing, but the source.
  if (what === "remix" && status === 404) return unknownWork;
  return toFault(response, message);
}

/** Returns the verdict of a refused submission. Throws faults. */
export async function readRefusal(response: Response, what: string): Promise<Failed> {
  const refusal = await parseRefusal(response, what);
  if (refusal instanceof ProviderError) throw refusal;
  return refusal;
}
