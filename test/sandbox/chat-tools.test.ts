/** Tools without API keys: tools are called, their results quoted, schemas satisfied; whole and streamed, with OpenAI's own client. */

import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { completions } from "./client.ts";
import { post } from "./support.ts";

const parameters = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", minimum: 2, maximum: 3 }, unit: { enum: ["C", "F"] } },
  required: ["city", "days"],
  additionalProperties: false,
};
const weather = { type: "function", function: { name: "get_weather", parameters } };
const time = { type: "function", function: { name: "get_time" } };
const tools = [weather, time];
const weatherArguments = '{"city":"city","days":2,"unit":"C"}';

const ask = (content: string, more: object = {}) =>
  completions.create({ model: "textA-1", messages: [{ role: "user", content }], ...more });

/** The names of the called tools, and the message's text. */
async function called(content: string, more: object) {
  const { choices } = await ask(content, more);
  const { message, finish_reason: reason } = choices[0]!;
  return {
    names: message.tool_calls?.map((call) => call.function?.name) ?? [],
    reason,
    content: message.content,
  };
}

test("a forced tool is called with arguments that satisfy its schema", async () => {
  const { choices, usage } = await ask("hello", { tools, tool_choice: { type: "function", function: { name: "get_weather" } } });
  expect(choices).toMatchObject([
    {
      finish_reason: "tool_calls",
      message: {
        content: null,
        tool_calls: [
          { id: expect.stringMatching(/^call_\w{24}$/), type: "function", function: { name: "get_weather", arguments: weatherArguments } },
        ],
      },
    },
  ]);
  // Tokens of the name, one per four characters, and the arguments.
  expect(usage?.completion_tokens).toBe(3 + Math.ceil(weatherArguments.length / 4));
});

test.each<[string, string, object, string[]]>([
  ["auto calls the tool that is named", "please get_weather for Oslo", { tools }, ["get_weather"]],
  ["auto knows a name in words", "Get weather, 请用get_time查询", { tools, tool_choice: "auto" }, ["get_weather", "get_time"]],
  ["auto answers where no tool is named", "the weather", { tools }, []],
  ["a name within a longer word is none", "forget_weather", { tools }, []],
  ["none calls nothing", "get_weather", { tools, tool_choice: "none" }, []],
  ["required calls the first", "hello", { tools, tool_choice: "required" }, ["get_weather"]],
  ["required calls the named one", "get_time", { tools, tool_choice: "required" }, ["get_time"]],
  ["one at a time where that is asked", "get_time and get_weather", { tools, parallel_tool_calls: false }, ["get_weather"]],
  [
    "only what is allowed",
    "get_weather",
    {
      tools,
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "get_time" } }] },
      },
    },
    ["get_time"],
  ],
])("%s", async (_, content, more, names) => {
  const answer = await called(content, more);
  expect(answer.names).toEqual(names);
  expect(answer.reason).toBe(names.length > 0 ? "tool_calls" : "stop");
  expect(answer.content === null).toBe(names.length > 0);
});

test.each<[string, object, object]>([
  [
    "nested models as pydantic describes them",
    {
      $defs: { Address: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
      type: "object",
      properties: { home: { $ref: "#/$defs/Address" }, others: { type: "array", items: { $ref: "#/$defs/Address" } } },
      required: ["home", "others"],
    },
    { home: { city: "city" }, others: [{ city: "city" }] },
  ],
  [
    "definitions of draft 7, and a reference at the top",
    { $ref: "#/definitions/Order", definitions: { Order: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } } },
    { id: 1 },
  ],
  [
    "a schema that contains itself by its name",
    {
      $ref: "#/$defs/Node",
      $defs: {
        Node: {
          type: "object",
          properties: { name: { const: "n" }, children: { type: "array", items: { $ref: "#/$defs/Node" }, maxItems: 0 } },
          required: ["name", "children"],
        },
      },
    },
    { name: "n", children: [] },
  ],
  [
    "a schema that contains itself by its root",
    { type: "object", properties: { next: { anyOf: [{ $ref: "#" }, { type: "null" }] } }, required: ["next"], maxProperties: 1 },
    { next: expect.anything() },
  ],
])("references in a tool's parameters: %s", async (_, recursive, expected) => {
  const tool = { type: "function", function: { name: "nested", parameters: recursive } };
  const { choices } = await ask("hello", { tools: [time, tool], tool_choice: { type: "function", function: { name: "nested" } } });
  expect(JSON.parse(choices[0]!.message.tool_calls![0]!.function!.arguments!)).toEqual(expected);
});

