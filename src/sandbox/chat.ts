/** Chat completions in OpenAI's format: an answer that quotes the question, a value of a schema, or tool calls. */

import { type ChatMessage, type ChatOrder, lastMessage, toText } from "./chat-order.ts";
import { countPromptTokens, toTokens } from "./chat-tokens.ts";
import { type Call, callTools, isToolResult, valueFor } from "./chat-tools.ts";

/** A part of an answer, as tokens cut at the limit. */
export type Part = { kind: "reasoning" | "content"; tokens: string[] } | { kind: "call"; index: number; call: Call; tokens: string[] };

export interface Answer {
  /** The first fields of all chunks and of the whole answer. */
  head: { id: string; created: number; model: string; service_tier: string; system_fingerprint: string };
  parts: Part[];
  finishReason: "stop" | "length" | "tool_calls";
  usage: object;
}

const QUOTE_CHARACTERS = 400;

/** Composes the answer. Throws `Fault` "invalid_request" for schemas and tool choices that it cannot honour. */
export function compose(order: ChatOrder, now: number): Answer {
  const { parts, isCut } = cut(partsFor(order), Math.min(order.max_completion_tokens ?? Infinity, order.max_tokens ?? Infinity));
  const reasoning = countTokens(parts.filter(({ kind }) => kind === "reasoning"));
  const prompt = countPromptTokens(order);
  const completion = countTokens(parts);
  return {
    head: {
      id: `chatcmpl-${crypto.randomUUID()}`,
      created: Math.floor(now / 1000),
      model: order.model,
      service_tier: "default",
      system_fingerprint: "fp_sandbox",
    },
    parts,
    finishReason: isCut ? "length" : parts.some(({ kind }) => kind === "call") ? "tool_calls" : "stop",
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: reasoning,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
  };
}

