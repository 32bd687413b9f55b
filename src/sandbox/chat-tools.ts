/** Chooses the tools that the sandbox calls, and makes arguments that satisfy each tool's schema. */

import { type ChatMessage, type ChatOrder, type Tool, toText } from "./chat-order.ts";
import { Fault } from "./fault.ts";
import { makeValue } from "./json/make.ts";
import { Pattern } from "./json/pattern.ts";
import { type Json, type Schema, Unmakeable } from "./json/schema.ts";

export interface Call {
  id: string;
  type: Tool["type"];
  name: string;
  /** A function's arguments as JSON, or a custom tool's text. */
  input: string;
}

/**
 * The calls of an answer; empty if the answer is text. `auto` calls the tools that the last user message names, as
 * `get_weather` or "get weather"; a choice that forces a call uses those, else the first tool. After a tool result there is never
 * another call, whatever the choice, so that every agent's loop ends.
 * Throws `Fault` "invalid_request" for a choice of a tool that does not exist, and for a schema without a value.
 */
export function callTools(order: ChatOrder): Call[] {
  const { candidates, mode } = choose(order);
  const last = order.messages.at(-1)!;
  if (mode === "none" || isToolResult(last)) return [];
  const question = order.messages.findLast(({ role }) => role === "user");
  const named = candidates.filter((tool) => question && names(toText(question), toolName(tool)));
  const called = named.length === 0 && mode === "required" ? candidates.slice(0, 1) : named;
  const calls = order.parallel_tool_calls === false ? called.slice(0, 1) : called;
  return calls.map((tool) => ({
    id: `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`,
    type: tool.type,
    name: toolName(tool),
    input: inputFor(tool, (order.tools ?? []).indexOf(tool)),
  }));
}

export const isToolResult = ({ role }: ChatMessage) => role === "tool" || role === "function";

/** The tools that may be called, and whether a call is required. */
function choose({ tools, tool_choice: choice }: ChatOrder): { candidates: readonly Tool[]; mode: "none" | "auto" | "required" } {
  const all = tools ?? [];
  if (all.length === 0 && choice && choice !== "none" && choice !== "auto")
    throw new Fault("invalid_request", "tool_choice: is only allowed when tools are given", "tool_choice");
  if (all.length === 0) return { candidates: [], mode: "none" };
  if (!choice || typeof choice === "string") return { candidates: all, mode: choice ?? "auto" };
  if (choice.type !== "allowed_tools") return { candidates: [pick(all, choice)], mode: "required" };
  return { candidates: choice.allowed_tools.tools.map((one) => pick(all, one)), mode: choice.allowed_tools.mode };
}

type ToolName = { type: "function"; function: { name: string } } | { type: "custom"; custom: { name: string } };

const toolName = (tool: ToolName) => (tool.type === "function" ? tool.function.name : tool.custom.name);

function pick(tools: readonly Tool[], wanted: ToolName): Tool {
  const found = tools.find((tool) => tool.type === wanted.type && toolName(tool) === toolName(wanted));
  if (!found) throw new Fault("invalid_request", `tool_choice: there is no tool "${toolName(wanted)}" among the tools`, "tool_choice");
  return found;
}

/** True if a text names a tool: its words in sequence, in any case and joined in any way. */
function names(text: string, name: string): boolean {
  const words = (from: string) =>
    ` ${from
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter(Boolean)
      .join(" ")} `;
  return words(text).includes(words(name));
}

function inputFor(tool: Tool, index: number): string {
  if (tool.type === "function") {
    const field = `tools[${index}].function.parameters`;
    const parameters = tool.function.parameters ?? {};
    return JSON.stringify(valueFor({ type: ["object"], allOf: [parameters] }, field, parameters));
  }
  const { format } = tool.custom;
  if (format?.type !== "grammar") return "This is what the sandbox gives every custom tool.";
  const field = `tools[${index}].custom.format.grammar`;
  const { syntax, definition } = format.grammar;
  if (syntax === "lark") throw new Fault("invalid_request", `${field}: the sandbox knows grammars of the syntax "regex" alone`, field);
  return withField(field, () => new Pattern(definition).sample(0, 0));
}

/**
 * A value for a schema whose references lead into `root`, the caller's whole schema. Throws `Fault` "invalid_request" that names the schema's
 * field.
 */
export function valueFor(schema: Schema, field: string, root = schema): Json {
  return withField(field, () => makeValue(schema, root));
}

function withField<T>(field: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof Unmakeable) throw new Fault("invalid_request", `${field}: ${error.message}`, field);
    throw error;
  }
}
