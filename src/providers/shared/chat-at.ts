/** Chat completions in OpenAI's format, for every upstream that supports it. */

import { readChatFault } from "./chat-errors.ts";
import { ask, jsonPost } from "./http.ts";
import type { Provider } from "../provider.ts";

/** The `chat` of a provider: `POST {base}/chat/completions` with these headers, whole or streamed. `readFault` reads a refusal. */
export function chatAt(
  base: string,
  headers: Record<string, string>,
  { readFault = readChatFault, fetcher = globalThis }: { readFault?: typeof readChatFault; fetcher?: { fetch: typeof fetch } } = {},
): NonNullable<Provider["chat"]> {
  return async ({ body, signal }) => {
    const response = await ask(fetcher, `${base}/chat/completions`, { ...jsonPost(body, headers), signal });
    if (response.ok) return response;
    throw await readFault(response);
  };
}
