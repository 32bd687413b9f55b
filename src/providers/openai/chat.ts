/** Chat completions in OpenAI's format, for every upstream that speaks it. */

import { ask, jsonPost } from "../shared/http.ts";
import { parseRefusal } from "./errors.ts";
import { type Provider, ProviderError } from "../provider.ts";

/**
 * The `chat` of a provider: `POST {base}/chat/completions` with these headers, whole or streamed. `adapt` changes the body
 * where an upstream's differs from what the gateway takes.
 */
export function chatAt(
  base: string,
  headers: Record<string, string>,
  adapt: (body: Record<string, unknown>) => Record<string, unknown> = (body) => body,
): NonNullable<Provider["chat"]> {
  return async ({ body, stream, signal }) => {
    const { stream_options: options, ...rest } = body;
    // Refused beside anything but `stream: true`.
    const sent = adapt({ ...rest, ...(stream && options !== undefined && { stream_options: options }) });
    const response = await ask(globalThis, `${base}/chat/completions`, { ...jsonPost(sent, headers), signal });
    if (response.ok) return response;
    const refusal = await parseRefusal(response, "chat");
    if (refusal instanceof ProviderError) throw refusal;
    throw new ProviderError(`chat: ${refusal.code}`, {
      retryable: false,
      nothingAccepted: true,
      contentPolicy: refusal.code === "content_policy_violation",
    });
  };
}
