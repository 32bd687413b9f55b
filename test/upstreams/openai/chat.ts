/**
 * OpenAI's chat completions emulated, with the refusals of gpt-5.x while it reasons, and of gpt-6.x. Its directives beside the common ones: `[long]` writes up to
 * 100,000 tokens, `[tool]` calls a tool, `[reason]` shows its reasoning, `[marks]` adds fields of other gateways, `[alive]` begins with a comment, `[garbled]` sends a line
 * that is not JSON, `[fails-inside]`, `[filtered-inside]` and `[breaks]` end a stream half-way, `[too-long]`, `[bad-schema]`,
 * `[bad-type]` and `[strange-field]` are refused, `[page]` and `[empty]` are what a proxy in front of it answers, `[mislabelled]` sends the answer
 * as a page, and `[cut]` ends a whole answer within its first field.
 */

import type { Context } from "hono";
import { hasDirective, record } from "../emulator.ts";
import { fields, noModel, obey, Refusal } from "./fields.ts";

const texts = /^(?:gpt-\d|o\d|chat)/;

interface Message {
  role: string;
  content?: string | { type: string; text?: string }[] | null;
}

const typed = (type: "integer" | "number" | "boolean" | "object" | "array" | "string" | "any", ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { type }]));

const known = {
  model: { type: "string", required: true },
  messages: { type: "array", required: true },
  ...typed("boolean", "stream", "logprobs", "parallel_tool_calls", "store"),
  ...typed("integer", "max_tokens", "max_completion_tokens", "n", "seed", "top_logprobs"),
  ...typed("number", "temperature", "top_p", "presence_penalty", "frequency_penalty"),
  ...typed("any", "stop", "tool_choice", "function_call"),
  ...typed("object", "stream_options", "logit_bias", "response_format"),
  ...typed("array", "tools", "functions"),
  ...typed("string", "reasoning_effort", "verbosity"),
} as const;

