/** Text models of the emulated Cloudflare: Workers AI's format for `run`, OpenAI's for the REST path. */

import { hasDirective, record } from "../emulator.ts";
import { refusal, refused } from "./refusals.ts";

const words = ["Hello", " there", "."];
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const events = (data: (object | string)[]) =>
  new Response(data.map((one) => `data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });

/** `run` of a text model. `[cut]` uses all allowed tokens, `[openai]` answers in OpenAI's format, `[break]` breaks off half-way, `[tool]` calls a tool. */
export function runText(prompt: string, model: string, input: Record<string, unknown>): Response {
  for (const name of ["model", "max_completion_tokens", "stream_options", "n"])
    if (name in input && model.startsWith("@cf/") && !/^@cf\/(?:openai|zai-org)\//.test(model))
      return refusal(400, 5004, `must NOT have additional property '${name}'`);
  const limit = input["max_tokens"];
  const used = hasDirective(prompt, "cut") ? { ...usage, completion_tokens: limit } : usage;
  const isOpenAi = hasDirective(prompt, "openai");
  const calls = hasDirective(prompt, "tool") ? [{ name: "weather", arguments: { city: "Paris" } }] : undefined;
  if (input["stream"] === true) {
    if (isOpenAi) return events([...chunks(), "[DONE]"]);
    const told = words.map((response) => ({ response, p: "abcdef" }));
    if (hasDirective(prompt, "break")) return events(told.slice(0, 1));
    return events([...told, ...(calls ? [{ response: "", tool_calls: calls }] : []), { response: "", usage: used }, "[DONE]"]);
  }
  const result = isOpenAi ? completion() : { response: words.join(""), usage: used, ...(calls && { tool_calls: calls }) };
  return Response.json({ result, success: true, errors: [], messages: [] });
}

const completion = () => ({
  id: "chatcmpl-upstream",
  object: "chat.completion",
  created: 1,
  model: "upstream",
  choices: [{ index: 0, message: { role: "assistant", content: words.join("") }, finish_reason: "stop" }],
  usage,
});

const chunks = () => [
  ...words.map((content) => ({
    id: "c",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  })),
  { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  { id: "c", object: "chat.completion.chunk", choices: [], usage },
];

/** `ai/v1/chat/completions`. */
export async function chat(request: Request): Promise<Response> {
  const body = (await request.json()) as { model?: string; messages?: { content?: unknown }[]; stream?: boolean };
  const prompt = (body.messages ?? []).map((one) => JSON.stringify(one.content)).join("\n");
  const refusal_ = refused(prompt, body.model ?? "");
  record({ upstream: "cloudflare", call: refusal_ ? "refused" : "chat", prompt, body: { door: "rest", ...body } });
  if (refusal_) return refusal_;
  return body.stream ? events([...chunks(), "[DONE]"]) : Response.json(completion());
}