test("an agent's loop ends with an answer that quotes the tool's result, even where a tool is required", async () => {
  const messages: object[] = [{ role: "user", content: "get_weather in Oslo" }];
  const first = await ask("", { messages, tools, tool_choice: "required" });
  const call = first.choices[0]!.message;
  messages.push(call, { role: "tool", tool_call_id: call.tool_calls![0]!.id, content: "12 degrees" });
  const second = await ask("", { messages, tools, tool_choice: "required" });
  expect(second.choices[0]).toMatchObject({
    finish_reason: "stop",
    message: { content: expect.stringContaining("The tool get_weather answered: “12 degrees”") },
  });
  expect(second.choices[0]!.message.tool_calls).toBeUndefined();
});

test("the client's own runner calls the function and finishes", async () => {
  const asked: unknown[] = [];
  const runner = completions.runTools({
    model: "textA-1",
    stream: true,
    messages: [{ role: "user", content: "use get_weather" }],
    tools: [
      {
        type: "function",
        function: {
          name: "get_weather",
          description: "The weather of a city",
          parameters,
          parse: JSON.parse,
          function: (given: object) => {
            asked.push(given);
            return "sunny";
          },
        },
      },
    ],
  });
  expect(await runner.finalContent()).toContain("The tool get_weather answered: “sunny”");
  expect(asked).toEqual([{ city: "city", days: 2, unit: "C" }]);
});

test("a streamed call has its name first and its arguments in chunks", async () => {
  const stream = await completions.create({
    model: "textA-1",
    messages: [{ role: "user", content: "get_time, get_weather" }],
    tools,
    stream: true,
  });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
  expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: null });
  expect(deltas.filter(({ id }) => id)).toMatchObject([
    { index: 0, type: "function", function: { name: "get_weather", arguments: "" } },
    { index: 1, type: "function", function: { name: "get_time", arguments: "" } },
  ]);
  const pieces = deltas.filter(({ index, id }) => index === 0 && !id);
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.every((piece) => !piece.function?.name)).toBe(true);
  expect(pieces.map((piece) => piece.function?.arguments).join("")).toBe(weatherArguments);
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("tool_calls");
});

test("the limit cuts the arguments, or later calls", async () => {
  const { choices, usage } = await ask("get_weather, get_time", { tools, max_completion_tokens: 5 });
  expect(choices[0]).toMatchObject({
    finish_reason: "length",
    message: { tool_calls: [{ function: { name: "get_weather", arguments: '{"city":' } }] },
  });
  expect(choices[0]!.message.tool_calls).toHaveLength(1);
  expect(usage?.completion_tokens).toBe(5);
});

test("a custom tool gets text, or text that matches its pattern grammar", async () => {
  const custom = (format?: object) => [{ type: "custom", custom: { name: "run_sql", ...(format && { format }) } }];
  const grammar = (syntax: string) => ({ type: "grammar", grammar: { syntax, definition: "^SELECT [a-z]{3};$" } });
  const input = async (format?: object) => (await ask("run_sql", { tools: custom(format) })).choices[0]!.message.tool_calls?.[0];
  expect(await input()).toMatchObject({ type: "custom", custom: { name: "run_sql", input: expect.stringContaining("sandbox") } });
  expect(await input(grammar("regex"))).toMatchObject({ custom: { input: "SELECT aaa;" } });
  await expect(input(grammar("lark"))).rejects.toMatchObject({ status: 400, param: "tools[0].custom.format.grammar" });
});

const format = (schema: Record<string, unknown>) => ({ type: "json_schema" as const, json_schema: { name: "answer", schema } });

