/** Any server with OpenAI's chat completions, such as vLLM or Ollama: each route names its own base URL. */

import { chatAt } from "../shared/chat-at.ts";
import { type Provider, ProviderError } from "../provider.ts";

/** The word for a server that asks for no key. */
const noKey = "none";

/**
 * The base URL of a route's settings; undefined if it is none. Only the operator writes routes, so its host may be any; the key goes
 * there.
 */
function readBase(settings: Record<string, unknown> | undefined): string | undefined {
  const text = settings?.["base_url"];
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  return url.username || url.password || url.search || url.hash ? undefined : url.href.replace(/\/+$/, "");
}

/** The account of a route: each server has its own. */
export const compatibleAccount = (settings: Record<string, unknown> | undefined): string => `compatible ${readBase(settings) ?? ""}`;

/** The provider; `key` is sent to the address of each route that is used. */
export function compatible(key: string): Provider {
  const headers: Record<string, string> = key === noKey ? {} : { authorization: `Bearer ${key}` };
  const onlyChats = () => Promise.reject(new ProviderError("refused", "the provider compatible has chats only"));
  return {
    name: "compatible",
    repeatable: false,
    startTimeoutMs: () => 1_000,
    reportsProgress: false,
    unsupportedField: () => "model",
    wrongSetting: (settings) => (readBase(settings) ? Object.keys(settings).find((name) => name !== "base_url") : "base_url"),
    start: onlyChats,
    poll: onlyChats,
    async chat(request) {
      const base = readBase(request.settings);
      if (base === undefined) throw new ProviderError("refused", "chat: settings.base_url of the route is missing or no http(s) URL");
      return chatAt(base, headers)(request);
    },
  };
}
