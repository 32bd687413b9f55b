/** Asks the gateway in the caller's name, and turns its refusals into OpenAI's errors. */

import { toOpenAiError } from "./errors.ts";
import type { AppContext } from "./paths.ts";

/** What goes along with every question: who asks, in which language, and how often the caller wants to pay. */
const forwarded = ["authorization", "accept-language", "cf-connecting-ip", "user-agent"];

/** Asks the gateway for a path of its own, with `body` as JSON. Throws `OpenAiError` when it refuses. */
export async function ask(
  c: AppContext,
  path: string,
  { method, body, headers = {} }: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Response> {
  const own = forwarded.flatMap((name) => {
    const value = c.req.header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const language = c.req.query("language");
  const url = new URL(path, c.req.url);
  if (language !== undefined) url.searchParams.set("language", language);
  const response = await c.env.API.fetch(
    new Request(url, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: { ...Object.fromEntries(own), ...(body !== undefined && { "content-type": "application/json" }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  if (response.status >= 400) throw await toOpenAiError(response);
  return response;
}

/** The gateway's answer as it is. */
export const passOn = (response: Response) => new Response(response.body, response);