test("a response format is satisfied, whole and streamed, also after a tool result", async () => {
  const schema = {
    type: "object",
    properties: { sky: { enum: ["blue"] }, stars: { type: "array", items: { type: "integer" }, minItems: 2 } },
    required: ["sky", "stars"],
  };
  const expected = { sky: "blue", stars: [1, 1] };
  const whole = await ask("Why?", { response_format: format(schema) });
  expect(JSON.parse(whole.choices[0]!.message.content!)).toEqual(expected);
  const stream = completions.stream({
    model: "textA-1",
    messages: [{ role: "user", content: "Why?" }],
    response_format: format(schema),
  });
  expect(JSON.parse((await stream.finalContent())!)).toEqual(expected);
  const messages: object[] = [{ role: "tool", tool_call_id: "call_1", content: "12" }];
  expect(JSON.parse((await ask("", { messages, response_format: format(schema) })).choices[0]!.message.content!)).toEqual(expected);
  const object = await ask("Why?", { response_format: { type: "json_object" } });
  expect(JSON.parse(object.choices[0]!.message.content!)).toEqual({ answer: expect.stringContaining("“Why?”") });
});

test.each<[string, object, string, string]>([
  [
    "a schema that nothing satisfies",
    { response_format: format({ type: "string", minLength: 2, maxLength: 1 }) },
    "response_format.json_schema.schema",
    "no value",
  ],
  [
    "a schema without an end",
    { response_format: format({ required: ["next"], properties: { next: { $ref: "#" } }, type: "object" }) },
    "response_format.json_schema.schema",
    "deeply",
  ],
  ["a schema that is none", { response_format: format({ type: "strng" }) }, "response_format.json_schema.schema.type[0]", "string"],
  [
    "a tool's schema that is none",
    { tools: [time, { type: "function", function: { name: "x", parameters: { properties: [] } } }] },
    "tools[1].function.parameters.properties",
    "record",
  ],
  [
    "a tool's schema that nothing satisfies",
    { tools: [{ type: "function", function: { name: "hello", parameters: { required: ["a"], properties: { a: false } } } }] },
    "tools[0].function.parameters",
    "no value",
  ],
  [
    "a tool's schema that refers to nothing",
    { tools: [{ type: "function", function: { name: "hello", parameters: { type: "object", $ref: "#/$defs/A", $defs: {} } } }] },
    "tools[0].function.parameters",
    "#/$defs/A",
  ],
  [
    "a tool's schema whose values never end",
    {
      tools: [
        {
          type: "function",
          function: {
            name: "hello",
            parameters: {
              $ref: "#/$defs/A",
              $defs: { A: { type: "object", properties: { a: { $ref: "#/$defs/A" } }, required: ["a"] } },
            },
          },
        },
      ],
    },
    "tools[0].function.parameters",
    "deeply",
  ],
  [
    "arguments that are no object",
    { tools: [{ type: "function", function: { name: "hello", parameters: { type: "string" } } }] },
    "tools[0].function.parameters",
    "no value",
  ],
  [
    "a choice of a tool that is not there",
    { tools, tool_choice: { type: "function", function: { name: "other" } } },
    "tool_choice",
    "other",
  ],
  ["a choice without tools", { tool_choice: "required" }, "tool_choice", "tools"],
  ["two answers", { n: 2 }, "n", "1"],
])("%s is refused with the field", async (_, more, param, words) => {
  const refusal: unknown = await ask("hello", more).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ status: 400, type: "invalid_request_error", code: "invalid_request", param });
  expect((refusal as Error).message).toContain(words);
});

test("a body nested without end is refused", async () => {
  const schema = `${'{"not":'.repeat(20_000)}{}${"}".repeat(20_000)}`;
  const body = `{"model":"textA-1","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":${schema}}}}`;
  const response = await exports.default.fetch("http://sandbox/v1/chat/completions", { method: "POST", body });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("levels deep");
  expect((await post("/v1/chat/completions", { model: "textA-1", messages: [{ role: "user", content: "hi" }] })).status).toBe(200);
});
