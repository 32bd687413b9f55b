/** Builds OpenAI's `response` object from the request and the result of the chat. */

import { type Fields, isFields } from "../form.ts";

type Status = "in_progress" | "completed" | "incomplete" | "failed";

/** The result from which a response object is built. */
export interface Outcome {
  status: Status;
  output: Fields[];
  usage?: unknown;
  /** The reason why it is incomplete. */
  reason?: string;
  error?: { code: string; message: string };
}

/**
 * The parts of a response that do not change: its id, its start, and the request's fields that are echoed. Other fields are not kept in
 * memory. `endedAt` is in seconds, for one that has ended earlier.
 */
export function newResponse(fields: Fields, model: string, { id, isStored, endedAt }: { id: string; isStored: boolean; endedAt?: number }) {
  const now = () => endedAt ?? Math.floor(Date.now() / 1000);
  const begun = { id, object: "response", created_at: now(), background: false };
  const shown = toShown(fields);
  return ({ status, output, usage, reason, error }: Outcome) => ({
    ...begun,
    status,
    completed_at: status === "completed" ? now() : null,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
    model,
    output,
    ...shown,
    store: isStored,
    usage: isFields(usage) ? toUsage(usage) : null,
  });
}

/** The request's fields as the response echoes them. */
const toShown = ({ text, reasoning, ...fields }: Fields) => ({
  instructions: fields["instructions"] ?? null,
  max_output_tokens: fields["max_output_tokens"] ?? null,
  max_tool_calls: null,
  parallel_tool_calls: fields["parallel_tool_calls"] ?? true,
  previous_response_id: fields["previous_response_id"] ?? null,
  prompt_cache_key: fields["prompt_cache_key"] ?? null,
  reasoning: { effort: isFields(reasoning) ? (reasoning["effort"] ?? null) : null, summary: null },
  safety_identifier: fields["safety_identifier"] ?? null,
  service_tier: "default",
  temperature: fields["temperature"] ?? 1,
  text: {
    format: isFields(text) && isFields(text["format"]) ? text["format"] : { type: "text" },
    verbosity: isFields(text) ? (text["verbosity"] ?? "medium") : "medium",
  },
  tool_choice: fields["tool_choice"] ?? "auto",
  tools: fields["tools"] ?? [],
  top_logprobs: 0,
  top_p: fields["top_p"] ?? 1,
  truncation: "disabled",
  user: fields["user"] ?? null,
  metadata: fields["metadata"] ?? {},
});

const count = (value: unknown) => (typeof value === "number" ? value : 0);
const detail = (usage: Fields, of: string, name: string) => (isFields(usage[of]) ? count(usage[of][name]) : 0);

const toUsage = (usage: Fields) => ({
  input_tokens: count(usage["prompt_tokens"]),
  input_tokens_details: {
    cached_tokens: detail(usage, "prompt_tokens_details", "cached_tokens"),
    cache_write_tokens: detail(usage, "prompt_tokens_details", "cache_write_tokens"),
  },
  output_tokens: count(usage["completion_tokens"]),
  output_tokens_details: { reasoning_tokens: detail(usage, "completion_tokens_details", "reasoning_tokens") },
  total_tokens: count(usage["total_tokens"]),
});

/** The state of a finished response, by the chat's `finish_reason`. */
export function toEnd(finish: unknown): { status: "completed" | "incomplete"; reason?: string } {
  if (finish === "length") return { status: "incomplete", reason: "max_output_tokens" };
  return finish === "content_filter" ? { status: "incomplete", reason: "content_filter" } : { status: "completed" };
}
