/** The fields of an upstream's chat answer that reach the caller, by allow-list, and its usage. Pure. */

import { byteLength } from "../../base/byte-length.ts";
import { dollarsOfTicks } from "../../base/maker-usage.ts";
import { parseJson } from "../../media/json-limits.ts";
import { ProviderError } from "../../providers/provider.ts";
import { toStreamFault } from "../../providers/shared/chat-errors.ts";

/** Tokens to charge. */
export interface Usage {
  promptTokens: number;
  completionTokens: number;
  /** Those of the prompt that the upstream had cached. */
  cachedTokens?: number | undefined;
  /** The cost that the upstream reports, in dollars. */
  usd?: number | undefined;
}

/** More than in requests: with `top_logprobs` an answer has over a hundred values for each token. */
const maxAnswerValues = 1_000_000;

/** The fault of an answer that cannot be understood; a `cause` that is a `ProviderError` already is returned unchanged. */
export const toUnclear = (message: string, cause?: unknown): ProviderError =>
  cause instanceof ProviderError ? cause : new ProviderError("unclear", `chat: ${message}`, { cause });

export type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses a text as an object. The error does not contain the text, because it is content and errors are logged. */
export function parseFields(text: string): Fields {
  let value: unknown;
  try {
    value = parseJson(text, maxAnswerValues);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null) throw toUnclear("not a JSON object");
  return value as Fields;
}

/** True if the upstream itself reported the fault. */
export const isReported = (fault: unknown): boolean => fault instanceof ProviderError && fault.kind !== "unclear";

/** Throws the error that an answer or an event states. vLLM's older versions have its fields beside `object`. */
export function throwStated(fields: Fields): void {
  const error = fields["error"] || (fields["object"] === "error" && fields);
  if (error) throw toStreamFault(error);
}

/** The fields to keep: `true` for fields passed on unchanged; a function of the value; an object for an object, or a list of objects, with these fields. */
interface Allowed {
  [field: string]: true | Allowed | ((value: unknown) => unknown);
}

/** A count of tokens, which some upstreams send as text; undefined for what no chat can have. */
function toCount(value: unknown): number | undefined {
  const count = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof count === "number" && count >= 0 && count < 1e12 ? Math.ceil(count) : undefined;
}

/** The text of a content that some upstreams send in parts. */
const toText = (content: unknown): unknown =>
  Array.isArray(content)
    ? content.map((part) => (isFields(part) && typeof part["text"] === "string" ? part["text"] : "")).join("")
    : typeof content === "string" || content === null
      ? content
      : undefined;

const called: Allowed = { name: true, arguments: (given) => (isFields(given) ? JSON.stringify(given) : given) };
const messageFields: Allowed = {
  role: () => "assistant",
  content: toText,
  refusal: true,
  reasoning_content: true,
  tool_calls: { index: true, id: true, type: true, function: called, custom: { name: true, input: true } },
  function_call: called,
  annotations: { type: true, url_citation: { start_index: true, end_index: true, title: true, url: true } },
  audio: { id: true, data: true, expires_at: true, transcript: true },
};
const token: Allowed = { token: true, bytes: true, logprob: true };
const logprobFields: Allowed = { ...token, top_logprobs: token };
const logprobsFields: Allowed = { content: logprobFields, refusal: logprobFields };
const usageFields: Allowed = {
  prompt_tokens: toCount,
  completion_tokens: toCount,
  total_tokens: toCount,
  prompt_tokens_details: {
    cached_tokens: toCount,
    cache_write_tokens: toCount,
    audio_tokens: toCount,
    image_tokens: toCount,
    text_tokens: toCount,
  },
  completion_tokens_details: {
    reasoning_tokens: toCount,
    audio_tokens: toCount,
    text_tokens: toCount,
    accepted_prediction_tokens: toCount,
    rejected_prediction_tokens: toCount,
  },
};
const finishReasons = new Set<unknown>(["stop", "length", "tool_calls", "content_filter", "function_call"]);

function pick(value: unknown, allowed: Allowed): unknown {
  if (Array.isArray(value)) return value.map((item) => pick(item, allowed));
  if (!isFields(value)) return value === null ? null : undefined;
  const kept: Fields = {};
  for (const name in value) {
    const rule = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
    if (rule === undefined) continue;
    const item = rule === true ? value[name] : typeof rule === "function" ? rule(value[name]) : pick(value[name], rule);
    if (item !== undefined) kept[name] = item;
  }
  return kept;
}

