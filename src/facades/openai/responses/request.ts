/** Converts the body of a response to the body of a chat completion. Fields that cannot be honoured are refused, never dropped silently. */

import type { AppContext } from "../context.ts";
import { refuseField } from "../errors.ts";
import { type Fields, isFields } from "../form.ts";
import { applyChoice, type ChatTool, readTools, toFlatName } from "./tools.ts";

interface Message extends Fields {
  role: string;
  tool_calls?: Fields[];
}

/** Fields that need a stored conversation or prompt, or background work, which this gateway does not have. Values without such a need are accepted. */
const refused: Record<string, (value: unknown) => boolean> = {
  conversation: () => false,
  prompt: () => false,
  background: (value) => value === false,
};

/** The required types of fields that are converted. */
const types: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  object: isFields,
  array: Array.isArray,
  boolean: (value) => typeof value === "boolean",
};
const typed: Record<string, keyof typeof types> = {
  instructions: "string",
  text: "object",
  reasoning: "object",
  metadata: "object",
  tools: "array",
  stream: "boolean",
  store: "boolean",
  previous_response_id: "string",
};

/** What a message of the chat was made of. */
export interface Origin {
  /** The response's field: `instructions`, `input`, `input[0]`. */
  param: string;
  /** The field of the item that has its content. */
  content: "content" | "output";
  /** The positions of the parts that name a stored file. */
  files: number[];
  /** The field of each of its tool calls. */
  calls: string[];
}

/**
 * Converts a response's body to a chat's body, with the tools that the chat has, the origin of each of its messages, and the items of the
 * conversation. `readPrevious` finds those of an earlier one. Throws 400 with the name of the response's field.
 */
export async function toChat(c: AppContext, fields: Fields, readPrevious: (id: string) => Promise<Fields[]>) {
  for (const [name, isFine] of Object.entries(refused))
    if (fields[name] !== undefined && !isFine(fields[name])) throw refuseField(c, name, "not_supported");
  const { instructions, input, text, reasoning } = fields;
  for (const [name, expected] of Object.entries(typed))
    if (fields[name] !== undefined && !types[expected]?.(fields[name])) throw refuseField(c, name, "wrong_type", { expected });
  const format = isFields(text) ? (text["format"] ?? undefined) : undefined;
  if (format !== undefined && !isFields(format)) throw refuseField(c, "text.format", "wrong_type", { expected: "object" });
  const items = readItems(c, input);
  const previous = fields["previous_response_id"];
  const earlier = typeof previous === "string" ? await readPrevious(previous) : [];
  const { tools, choice } = applyChoice(c, readTools(c, fields["tools"]), fields["tool_choice"]);
  const own = items.map((item, at) => ({ item, param: typeof input === "string" ? "input" : `input[${at}]` }));
  // Items of stored responses were checked then.
  const stored = earlier.map((item) => ({ item, param: "previous_response_id" }));
  const { messages, origins } = toMessages(c, instructions, [...stored, ...own]);
  const chat = {
    model: fields["model"],
    messages,
    ...(tools.length > 0 && { tools: tools.map((tool) => tool.chat) }),
    ...(choice !== undefined && { tool_choice: choice }),
    ...(isFields(format) && { response_format: toFormat(format) }),
    ...(isFields(text) && text["verbosity"] !== undefined && { verbosity: text["verbosity"] ?? undefined }),
    ...(isFields(reasoning) && { reasoning_effort: reasoning["effort"] ?? undefined }),
    max_completion_tokens: fields["max_output_tokens"],
    temperature: fields["temperature"],
    top_p: fields["top_p"],
    ...(tools.length > 0 && { parallel_tool_calls: fields["parallel_tool_calls"] }),
    max_cost: fields["max_cost"],
    ...(fields["stream"] === true && { stream: true, stream_options: { include_usage: true } }),
  };
  return { chat, tools, origins, items: [...earlier, ...items] };
}

function readItems(c: AppContext, input: unknown): Fields[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  if (!Array.isArray(input)) throw refuseField(c, "input", input === undefined ? "required" : "wrong_type", { expected: "string | array" });
  return input.map((item: unknown, at) => {
    if (!isFields(item)) throw refuseField(c, `input[${at}]`, "wrong_type", { expected: "object" });
    return item;
  });
}

function toMessages(c: AppContext, instructions: unknown, items: { item: Fields; param: string }[]) {
  const messages: Message[] = instructions === undefined ? [] : [{ role: "system", content: instructions }];
  const origins = messages.map(() => toOrigin("instructions"));
  for (const { item, param } of items) {
    const { type = "message" } = item;
    const isCall = type === "function_call" || type === "custom_tool_call";
    if (isCall) addCall(messages, item);
    else if (type === "message") messages.push(toMessage(c, item, param));
    else if (type === "function_call_output" || type === "custom_tool_call_output")
      messages.push({ role: "tool", tool_call_id: item["call_id"], content: toContent(c, item["output"], `${param}.output`) });
    // The reasoning of an earlier turn has no field in a chat.
    else if (type !== "reasoning") throw refuseField(c, `${param}.type`, "not_supported");
    if (origins.length < messages.length) origins.push(toOrigin(param, item));
    if (isCall) origins.at(-1)!.calls.push(param);
  }
  return { messages, origins };
}