/** From reports about the real API: fields that gpt-5.x accepts only with `reasoning_effort: "none"`. */
function refuseWhileReasoning(body: Record<string, unknown>): void {
  if (body["reasoning_effort"] === "minimal")
    throw new Refusal(400, "unsupported_value", "Unsupported value: 'minimal'.", { param: "reasoning_effort" });
  if (body["reasoning_effort"] === "none") return;
  for (const name of ["top_p", "stop", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"])
    if (body[name] !== undefined) throw new Refusal(400, "unsupported_parameter", `Unsupported parameter: '${name}'.`, { param: name });
  if (body["temperature"] !== undefined && body["temperature"] !== 1)
    throw new Refusal(400, "unsupported_value", "Only the default (1) value is supported.", { param: "temperature" });
  if (body["tools"] ?? body["functions"])
    throw new Refusal(400, null, "Function tools with reasoning_effort are not supported for gpt-5.5 in /v1/chat/completions.", {
      param: "reasoning_effort",
    });
}

/**
 * From reports about the real API and the models' pages: gpt-6.x takes no temperature; Astra and 6.1 take tools only through Responses,
 * Luna and Sol of 6 with `reasoning_effort: "none"`, which Astra and 6.1 Sol refuse.
 */
function refuseSixth(model: string, body: Record<string, unknown>): void {
  const effort = body["reasoning_effort"];
  if (effort === "minimal" || (effort === "none" && /-astra|^gpt-6\.1-sol/.test(model)))
    throw new Refusal(400, "unsupported_value", `Unsupported value: '${effort}'.`, { param: "reasoning_effort" });
  for (const name of ["temperature", "top_p", "stop", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"])
    if (body[name] !== undefined) throw new Refusal(400, "unsupported_parameter", `Unsupported parameter: '${name}'.`, { param: name });
  if ((body["tools"] ?? body["functions"]) && !(effort === "none" && /^gpt-6-(?:luna|sol)/.test(model)))
    throw new Refusal(400, null, `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions.`, {
      param: "reasoning_effort",
    });
}

export function chat(c: Context, body: Record<string, unknown>): Response {
  const {
    model,
    messages,
    stream,
    stream_options: options,
  } = fields(body, known) as { model: string; messages: Message[]; stream?: boolean; stream_options?: { include_usage?: boolean } };
  const prompt = messages
    .map(({ content }) => (typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("")))
    .join("\n");
  if (!texts.test(model)) throw noModel(model);
  if (options && !stream)
    throw new Refusal(400, null, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", { param: "stream_options" });
  if (/^(?:gpt-[56]|o\d)/.test(model) && body["max_tokens"] !== undefined)
    throw new Refusal(400, "unsupported_parameter", "Use 'max_completion_tokens' instead.", { param: "max_tokens" });
  if (/^gpt-5\.\d/.test(model)) refuseWhileReasoning(body);
  if (model.startsWith("gpt-6")) refuseSixth(model, body);
  record({ upstream: "openai", call: "chat", prompt, body });
  obey(prompt, model);
  if (hasDirective(prompt, "moderated"))
    throw new Refusal(400, "content_filter", "The response was filtered due to the prompt.", { param: "prompt" });
  if (hasDirective(prompt, "too-long"))
    throw new Refusal(400, "context_length_exceeded", "This model's maximum context length is 1050000 tokens.", { param: "messages" });
  if (hasDirective(prompt, "bad-schema"))
    throw new Refusal(400, "invalid_function_parameters", "Invalid schema for function 'clock'.", {
      param: "tools[0].function.parameters",
    });
  if (hasDirective(prompt, "bad-type"))
    throw new Refusal(400, "invalid_type", "Invalid type for 'messages[0].content'.", { param: "messages.0.content" });
  if (hasDirective(prompt, "strange-field"))
    throw new Refusal(400, "unknown_parameter", "Unknown parameter: 'secret_route'.", { param: "secret_route" });
  if (hasDirective(prompt, "page")) return c.html("\n<!doctype html><title>Sign in</title>");
  if (hasDirective(prompt, "empty")) return c.body("", 200, { "content-length": "0" });
  if (hasDirective(prompt, "cut")) return c.body('{"id":', 200, { "content-type": "application/json" });
  const answer = stream ? streamed(c, prompt, body, options?.include_usage === true) : whole(c, prompt, body);
  if (hasDirective(prompt, "mislabelled")) answer.headers.set("content-type", "text/html; charset=UTF-8");
  return answer;
}

const words = ["Good", " morning", "."];
/** Fields that gateways in front of makers add. */
const marks = { provider: "SecretMaker", system_fingerprint: "fp_secret", service_tier: "default", native_finish_reason: "STOP" };
const call = { id: "call_1", type: "function", function: { name: "clock", arguments: '{"zone":"Paris"}' } };

/** The fields of a message: in a stream they are sent piece by piece. */
const saidTo = (prompt: string) => ({
  ...(hasDirective(prompt, "reason") && { reasoning: "Let me think." }),
  ...(hasDirective(prompt, "tool") ? { content: null, tool_calls: [call] } : { content: words.join("") }),
});

/** A model without a limit writes as much as the directive says. */
function readUsage(prompt: string, body: Record<string, unknown>) {
  const wanted = hasDirective(prompt, "long") ? 100_000 : 3;
  const completion = Math.min(wanted, Number(body["max_completion_tokens"] ?? body["max_tokens"] ?? Infinity));
  return {
    prompt_tokens: 12,
    completion_tokens: completion,
    total_tokens: 12 + completion,
    completion_tokens_details: { reasoning_tokens: 0 },
    ...(hasDirective(prompt, "marks") && { cost: 0.5, cost_details: { upstream_inference_cost: 0.4 } }),
  };
}

const common = (model: unknown) => ({ id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000), model });
const markedIf = (prompt: string) => (hasDirective(prompt, "marks") ? marks : {});

function whole(c: Context, prompt: string, body: Record<string, unknown>): Response {
  const reason = hasDirective(prompt, "tool") ? "tool_calls" : "stop";
  const message = { role: "assistant", refusal: null, ...saidTo(prompt), ...markedIf(prompt) };
  if (hasDirective(prompt, "fails-inside")) return c.json({ error: { message: "SecretMaker is down", code: 502 } });
  return c.json({
    ...common(body["model"]),
    ...markedIf(prompt),
    object: "chat.completion",
    choices: [{ index: 0, message, logprobs: null, finish_reason: reason, ...markedIf(prompt) }],
    usage: readUsage(prompt, body),
  });
}

function streamed(c: Context, prompt: string, body: Record<string, unknown>, isUsageAsked: boolean): Response {
  const head = { ...common(body["model"]), object: "chat.completion.chunk", ...markedIf(prompt) };
  const chunk = (choices: object[], more: object = isUsageAsked ? { usage: null } : {}) =>
    `data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`;
  const delta = (piece: object, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta: { ...piece, ...markedIf(prompt) }, logprobs: null, finish_reason, ...markedIf(prompt) }]);
  const isTool = hasDirective(prompt, "tool");
  const events = [
    ...(hasDirective(prompt, "alive") ? [": OPENROUTER PROCESSING\n\n"] : []),
    delta({ role: "assistant", content: "" }),
    ...(hasDirective(prompt, "reason") ? [delta({ reasoning: "Let me think." })] : []),
    ...(isTool
      ? [
          delta({ tool_calls: [{ index: 0, ...call, function: { name: "clock", arguments: "" } }] }),
          ...['{"zone":', '"Paris"}'].map((part) => delta({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
        ]
      : words.map((content) => delta({ content }))),
  ];
  if (hasDirective(prompt, "fails-inside"))
    events.push('data: {"error": {"message": "SecretMaker: key sk-secret", "code": "server_error"}}\n\n');
  else if (hasDirective(prompt, "filtered-inside")) events.push('data: {"error": {"message": "no", "code": "content_filter"}}\n\n');
  else if (hasDirective(prompt, "garbled")) events.push("data: Secret words of the answer\n\n");
  else if (!hasDirective(prompt, "breaks"))
    events.push(
      delta({}, isTool ? "tool_calls" : "stop"),
      ...(isUsageAsked ? [chunk([], { usage: readUsage(prompt, body) })] : []),
      "data: [DONE]\n\n",
    );
  return c.body(events.join(""), 200, { "content-type": "text/event-stream; charset=utf-8" });
}
