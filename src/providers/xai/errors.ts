/** xAI's error bodies, mapped to verdicts and faults. */

import { toChatFault } from "../shared/chat-errors.ts";
import { readJson, toFault } from "../shared/http.ts";
import { blocked, type Failed, ProviderError } from "../provider.ts";
import { toUsage, type WireUsage } from "./usage.ts";

/** `{code, error}` with sentences in both, or OpenAI's `{error: {message, code}}` (@ai-sdk/xai 5.0.12, `xai-error.ts`). */
interface WireError {
  code?: string | null;
  error?: string | { message?: string | null; code?: string | number | null } | null;
  usage?: WireUsage | null;
}

/**
 * The sentences of a refused content: `code` is that of any invalid argument or missing permission. They come with 400 and 403, for a
 * prompt and for a finished work (vercel/ai 13390, UKGovernmentBEIS/inspect_ai 2267), and xAI bills such requests. A failed video has the
 * code CONTENT_POLICY_VIOLATION in the tests of xAI's own client (xai-org/xai-sdk-python, `tests/sync/video_test.py`).
 */
const moderated = /content moderation|content.policy|violates usage guidelines|SAFETY_CHECK_TYPE/i;
/** With 403 or 429: a 400 may repeat what a caller wrote. Waiting does not help, as it does for a rate limit. */
const noMoney = /used all available credits|spending limit|doesn't have any credits/i;
/** With 400. */
const wrongKey = /^Incorrect API key/i;

const toText = ({ error }: WireError): string => (typeof error === "string" ? error : (error?.message ?? ""));

/** True if an error's sentence or code says that the content was refused. */
export const isModerated = (text: unknown): boolean => typeof text === "string" && moderated.test(text);

/** An error answer: whether the content was refused, and the fault if not. The upstream's text is not kept, because it names the account. */
async function readError(response: Response, what: string): Promise<{ isBlocked: boolean; body: WireError; fault: ProviderError }> {
  const { status } = response;
  const body = (await readJson<WireError>(response).catch(() => undefined)) ?? {}; // the status alone is used
  const text = toText(body);
  const isAccount = (status === 400 ? wrongKey : noMoney).test(text);
  const fault = isAccount ? new ProviderError("account", `${what}: ${status}`) : toFault(response, what);
  return { isBlocked: status >= 400 && status < 500 && isModerated(text), body, fault };
}

/** Returns the verdict of an error answer to a start or poll. Throws faults. */
export async function readRefusal(response: Response, what: string): Promise<Failed> {
  const { isBlocked, body, fault } = await readError(response, what);
  if (isBlocked) return { ...blocked, usage: toUsage(body.usage) };
  throw fault;
}

/** The fault that a refused chat throws. */
export async function readChatFault(response: Response): Promise<ProviderError> {
  const { isBlocked, body, fault } = await readError(response, "chat");
  if (isBlocked) return new ProviderError("content", `chat: ${response.status}`);
  return fault.malformed && typeof body.error === "object" ? toChatFault(body.error, response) : fault;
}
