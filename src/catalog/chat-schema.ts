/** The body of a chat completion: OpenAI's, with the fields that the gateway forwards. */

import * as z from "zod/mini";

const roles = ["system", "developer", "user", "assistant", "tool"] as const;

const part = z.union([
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("image_url"), image_url: z.looseObject({ url: z.string() }) }),
  z.looseObject({ type: z.enum(["input_audio", "file", "refusal"]) }),
]);

const message = z
  .looseObject({
    role: z.enum(roles),
    content: z.optional(z.union([z.string(), z.array(part).check(z.minLength(1))])),
    name: z.optional(z.string()),
    tool_calls: z.optional(z.array(z.looseObject({}))),
    tool_call_id: z.optional(z.string()),
  })
  .check(
    // Only an assistant that calls tools may have nothing to say.
    z.refine((one) => one.content !== undefined || (one.role === "assistant" && one.tool_calls !== undefined), {
      path: ["content"],
      params: { rule: "required" },
    }),
  );

const between = (low: number, high: number) => z.optional(z.number().check(z.gte(low), z.lte(high)));
const tokens = () => z.optional(z.int().check(z.gte(1), z.lte(1_000_000)));

/** Unknown fields are dropped; what is left goes to the upstream as it came. */
export const chatBody = z.object({
  messages: z.array(message).check(z.minLength(1)),
  stream: z.optional(z.boolean()),
  stream_options: z.optional(z.object({ include_usage: z.optional(z.boolean()) })),
  max_tokens: tokens(),
  max_completion_tokens: tokens(),
  n: z.optional(z.literal(1)),
  temperature: between(0, 2),
  top_p: between(0, 1),
  presence_penalty: between(-2, 2),
  frequency_penalty: between(-2, 2),
  seed: z.optional(z.int()),
  stop: z.optional(z.union([z.string(), z.array(z.string()).check(z.maxLength(4))])),
  logprobs: z.optional(z.boolean()),
  top_logprobs: z.optional(z.int().check(z.gte(0), z.lte(20))),
  logit_bias: z.optional(z.record(z.string(), z.number())),
  response_format: z.optional(z.looseObject({ type: z.enum(["text", "json_object", "json_schema"]) })),
  tools: z.optional(z.array(z.looseObject({ type: z.string() })).check(z.maxLength(128))),
  tool_choice: z.optional(z.union([z.string(), z.looseObject({})])),
  parallel_tool_calls: z.optional(z.boolean()),
  reasoning_effort: z.optional(z.enum(["none", "minimal", "low", "medium", "high", "xhigh"])),
});

export type ChatBody = z.infer<typeof chatBody>;

/** What one answer may be long when the caller sets no limit, in tokens. */
const defaultMaxTokens = 4096;

/** The most tokens the answer may have, as asked or by default. */
export const maxTokens = (body: ChatBody) => body.max_completion_tokens ?? body.max_tokens ?? defaultMaxTokens;

const encoder = new TextEncoder();

/**
 * Tokens the prompt can have at most in practice: byte-level vocabularies give about four bytes a token for English and
 * three for Chinese; two leaves room. Pictures and other parts count as a flat 2000.
 */
export function estimatePromptTokens(body: ChatBody): number {
  let total = 16;
  for (const one of body.messages) {
    total += 16 + textTokens(one.tool_calls ? JSON.stringify(one.tool_calls) : "");
    const parts = typeof one.content === "string" ? [{ type: "text", text: one.content }] : (one.content ?? []);
    for (const item of parts) total += item.type === "text" ? textTokens(item.text) : 2000;
  }
  return total + textTokens(body.tools ? JSON.stringify(body.tools) : "");
}

/** A generous count of the tokens in a text. */
export const textTokens = (text: string) => Math.ceil(encoder.encode(text).length / 2);