/** A choice's `message` in a whole answer or `delta` in a stream, which some upstreams call `message` too. */
const readPart = (choice: Fields, part: "message" | "delta"): unknown => choice[part] ?? choice["message"];

/** The choices for the caller; `part` is `message` in a whole answer and `delta` in a stream. */
export function toChoices(choices: unknown[], part: "message" | "delta"): { finish_reason: unknown; delta?: Fields }[] {
  return choices.filter(isFields).map((choice, at) => {
    const message = readPart(choice, part);
    const kept: Fields = {
      ...(part === "message" && { role: "assistant" }),
      ...(isFields(message) && (pick(message, messageFields) as Fields)),
    };
    // Some upstreams use this name for the field.
    if (isFields(message) && typeof message["reasoning"] === "string" && kept["reasoning_content"] === undefined)
      kept["reasoning_content"] = message["reasoning"];
    const reason = choice["finish_reason"];
    const logprobs = choice["logprobs"];
    return {
      index: typeof choice["index"] === "number" ? choice["index"] : at,
      [part]: kept,
      ...(logprobs !== undefined && { logprobs: pick(logprobs, logprobsFields) }),
      finish_reason: finishReasons.has(reason) ? reason : reason === null || reason === undefined ? null : "stop",
    };
  });
}

/** A usage report for the caller; undefined without the counts that clients read. */
export function toUsageReport(usage: unknown): Fields | undefined {
  const { prompt_tokens: prompt, completion_tokens: completion, ...rest } = isFields(usage) ? (pick(usage, usageFields) as Fields) : {};
  if (prompt === undefined || completion === undefined) return undefined;
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: Number(prompt) + Number(completion), ...rest };
}

/** Seconds since the epoch, from the upstream if it gives them. */
export const toCreated = (created: unknown) =>
  Math.floor(typeof created === "number" && created >= 1 && created < 1e11 ? created : Date.now() / 1000);

/** Bytes of generated text in all fields of a message or delta. */
function generatedBytes(value: unknown): number {
  if (typeof value === "string") return byteLength(value);
  if (typeof value !== "object" || value === null) return 0;
  let bytes = 0;
  for (const [name, item] of Object.entries(value)) {
    if (name === "role" || name === "type" || name === "id") continue;
    // Arguments are a string in this format; some upstreams send an object.
    const isObject = (name === "arguments" || name === "input") && typeof item === "object";
    bytes += isObject ? byteLength(JSON.stringify(item)) : generatedBytes(item);
  }
  return bytes;
}

/** The usage of a chat so far: the upstream's last report, and every byte since then. */
export class ChatMeter {
  #reported: { prompt: number; completion: number; cached: number | undefined; usd: number | undefined } | undefined;
  #bytes = 0;
  /** True once the upstream began to answer. */
  hasBegun = false;

  /** Counts a whole answer or an event of a stream. A report covers everything up to its event. */
  add({ choices, usage }: Fields, part: "message" | "delta"): void {
    if (Array.isArray(choices))
      for (const choice of choices as unknown[]) {
        this.hasBegun = true;
        if (isFields(choice)) this.#bytes += generatedBytes(readPart(choice, part));
      }
    if (isFields(usage)) this.#report(usage);
  }

  /** Counts bytes that could not be parsed. */
  addBytes(bytes: number): void {
    this.#bytes += bytes;
  }

  /** A report without tokens is a placeholder, and a count that no chat can have is ignored. Some makers exclude reasoning from `completion_tokens`, but not from the total. */
  #report(usage: Fields): void {
    const [prompt, completion, total] = [usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]].map(toCount);
    if (!prompt || (completion === undefined && total === undefined)) return;
    const { prompt_tokens_details: details } = usage;
    this.hasBegun = true;
    this.#reported = {
      prompt,
      completion: Math.max(completion ?? 0, (total ?? 0) - prompt),
      cached: isFields(details) ? toCount(details["cached_tokens"]) : undefined,
      usd: dollarsOfTicks(usage["cost_in_usd_ticks"]),
    };
    this.#bytes = 0;
  }

  /** Tokens to charge. Without an upstream report: the prompt's upper bound, and one token per byte of the answer. */
  usage(promptTokens: number): Usage {
    const { prompt = promptTokens, completion = 0, cached, usd } = this.#reported ?? {};
    return { promptTokens: prompt, completionTokens: completion + this.#bytes, cachedTokens: cached, usd };
  }
}
