/** Converts the body of a response to the body of a chat completion. Fields that cannot be honoured are refused, never dropped silently. */

import { refuseField } from "../errors.ts";
import type { Fields } from "../form.ts";
import type { AppContext } from "../paths.ts";

export const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

/** A message of a chat. */
interface Message extends Fields {
  role: string;
  tool_calls?: Fields[];
}

/** Fields that need a stored response or background work, which this gateway does not have. Values without such a need are accepted. */
const refused: Record<string, (value: unknown) => boolean> = {
  previous_response_id: () => false,
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
};

/** Converts a response's body to a chat's body. Throws 400 with the name of the response's field. */
export function toChat(c: AppContext, fields: Fields): Fields {
  for (const [name, isFine] of Object.entries(refused))
    if (fields[name] !== undefined && !isFine(fields[name])) throw refuseField(c, name, "not_supported");
  const { instructions, input, text, reasoning, tools, tool_choice: choice } = fields;
  for (const [name, expected] of Object.entries(typed))
    if (fields[name] !== undefined && !types[expected]?.(fields[name])) throw refuseField(c, name, "wrong_type", { expected });
  const format = isFields(text) ? (text["format"] ?? undefined) : undefined;
  if (format !== undefined && !isFields(format)) throw refuseField(c, "text.format", "wrong_type", { expected: "object" });
  return {
    model: fields["model"],
    messages: [...(instructions === undefined ? [] : [{ role: "system", content: instructions }]), ...toMessages(c, input)],
    ...(Array.isArray(tools) && tools.length > 0 && { tools: tools.map((tool, at) => toTool(c, tool, at)) }),
    ...(choice !== undefined && { tool_choice: toChoice(c, choice) }),
    ...(isFields(format) && { response_format: toFormat(format) }),
    ...(isFields(text) && text["verbosity"] !== undefined && { verbosity: text["verbosity"] ?? undefined }),
    ...(isFields(reasoning) && { reasoning_effort: reasoning["effort"] ?? undefined }),
    max_completion_tokens: fields["max_output_tokens"],
    temperature: fields["temperature"],
    top_p: fields["top_p"],
    ...(Array.isArray(tools) && tools.length > 0 && { parallel_tool_calls: fields["parallel_tool_calls"] }),
    max_cost: fields["max_cost"],
    ...(fields["stream"] === true && { stream: true, stream_options: { include_usage: true } }),
  };
}

function toMessages(c: AppContext, input: unknown): Message[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  if (!Array.isArray(input)) throw refuseField(c, "input", input === undefined ? "required" : "wrong_type", { expected: "array" });
  const messages: Message[] = [];
  input.forEach((item: unknown, at) => {
    const param = `input[${at}]`;
    if (!isFields(item)) throw refuseField(c, param, "wrong_type", { expected: "object" });
    const { type = "message" } = item;
    switch (type) {
      case "message":
        messages.push(toMessage(c, item, param));
        return;
      case "function_call":
      case "custom_tool_call":
        addCall(messages, item);
        return;
      case "function_call_output":
      case "custom_tool_call_output":
        messages.push({ role: "tool", tool_call_id: item["call_id"], content: toContent(c, item["output"], `${param}.output`) });
        return;
      case "reasoning": // the reasoning of an earlier turn has no field in a chat
        return;
      default:
        throw refuseField(c, `${param}.type`, "not_supported");
    }
  });
  return messages;
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
function addCall(messages: Message[], { type, call_id: id, name, arguments: args, input }: Fields): void {
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
    case "input_image":
      if (typeof part["image_url"] !== "string") throw refuseField(c, `${param}.image_url`, "required");
      return { type: "image_url", image_url: { url: part["image_url"], ...(part["detail"] !== undefined && { detail: part["detail"] }) } };
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

/** The caller's own tools. Tools that OpenAI itself runs are refused. */
function toTool(c: AppContext, tool: unknown, at: number): object {
  if (!isFields(tool)) throw refuseField(c, `tools[${at}]`, "wrong_type", { expected: "object" });
  const { type, name, description, parameters, strict, format } = tool;
  if (typeof name !== "string" && (type === "function" || type === "custom")) throw refuseField(c, `tools[${at}].name`, "required");
  if (type === "function")
    return {
      type,
      function: { name, description: description ?? undefined, parameters: parameters ?? undefined, strict: strict ?? undefined },
    };
  if (type !== "custom") throw refuseField(c, `tools[${at}].type`, "not_supported");
  if (!isFields(format) || format["type"] !== "grammar") return { type, custom: { name, description, format } };
  const { definition, syntax } = format;
  return { type, custom: { name, description, format: { type: "grammar", grammar: { definition, syntax } } } };
}

function toChoice(c: AppContext, choice: unknown): unknown {
  if (!isFields(choice)) return choice;
  const { type, name } = choice;
  if ((type !== "function" && type !== "custom") || typeof name !== "string") throw refuseField(c, "tool_choice", "not_supported");
  return { type, [type]: { name } };
}

const toFormat = ({ type, ...schema }: Fields) => (type === "json_schema" ? { type, json_schema: schema } : { type });

/** The response's name of a chat field. */
export function toResponseParam(param: string): string {
  const names: [RegExp, string][] = [
    [/^messages.*/, "input"],
    [/^(?:max_completion_tokens|max_tokens)$/, "max_output_tokens"],
    [/^response_format(?:\.json_schema)?/, "text.format"],
    [/^(tools\[\d+\])\.(?:function|custom)/, "$1"],
    [/^reasoning_effort$/, "reasoning.effort"],
    [/^verbosity$/, "text.verbosity"],
  ];
  const [pattern, name] = names.find(([one]) => one.test(param)) ?? [];
  return pattern && name !== undefined ? param.replace(pattern, name) : param;
}