/** The whole answer, `chat.completion`. */
export function toCompletion({ head, parts, finishReason, usage }: Answer, order: ChatOrder) {
  const calls = parts.flatMap((part) => (part.kind === "call" ? [toCall(part.call, part.tokens.join(""))] : []));
  const joined = (kind: Part["kind"]) => parts.flatMap((part) => (part.kind === kind ? part.tokens : []));
  const reasoning = joined("reasoning").join("");
  const message = {
    role: "assistant",
    content: calls.length > 0 ? null : joined("content").join(""),
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    refusal: null,
    annotations: [],
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const logprobs = toLogprobs(joined("content"), order);
  return { ...head, object: "chat.completion", choices: [{ index: 0, message, logprobs, finish_reason: finishReason }], usage };
}

/** A call in OpenAI's format, with the part of its input that fits the limit. */
export function toCall({ id, type, name }: Call, input: string): object {
  return { id, type, ...(type === "function" ? { function: { name, arguments: input } } : { custom: { name, input } }) };
}

/** The logprobs of tokens, if requested. The sandbox is always certain. */
export function toLogprobs(tokens: readonly string[], order: ChatOrder): object | null {
  if (!order.logprobs) return null;
  const encoder = new TextEncoder();
  const content = tokens.map((token) => ({ token, logprob: 0, bytes: [...encoder.encode(token)], top_logprobs: [] }));
  return { content, refusal: null };
}

/** The answer before it is cut. */
function partsFor(order: ChatOrder): Part[] {
  const reasoning: Part[] = isReasoning(order) ? [{ kind: "reasoning", tokens: toTokens(reason(order)) }] : [];
  const calls = callTools(order);
  if (calls.length > 0)
    return [...reasoning, ...calls.map((call, index): Part => ({ kind: "call", index, call, tokens: toTokens(call.input) }))];
  return [...reasoning, { kind: "content", tokens: toTokens(stopBefore(write(order), order.stop)) }];
}

/** A call's name counts too, and is dropped first when the limit is reached. */
const nameTokens = (part: Part) => (part.kind === "call" ? toTokens(part.call.name).length : 0);
const countTokens = (parts: readonly Part[]) => parts.reduce((sum, part) => sum + nameTokens(part) + part.tokens.length, 0);

function cut(parts: readonly Part[], max: number): { parts: Part[]; isCut: boolean } {
  const kept: Part[] = [];
  let left = max;
  for (const part of parts) {
    left -= nameTokens(part);
    if (left < 0) break;
    kept.push({ ...part, tokens: part.tokens.slice(0, left) });
    left -= part.tokens.length;
    if (left < 0) break;
  }
  return { parts: kept, isCut: countTokens(parts) > max };
}

function stopBefore(text: string, stop: ChatOrder["stop"]): string {
  const found = [stop ?? []].flat().flatMap((end) => (end !== "" && text.includes(end) ? text.indexOf(end) : []));
  return text.slice(0, Math.min(text.length, ...found));
}

function write(order: ChatOrder): string {
  const format = order.response_format;
  if (format?.type === "json_schema")
    return JSON.stringify(valueFor(format.json_schema.schema ?? {}, "response_format.json_schema.schema"));
  const results = resultsIn(order.messages);
  const subject = results.length > 0 ? results.join(" ") : `You wrote: ${quote(lastMessage(order))}`;
  const seen = attachmentsIn(order.messages);
  const text = `This is the sandbox answering in place of ${order.model}. ${subject}${seen && ` ${seen}`} No model was asked, so this is all there is to say.`;
  return format?.type === "json_object" ? JSON.stringify({ answer: text }) : text;
}

/** The tools' results, if they end the conversation. */
function resultsIn(messages: readonly ChatMessage[]): string[] {
  const last = messages.slice(messages.findLastIndex((message) => !isToolResult(message)) + 1);
  const calls = messages.flatMap(({ tool_calls: calls }) => calls ?? []);
  return last.map((message) => {
    const name = message.name ?? calls.findLast(({ id }) => id === message.tool_call_id)?.function?.name;
    return `The tool${name ? ` ${name}` : ""} answered: ${quote(toText(message))}`;
  });
}

const ATTACHMENTS = { image_url: "image", input_audio: "recording", file: "file" };

function attachmentsIn(messages: readonly ChatMessage[]): string {
  const types = messages.flatMap(({ content }) => (Array.isArray(content) ? content.map(({ type }) => type) : []));
  const counts = Object.entries(ATTACHMENTS).flatMap(([type, word]) => {
    const count = types.filter((one) => one === type).length;
    return count === 0 ? [] : `${count} ${word}${count === 1 ? "" : "s"}`;
  });
  return counts.length > 0 ? `I saw ${counts.join(", ")}.` : "";
}

/** Text of several lines is on lines of its own: a mark behind the last one would not close a block of code. */
function quote(text: string): string {
  const trimmed = text.trim();
  const cut = trimmed.length > QUOTE_CHARACTERS ? `${trimmed.slice(0, QUOTE_CHARACTERS).toWellFormed()}…` : trimmed;
  return cut.includes("\n") ? `\n\n${cut}\n\n` : `“${cut}”`;
}

const EFFORTS: readonly string[] = ["minimal", "low", "medium", "high"];

const isReasoning = ({ reasoning_effort: effort }: ChatOrder) => Boolean(effort) && effort !== "none";

/** Imitates a model's reasoning: one more sentence for each level of effort. */
function reason(order: ChatOrder): string {
  const thoughts = [
    "This is the sandbox, so nothing is thought here.",
    `The last message says ${quote(lastMessage(order))}`,
    `There are ${order.messages.length} messages and ${order.tools?.length ?? 0} tools.`,
    "The answer has to quote the message, so that the caller sees what it belongs to.",
  ];
  const effort = EFFORTS.indexOf(order.reasoning_effort ?? "");
  return thoughts.slice(0, effort < 0 ? thoughts.length : effort + 1).join(" ");
}
