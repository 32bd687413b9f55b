/** Schemas of chat completions, whole and as chunks of a stream: the fields of an upstream's answer that the caller gets. */

import * as z from "zod/mini";
import { count, time } from "./shared.ts";

const text = z.optional(z.nullable(z.string()));
const called = z.strictObject({
  name: z.optional(z.string()),
  arguments: z.optional(z.unknown().check(z.describe("JSON as a string."))),
});

const toolCall = z.strictObject({
  index: z.optional(count),
  id: z.optional(z.string()),
  type: z.optional(z.string()),
  function: z.optional(called),
  custom: z.optional(z.strictObject({ name: z.optional(z.string()), input: z.optional(z.string()) })),
});

const annotation = z.strictObject({
  type: z.string(),
  url_citation: z.optional(
    z.strictObject({
      start_index: z.optional(count),
      end_index: z.optional(count),
      title: z.optional(z.string()),
      url: z.optional(z.string()),
    }),
  ),
});

const messageFields = {
  content: text,
  refusal: text,
  reasoning_content: text,
  tool_calls: z.optional(z.nullable(z.array(toolCall))),
  function_call: z.optional(z.nullable(called)),
  annotations: z.optional(z.nullable(z.array(annotation))),
  audio: z.optional(
    z.nullable(
      z.strictObject({
        id: z.optional(z.string()),
        data: z.optional(z.string()),
        expires_at: z.optional(time),
        transcript: z.optional(z.string()),
      }),
    ),
  ),
};

const tokenFields = { token: z.string(), logprob: z.number(), bytes: z.optional(z.nullable(z.array(z.int()))) };
const token = z.strictObject({ ...tokenFields, top_logprobs: z.optional(z.array(z.strictObject(tokenFields))) });
const tokens = z.optional(z.nullable(z.array(token)));
const logprobs = z.optional(z.nullable(z.strictObject({ content: tokens, refusal: tokens })));

const finishReason = z.nullable(z.enum(["stop", "length", "tool_calls", "content_filter", "function_call"]));

const details = z.optional(z.nullable(z.record(z.string(), z.nullable(count))));
export const chatUsage = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: details,
  completion_tokens_details: details,
});

const answerFields = {
  id: z.string().check(z.startsWith("chatcmpl-")),
  created: time,
  model: z.string().check(z.describe("The model's name; never an alias or an upstream's.")),
};

export const chatMessage = z.strictObject({ role: z.optional(z.literal("assistant")), ...messageFields });

/** A complete answer. */
export const chatCompletion = z.strictObject({
  ...answerFields,
  object: z.literal("chat.completion"),
  choices: z.array(z.strictObject({ index: count, message: chatMessage, logprobs, finish_reason: finishReason })),
  usage: z.optional(chatUsage),
});

/** The data of one event of a stream; the last event is followed by `[DONE]`. */
export const chatChunk = z.strictObject({
  ...answerFields,
  object: z.literal("chat.completion.chunk"),
  choices: z.array(
    z.strictObject({
      index: count,
      delta: z.strictObject({ role: z.optional(z.literal("assistant")), ...messageFields }),
      logprobs,
      finish_reason: finishReason,
    }),
  ),
  usage: z.optional(z.nullable(chatUsage).check(z.describe("With `stream_options.include_usage`; null in all chunks but the last."))),
});