function toOrigin(param: string, { content, output = content }: Fields = {}): Origin {
  const files = (Array.isArray(output) ? output : []).flatMap((part: unknown, at) =>
    isFields(part) && (part["image_url"] ?? undefined) === undefined && part["file_id"] !== undefined ? at : [],
  );
  return { param, content: output === content ? "content" : "output", files, calls: [] };
}

function toMessage(c: AppContext, item: Fields, param: string): Message {
  const { role, content } = item;
  if (typeof role !== "string") throw refuseField(c, `${param}.role`, "required");
  if (role !== "assistant" || !Array.isArray(content)) return { role, content: toContent(c, content, `${param}.content`) };
  const texts = (type: string, name: string) =>
    content
      .flatMap((part: unknown) => (isFields(part) && part["type"] === type && typeof part[name] === "string" ? part[name] : []))
      .join("");
  const refusal = texts("refusal", "refusal");
  return { role, content: texts("output_text", "text") + texts("input_text", "text"), ...(refusal && { refusal }) };
}

/** Consecutive function calls, and the text before them, are one assistant message. */
function addCall(messages: Message[], { type, call_id: id, name: given, namespace, arguments: args, input }: Fields): void {
  const name = typeof given === "string" && typeof namespace === "string" ? toFlatName({ name: given, namespace }) : given;
  const call =
    type === "function_call"
      ? { id, type: "function", function: { name, arguments: args } }
      : { id, type: "custom", custom: { name, input } };
  const last = messages.at(-1);
  if (last?.role === "assistant") last.tool_calls = [...(last.tool_calls ?? []), call];
  else messages.push({ role: "assistant", content: null, tool_calls: [call] });
}

function toContent(c: AppContext, content: unknown, param: string): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: unknown, at) => toPart(c, part, `${param}[${at}]`));
}

function toPart(c: AppContext, part: unknown, param: string): object {
  if (!isFields(part)) throw refuseField(c, param, "wrong_type", { expected: "object" });
  switch (part["type"]) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: part["text"] };
    case "input_image": {
      // One of the two is given: a stored file is named in place of the URL.
      const url = part["image_url"] ?? part["file_id"];
      if (typeof url !== "string") throw refuseField(c, `${param}.image_url`, "required");
      return { type: "image_url", image_url: { url, ...(part["detail"] !== undefined && { detail: part["detail"] }) } };
    }
    case "input_file":
      if (typeof part["file_data"] !== "string") throw refuseField(c, `${param}.file_data`, "required");
      return {
        type: "file",
        file: { file_data: part["file_data"], ...(part["filename"] !== undefined && { filename: part["filename"] }) },
      };
    default:
      throw refuseField(c, `${param}.type`, "not_supported");
  }
}

const toFormat = ({ type, ...schema }: Fields) => (type === "json_schema" ? { type, json_schema: schema } : { type });

/** The response's field of a field of a chat's message: `messages[1].content[0].image_url.url` -> `input[0].content[0].file_id`. */
function toInputParam(param: string, origins: readonly Origin[]): string {
  const [, index, rest = ""] = /^messages\[(\d+)\](.*)$/.exec(param) ?? [];
  const origin = origins[Number(index)];
  if (!origin?.param.startsWith("input[")) return origin?.param ?? "input";
  const [, call, field = ""] = /^\.tool_calls\[(\d+)\](?:\.(?:function|custom))?(.*)$/.exec(rest) ?? [];
  if (call !== undefined) return (origin.calls[Number(call)] ?? origin.param) + field.replace(/^\.id$/, ".call_id");
  const part = Number(/^\.content\[(\d+)\]/.exec(rest)?.[1]);
  return (
    origin.param +
    rest
      .replace(/^\.content/, `.${origin.content}`)
      .replace(/^\.tool_call_id$/, ".call_id")
      .replace(/\.image_url\.url$/, origin.files.includes(part) ? ".file_id" : ".image_url")
      .replace(/\.(?:image_url|file)(\.\w+)$/, "$1")
  );
}

/** The response's name of a chat field; `tools` are those of the chat, `origins` those of its messages. */
export function toResponseParam(param: string, tools: ChatTool[] = [], origins: Origin[] = []): string {
  if (param.startsWith("messages")) return toInputParam(param, origins);
  const [own, index] = /^tools\[(\d+)\](?:\.(?:function|custom))?/.exec(param) ?? [];
  if (own !== undefined) return (tools[Number(index)]?.param ?? `tools[${index}]`) + param.slice(own.length);
  const names: [RegExp, string][] = [
    [/^(?:max_completion_tokens|max_tokens)$/, "max_output_tokens"],
    [/^response_format(?:\.json_schema)?/, "text.format"],
    [/^reasoning_effort$/, "reasoning.effort"],
    [/^verbosity$/, "text.verbosity"],
  ];
  const [pattern, name] = names.find(([one]) => one.test(param)) ?? [];
  return pattern && name !== undefined ? param.replace(pattern, name) : param;
}
