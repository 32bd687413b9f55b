/** The fields of OpenAI's chat request that the sandbox honours. Other fields are ignored. */

import * as z from "zod";
import { Fault } from "./fault.ts";
import { jsonSchema } from "./json/schema.ts";
import { parse } from "./orders.ts";

const contentPart = z.looseObject({ type: z.string(), text: z.string().nullish() });
const toolCall = z.looseObject({ id: z.string().nullish(), function: z.looseObject({ name: z.string() }).nullish() });
const message = z.object({
  role: z.string().min(1),
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  name: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
  tool_call_id: z.string().nullish(),
});

const name = z.string().regex(/^[\w-]{1,64}$/, "1 to 64 letters, digits, _ and -");
const tool = z.discriminatedUnion("type", [
  z.object({ type: z.literal("function"), function: z.object({ name, parameters: jsonSchema.nullish() }) }),
  z.object({
    type: z.literal("custom"),
    custom: z.object({
      name,
      format: z
        .discriminatedUnion("type", [
          z.object({ type: z.literal("text") }),
          z.object({ type: z.literal("grammar"), grammar: z.object({ syntax: z.enum(["regex", "lark"]), definition: z.string() }) }),
        ])
        .nullish(),
    }),
  }),
]);
const toolName = z.discriminatedUnion("type", [
  z.object({ type: z.literal("function"), function: z.object({ name }) }),
  z.object({ type: z.literal("custom"), custom: z.object({ name }) }),
]);
const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  toolName,
  z.object({
    type: z.literal("allowed_tools"),
    allowed_tools: z.object({ mode: z.enum(["auto", "required"]), tools: z.array(toolName).min(1) }),
  }),
]);

const chatOrder = z.object({
  model: z.string().min(1),
  messages: z.array(message).min(1).max(10_000),
  n: z.literal(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  logprobs: z.boolean().nullish(),
  reasoning_effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]).nullish(),
  response_format: z
    .discriminatedUnion("type", [
      z.object({ type: z.enum(["text", "json_object"]) }),
      z.object({ type: z.literal("json_schema"), json_schema: z.object({ name, schema: jsonSchema.nullish() }) }),
    ])
    .nullish(),
  tools: z.array(tool).max(512).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
});

export type ChatOrder = z.infer<typeof chatOrder>;
export type ChatMessage = ChatOrder["messages"][number];
export type Tool = z.infer<typeof tool>;

/** Validation recurses as deep as the body: deeper bodies could exhaust the stack. */
const MAX_DEPTH = 100;

/** Checks the body of a chat. Throws `Fault` "invalid_request" that names every violation. */
export function parseChat(body: unknown): ChatOrder {
  if (isDeeperThan(body, MAX_DEPTH)) throw new Fault("invalid_request", `the body is nested more than ${MAX_DEPTH} levels deep`);
  return parse(chatOrder, body);
}

function isDeeperThan(value: unknown, levels: number): boolean {
  let here = [value];
  for (let level = 0; level <= levels; level++) {
    here = here.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
    if (here.length === 0) return false;
  }
  return true;
}

/** The text of a message, one line per text part; parts of other types are left out. */
export function toText({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap(({ text }) => text ?? []).join("\n");
}

/** The text of the last message. */
export function lastMessage({ messages }: ChatOrder): string {
  return toText(messages.at(-1)!);
}
