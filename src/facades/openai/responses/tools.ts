/** The tools of a response as tools of a chat: namespaces are flattened, the choice is applied, and names are converted back in calls. */

import type { AppContext } from "../context.ts";
import { refuseField } from "../errors.ts";
import { type Fields, isFields } from "../form.ts";

/** The name of a tool in a response. */
interface ToolName {
  name: string;
  namespace?: string;
}

/** One tool of the caller. */
export interface ChatTool extends ToolName {
  type: "function" | "custom";
  /** The name in the chat; a chat has no namespaces. */
  flatName: string;
  /** The field of the response that the tool comes from: `tools[1]`, `tools[0].tools[2]`. */
  param: string;
  /** The tool in the format of a chat. */
  chat: object;
}

const maxName = 64;

/** The name of a namespace's tool in a chat, where names have at most 64 letters, digits, `_` and `-`. */
export function toFlatName({ name, namespace }: ToolName): string {
  const whole = namespace === undefined ? name : `${namespace}${namespace.endsWith("__") ? "" : "__"}${name}`;
  return namespace === undefined ? whole : whole.replace(/[^\w-]/g, "_").slice(-maxName);
}

/** Converts the caller's own tools. Tools that OpenAI itself runs are refused. Throws 400. */
export function readTools(c: AppContext, given: unknown): ChatTool[] {
  if (!Array.isArray(given)) return [];
  const tools = given.flatMap((tool: unknown, at) => {
    const param = `tools[${at}]`;
    if (!isFields(tool) || tool["type"] !== "namespace") return toTool(c, tool, param);
    const { name, description, tools: inner } = tool;
    if (typeof name !== "string") throw refuseField(c, `${param}.name`, "required");
    if (!Array.isArray(inner))
      throw refuseField(c, `${param}.tools`, inner === undefined ? "required" : "wrong_type", { expected: "array" });
    return inner.map((one: unknown, index) => {
      // The model reads what the namespace is for once, at its first tool.
      const about = index === 0 && typeof description === "string" && description !== "" ? `${description}\n\n` : "";
      return toTool(c, one, `${param}.tools[${index}]`, name, about);
    });
  });
  const taken = new Set(tools.flatMap(({ namespace, name }) => (namespace === undefined ? name : [])));
  return tools.map((tool, at) => {
    // A name that was cut, or is that of another tool, becomes unique by the tool's place.
    if (tool.namespace === undefined) return tool;
    const flatName = taken.has(tool.flatName) ? `${tool.flatName.slice(0, maxName - 5)}_${at}` : tool.flatName;
    taken.add(flatName);
    return { ...tool, flatName, chat: withName(tool, flatName) };
  });
}

const withName = ({ type, chat }: ChatTool, name: string): object => ({
  ...chat,
  [type]: { ...(chat as Record<ChatTool["type"], object>)[type], name },
});

function toTool(c: AppContext, tool: unknown, param: string, namespace?: string, about = ""): ChatTool {
  if (!isFields(tool)) throw refuseField(c, param, "wrong_type", { expected: "object" });
  const { type, name, description, parameters, strict, format } = tool;
  if (type !== "function" && type !== "custom") throw refuseField(c, `${param}.type`, "not_supported");
  if (typeof name !== "string") throw refuseField(c, `${param}.name`, "required");
  const flatName = toFlatName({ name, ...(namespace !== undefined && { namespace }) });
  const common = {
    name: flatName,
    description: about === "" ? (description ?? undefined) : about + (typeof description === "string" ? description : ""),
  };
  const named = { type, name, flatName, param, ...(namespace !== undefined && { namespace }) };
  if (type === "function")
    return { ...named, type, chat: { type, function: { ...common, parameters: parameters ?? undefined, strict: strict ?? undefined } } };
  return { ...named, type, chat: { type, custom: { ...common, format: toGrammar(format) } } };
}

function toGrammar(format: unknown): unknown {
  if (!isFields(format) || format["type"] !== "grammar") return format;
  const { definition, syntax } = format;
  return { type: "grammar", grammar: { definition, syntax } };
}

/**
 * The tools and the choice for the chat. Of `allowed_tools` only the allowed ones are sent, because not every upstream knows that choice.
 * Throws 400 for a tool that does not exist.
 */
export function applyChoice(c: AppContext, tools: ChatTool[], choice: unknown): { tools: ChatTool[]; choice: unknown } {
  if (!isFields(choice)) return { tools, choice };
  if (choice["type"] !== "allowed_tools") {
    const [tool] = find(c, tools, choice, "tool_choice");
    return { tools, choice: tool && { type: tool.type, [tool.type]: { name: tool.flatName } } };
  }
  const { mode, tools: allowed } = choice;
  if (mode !== "auto" && mode !== "required") throw refuseField(c, "tool_choice.mode", "not_one_of", { allowed: "auto, required" });
  if (!Array.isArray(allowed))
    throw refuseField(c, "tool_choice.tools", allowed === undefined ? "required" : "wrong_type", { expected: "array" });
  const found = new Set(allowed.flatMap((one: unknown, at) => find(c, tools, one, `tool_choice.tools[${at}]`)));
  return { tools: tools.filter((tool) => found.has(tool)), choice: mode };
}

/** The tools that a choice names: one, or all of a namespace. */
function find(c: AppContext, tools: ChatTool[], wanted: unknown, param: string): ChatTool[] {
  const { type, name, namespace } = isFields(wanted) ? wanted : {};
  if (type !== "function" && type !== "custom" && !(type === "namespace" && param !== "tool_choice"))
    throw refuseField(c, param, "not_supported");
  if (typeof name !== "string") throw refuseField(c, `${param}.name`, "required");
  const found = tools.filter((tool) =>
    type === "namespace"
      ? tool.namespace === name
      : tool.type === type && tool.name === name && (namespace === undefined || namespace === null || tool.namespace === namespace),
  );
  if (found.length === 0) throw refuseField(c, `${param}.name`, "unknown_tool");
  return type === "namespace" ? found : found.slice(0, 1);
}

/** The name in the response of a tool that the chat calls; the chat's own name for a tool that was not given. */
export function toToolName(tools: ChatTool[], flatName: unknown): Fields {
  const tool = tools.find((one) => one.flatName === flatName);
  if (!tool) return { name: flatName ?? "" };
  return { name: tool.name, ...(tool.namespace !== undefined && { namespace: tool.namespace }) };
}
