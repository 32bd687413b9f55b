/** Tools of responses: namespaces in a chat without namespaces, and choices of some of the tools. */

import type { AppContext } from "../../src/facades/openai/context.ts";
import { expect, test } from "vitest";
import { toResponseParam } from "../../src/facades/openai/responses/request.ts";
import { readTools } from "../../src/facades/openai/responses/tools.ts";
import { call, newAccount } from "../support/gateway.ts";
import { v1 } from "./support.ts";

const responses = `${v1}/responses`;
const parameters = { type: "object", properties: { id: { type: "string" } } };
const plain = { type: "function", name: "get_time", parameters };
const crm = {
  type: "namespace",
  name: "crm",
  description: "The customers.",
  tools: [
    { type: "function", name: "find", description: "Finds one.", parameters, strict: true },
    { type: "custom", name: "note" },
  ],
};
// As Codex names the tools of an MCP server.
const mcp = { type: "namespace", name: "mcp__files__", description: "", tools: [{ type: "function", name: "find" }] };

async function echo(more: object, input: unknown[] = []) {
  const { key } = await newAccount();
  const items = [...input, { role: "user", content: "echo-request" }];
  const { status, body } = await call(responses, { key, body: { model: "gpt-5", input: items, ...more } });
  expect(status, JSON.stringify(body)).toBe(200);
  return JSON.parse(body.output[0].content[0].text) as {
    messages: object[];
    tools: { function?: { name: string } }[];
    tool_choice?: unknown;
  };
}

test("the tools of namespaces are sent as tools with the namespace in their names", async () => {
  const { tools } = await echo({ tools: [crm, plain, mcp] });
  expect(tools).toEqual([
    { type: "function", function: { name: "crm__find", description: "The customers.\n\nFinds one.", parameters, strict: true } },
    { type: "custom", custom: { name: "crm__note" } },
    { type: "function", function: { name: "get_time", parameters } },
    { type: "function", function: { name: "mcp__files__find" } },
  ]);
});

test.each([false, true])(
  "a call of such a tool has its own name and namespace, and so has its result in the next turn (stream: %s)",
  async (stream) => {
    const { key } = await newAccount();
    const body = { model: "gpt-5", input: "call-tool:mcp__files__find", tools: [crm, mcp], stream };
    const answer = await call(responses, { key, body });
    const events = stream
      ? new TextDecoder()
          .decode(answer.body)
          .split("\n\n")
          .flatMap(
            (event) => JSON.parse(event.split("\ndata: ")[1] ?? "[]") as { type: string; item?: object; response?: { output: object[] } },
          )
      : [];
    const expected = { type: "function_call", call_id: "call_1", name: "find", namespace: "mcp__files__", arguments: "{}" };
    const output = stream ? events.at(-1)!.response!.output : answer.body.output;
    expect(output).toMatchObject([expected]);
    if (stream)
      expect(events.find(({ type }) => type === "response.output_item.added")!.item).toMatchObject({ ...expected, arguments: "" });
    const result = { type: "function_call_output", call_id: "call_1", output: "found" };
    const { messages } = await echo({ tools: [crm, mcp] }, [{ role: "user", content: "find" }, output[0], result]);
    expect(messages.slice(1, 3)).toEqual([
      {
        role: "assistant",
        tool_calls: [{ id: "call_1", type: "function", function: { name: "mcp__files__find", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "found" },
    ]);
  },
);

test("names in a chat are short, allowed and unique", () => {
  const tool = (name: string) => ({ type: "function", name });
  const long = "a_very_long_name_of_a_tool_that_alone_is_nearly_as_long_as_it_may";
  const names = readTools({} as AppContext, [
    { type: "namespace", name: "crm.sales", tools: [tool("find"), tool(long), tool("x")] },
    { type: "namespace", name: "crm_sales", tools: [tool("find"), tool("x")] },
    tool("crm_sales__x"),
  ]).map(({ flatName }) => flatName);
  expect(names.slice(0, 1)).toEqual(["crm_sales__find"]);
  expect(names.at(-1)).toBe("crm_sales__x");
  expect(new Set(names).size).toBe(6);
  for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/);
});

test.each([
  ["auto", [{ type: "function", name: "get_time" }], ["get_time"]],
  ["required", [{ type: "function", name: "find", namespace: "crm" }], ["crm__find"]],
  [
    "auto",
    [
      { type: "namespace", name: "mcp__files__" },
      { type: "function", name: "get_time" },
    ],
    ["get_time", "mcp__files__find"],
  ],
])("of allowed_tools (%s) only the allowed ones are sent", async (mode, allowed, names) => {
  const { tools, tool_choice } = await echo({ tools: [crm, plain, mcp], tool_choice: { type: "allowed_tools", mode, tools: allowed } });
  expect([tool_choice, tools.map((tool) => tool.function?.name)]).toEqual([mode, names]);
});

test("a choice of one tool names it as the chat does; the response echoes what was given", async () => {
  const choice = { type: "function", name: "find", namespace: "mcp__files__" };
  const { tool_choice } = await echo({ tools: [crm, mcp], tool_choice: choice });
  expect(tool_choice).toEqual({ type: "function", function: { name: "mcp__files__find" } });
  const { key } = await newAccount();
  const { body } = await call(responses, { key, body: { model: "gpt-5", input: "Hi", tools: [crm, mcp], tool_choice: choice } });
  expect([body.tools, body.tool_choice]).toEqual([[crm, mcp], choice]);
});

test("an error about a tool of a namespace names the caller's field", () => {
  const tools = readTools({} as AppContext, [plain, crm, mcp]);
  const fields = ["tools[0].function.parameters", "tools[1].function.parameters", "tools[3].function.name", "tools[9].custom"];
  expect(fields.map((field) => toResponseParam(field, tools))).toEqual([
    "tools[0].parameters",
    "tools[1].tools[0].parameters",
    "tools[2].tools[0].name",
    "tools[9]",
  ]);
});
