/** The body of a chat completion: one table with every field of OpenAI's client types (openai 7.55.0) and how it is handled. */

import * as z from "zod/mini";
import type { Violation } from "../base/errors.ts";
import { once } from "../base/once.ts";
import { mapOf } from "./fields.ts";

const roles = ["system", "developer", "user", "assistant", "tool", "function"] as const;

const imageAddress = () =>
  z.string().check(
    z.refine((text) => text.startsWith("file_") || /^(https?:\/\/|data:)/i.test(text), { params: { rule: "bad_image" } }),
    z.meta({ description: "URL, data URI or id of a file (file_...)" }),
  );

const part = () =>
  z.union([
    z.object({ type: z.literal("text"), text: z.string() }),
    z.object({
      type: z.literal("image_url"),
      image_url: z.object({ url: imageAddress(), detail: z.optional(z.enum(["auto", "low", "high", "original"])) }),
    }),
    z.object({ type: z.literal("input_audio"), input_audio: z.object({ data: z.string(), format: z.enum(["wav", "mp3"]) }) }),
    z.object({
      type: z.literal("file"),
      file: z.object({ file_data: z.optional(z.string()), filename: z.optional(z.string()), file_id: z.optional(z.string()) }),
    }),
    z.object({ type: z.literal("refusal"), refusal: z.string() }),
  ]);

export type ChatPart = z.infer<ReturnType<typeof part>>;

const custom = (path: PropertyKey[], rule: string) => ({ code: "custom" as const, path, params: { rule }, input: undefined });

const message = () =>
  z
    .object({
      role: z.enum(roles),
      content: z.optional(z.union([z.string(), z.array(part()).check(z.minLength(1))])),
      name: z.optional(z.string()),
      tool_calls: z.optional(z.array(z.looseObject({})).check(z.maxLength(512))),
      tool_call_id: z.optional(z.string()),
      function_call: z.optional(z.looseObject({})),
      refusal: z.optional(z.string()),
      audio: z.optional(z.looseObject({})),
    })
    .check(({ value, issues }) => {
      const { content, role, tool_calls: calls, function_call: called, refusal, audio } = value;
      const mayBeEmpty = role === "function" || (role === "assistant" && [calls, called, refusal, audio].some((one) => one !== undefined));
      if (content === undefined && !mayBeEmpty) issues.push(custom(["content"], "required"));
      // A file id could refer to a file that another caller or the operator has stored at the upstream.
      if (Array.isArray(content))
        content.forEach((one, at) => {
          if (one.type !== "file") return;
          if (one.file.file_id !== undefined) issues.push(custom(["content", at, "file", "file_id"], "unsupported_parameter"));
          else if (one.file.file_data === undefined) issues.push(custom(["content", at, "file", "file_data"], "required"));
        });
    });

const between = (low: number, high: number) => z.optional(z.number().check(z.gte(low), z.lte(high)));
const tokens = () => z.optional(z.int().check(z.gte(1), z.lte(1_000_000)));
const maxBiases = 1024;

/** Sent to the upstream. */
const forwarded = once(() => ({
  messages: z.array(message()).check(z.minLength(1), z.maxLength(2048)),
  temperature: between(0, 2),
  top_p: between(0, 1),
  presence_penalty: between(-2, 2),
  frequency_penalty: between(-2, 2),
  seed: z.optional(z.int()),
  stop: z.optional(z.union([z.string(), z.array(z.string()).check(z.maxLength(4))])),
  logprobs: z.optional(z.boolean()),
  top_logprobs: z.optional(z.int().check(z.gte(0), z.lte(20))),
  logit_bias: z.optional(
    mapOf(z.number()).check(
      z.refine((biases) => Object.keys(biases).length <= maxBiases, { params: { rule: "too_big_list", values: { maximum: maxBiases } } }),
    ),
  ),
  response_format: z.optional(z.looseObject({ type: z.enum(["text", "json_object", "json_schema"]) })),
  tools: z.optional(z.array(z.looseObject({ type: z.string() })).check(z.maxLength(512))),
  tool_choice: z.optional(z.union([z.string(), z.looseObject({})])),
  parallel_tool_calls: z.optional(z.boolean()),
  functions: z.optional(z.array(z.looseObject({ name: z.string() })).check(z.maxLength(512))),
  function_call: z.optional(z.union([z.string(), z.looseObject({})])),
  reasoning_effort: z.optional(z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
  verbosity: z.optional(z.enum(["low", "medium", "high"])),
}));

/** Handled by the gateway, which sends its own value if the upstream needs one. */
const handled = () => ({
  stream: z.optional(z.boolean()),
  stream_options: z.optional(z.object({ include_usage: z.optional(z.boolean()) })),
  max_tokens: tokens(),
  max_completion_tokens: tokens(),
  n: z.optional(z.literal(1)),
});

/** Changes neither the price nor the kind of output: accepted, not sent, and named in `x-dropped-params`. */
export const droppedNames = [
  "audio", // the voice of a spoken answer; only used with `modalities`, which is refused
  "metadata",
  "prediction",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
  "store",
  "user",
] as const;

/** Changes the kind of output and cannot be honoured: refused, unless the value is equal to the default. */
const refused = {
  modalities: (value: unknown) => Array.isArray(value) && value.every((one) => one === "text"),
  moderation: () => false,
  web_search_options: () => false,
} satisfies Record<string, (value: unknown) => boolean>;

/** All fields; `model` is the gateway's own. A test compares them with the client's types. */
export type ChatField =
  | "model"
  | keyof ReturnType<typeof forwarded>
  | keyof ReturnType<typeof handled>
  | (typeof droppedNames)[number]
  | keyof typeof refused;

export const chatBody = once(() => z.object({ ...forwarded(), ...handled() }));

export type ChatBody = z.infer<ReturnType<typeof chatBody>>;

/** The fields of a raw body that no upstream can honour. */
export const refusedFields = (body: Record<string, unknown>): Violation[] =>
  Object.entries(refused)
    .filter(([field, isFine]) => body[field] !== undefined && !isFine(body[field]))
    .map(([param]) => ({ param, rule: "unsupported_parameter" }));

/** The names of the fields of a raw body that are accepted but not sent. */
export function droppedFields(body: Record<string, unknown>): string[] {
  const names: string[] = droppedNames.filter((field) => body[field] !== undefined);
  const { stream_options: options, messages } = body;
  if (typeof options === "object" && options !== null && "include_obfuscation" in options && options.include_obfuscation === true)
    names.push("stream_options.include_obfuscation");
  // The id of a spoken answer in an earlier turn, which the gateway never returns.
  if (Array.isArray(messages) && messages.some((one: unknown) => typeof one === "object" && one !== null && "audio" in one && one.audio))
    names.push("messages.audio");
  return names;
}

/** The fields of a parsed body that are sent to an upstream. Empty lists are left out, because makers refuse them. */
export function toForwarded(body: ChatBody): Record<string, unknown> {
  const fields = Object.entries(body).filter(([name, value]) => name in forwarded() && !(Array.isArray(value) && value.length === 0));
  const messages = body.messages.map(({ audio, ...one }) => ({
    ...one,
    ...(one.content === undefined && (one.role === "function" ? { content: null } : audio && !one.tool_calls && { content: "" })),
  }));
  return { ...Object.fromEntries(fields), messages };
}
