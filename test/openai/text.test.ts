/** Text on OpenAI's paths: chat with the requested model name, and responses. How clients parse the events is tested in test/clients/. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { toResponseParam } from "../../src/facades/openai/responses/request.ts";
import type { RequestPage } from "../../src/db/request-pages.ts";
import { readRequests } from "../../src/db/requests.ts";
import { call, newAccount, settledBalance } from "../support/gateway.ts";
import { v1 } from "./support.ts";

const responses = `${v1}/responses`;
const text = (body: ArrayBuffer) => new TextDecoder().decode(body);

test("a chat's answer has the requested model name, whole and streamed", async () => {
  const { key } = await newAccount();
  const body = { model: "gpt-4.1-mini", messages: [{ role: "user", content: "Hi" }] };
  const whole = await call(`${v1}/chat/completions`, { key, body });
  expect([whole.status, whole.body.model, whole.body.choices[0].message.content]).toEqual([200, "gpt-4.1-mini", "Hello there"]);
  const streamed = text((await call(`${v1}/chat/completions`, { key, body: { ...body, stream: true } })).body);
  const chunks = streamed.split("\n\n").filter((line) => line.startsWith("data: {"));
  expect(chunks.map((line) => (JSON.parse(line.slice(6)) as { model: string }).model)).toEqual(chunks.map(() => "gpt-4.1-mini"));
  expect(streamed.trimEnd().endsWith("data: [DONE]")).toBe(true);
  const unknown = await call(`${v1}/chat/completions`, { key, body: { ...body, model: "other-99" } });
  expect([unknown.status, unknown.body.error]).toMatchObject([404, { code: "model_not_found", param: "model" }]);
  expect(unknown.body.error.message).toBe(
    "model: is not a model of this endpoint. GET /models lists the names; the operator adds others with the variable ALIASES.",
  );
  const chinese = await call(`${v1}/models/other-99`, { key, headers: { "accept-language": "zh" } });
  expect([chinese.status, chinese.body.error.message]).toEqual([404, expect.stringMatching(/[^.。]。GET \/models.*ALIASES/)]);
  const byRule = await call(`${v1}/chat/completions`, { key, body: { ...body, model: "gpt-5.9-luna" } });
  expect([byRule.status, byRule.body.model]).toEqual([200, "gpt-5.9-luna"]);
  const dense = JSON.stringify(body).replace("{", `{"x":[${"{},".repeat(50_000)}0],`);
  const refused = await call(`${v1}/chat/completions`, { key, body: dense, headers: { "accept-language": "ja" } });
  expect([refused.status, refused.body.error.code]).toEqual([400, "invalid_json"]);
  expect(refused.body.error.message).toContain("値が最大 100,000 個");
});

test("a chat and a response of more than 10 MiB are 413 at once, not 503 after a wait", async () => {
  const { key } = await newAccount();
  for (const [path, body] of [
    [`${v1}/chat/completions`, { model: "gpt-4.1-mini", messages: [{ role: "user", content: "Hi" }] }],
    [responses, { model: "gpt-4.1-mini", input: "Hi" }],
  ] as const) {
    const sized = (bytes: number) => JSON.stringify(body).padEnd(bytes);
    expect((await call(path, { key, body: sized(10 * 1024 * 1024) })).status).toBe(200);
    const { status, body: refused } = await call(path, { key, body: sized(10 * 1024 * 1024 + 1) });
    expect([status, refused.error.code]).toEqual([413, "body_too_large"]);
  }
});

test("the request log contains the caller's own request, with its path and id, and not the requests that it causes", async () => {
  const account = await newAccount();
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
  let written: Promise<void> | undefined;
  const logRequests = (batch: RequestPage[]) => (written = env.OPERATIONS!.logRequests(batch));
  const vars = { REQUEST_LOG: "on", OPERATIONS: { logRequests } as unknown as NonNullable<Env["OPERATIONS"]> };
  const body = { model: "gpt-4.1-mini", messages: [{ role: "user", content: "Hi" }] };
  const { headers, body: answer } = await call(`${v1}/chat/completions`, { key: account.key, body, vars });
  await vi.advanceTimersByTimeAsync(10_000);
  await written;
  const { entries } = await readRequests(env.DB, account.id, {}, { limit: 10, now: Date.now() });
  vi.useRealTimers();
  expect(entries).toEqual([
    expect.objectContaining({
      request: headers.get("x-request-id"),
      path: `POST ${v1}/chat/completions`,
      status: 200,
      key: account.keyId,
      model: "textA-1-mini",
      task: (answer as { id: string }).id,
    }),
  ]);
});

test("a response has OpenAI's fields, and is charged as a chat", async () => {
  const account = await newAccount();
  const body = { model: "gpt-5", input: "Hi", instructions: "Be brief.", metadata: { a: "b" }, user: "u" };
  const answer = await call(responses, { key: account.key, body });
  expect([answer.status, answer.headers.get("x-dropped-params")]).toEqual([200, "user"]);
  expect(answer.body).toMatchObject({
    id: expect.stringMatching(/^resp_/),
    object: "response",
    status: "completed",
    model: "gpt-5",
    store: true,
    previous_response_id: null,
    metadata: { a: "b" },
    output: [
      { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Hello there", annotations: [] }] },
    ],
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 2,
      total_tokens: 12,
    },
  });
  expect((await settledBalance(account)).used).toBeGreaterThan(0);
});

test("a streamed response has its events in OpenAI's order; one that breaks off does not look complete", async () => {
  const { key } = await newAccount();
  const stream = text((await call(responses, { key, body: { model: "gpt-5", input: "Hi", stream: true } })).body);
  const events = stream.split("\n\n").flatMap((event) => {
    const data = event.split("\n").find((line) => line.startsWith("data: "));
    return data ? [JSON.parse(data.slice(6)) as { type: string; sequence_number: number; delta?: string }] : [];
  });
  expect(events.map(({ type, delta }) => type.replace("response.", "") + (delta === undefined ? "" : `:${delta}`))).toEqual([
    "created",
    "in_progress",
    "output_item.added",
    "content_part.added",
    "output_text.delta:Hello",
    "output_text.delta: there",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "completed",
  ]);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
  await expect(call(responses, { key, body: { model: "gpt-5", input: "break", stream: true } })).rejects.toThrow(/./);
});

test.each([
  ["previous_response_id", { previous_response_id: "resp_1" }],
  ["previous_response_id", { previous_response_id: 5 }],
  ["store", { store: "yes" }],
  ["conversation", { conversation: "conv_1" }],
  ["background", { background: true }],
  ["tools[0].type", { tools: [{ type: "web_search" }] }],
  ["tools[0].type", { tools: [{ type: "mcp", server_label: "x" }] }],
  [
    "tools[0].tools[1].type",
    { tools: [{ type: "namespace", name: "a", tools: [{ type: "function", name: "b" }, { type: "web_search" }] }] },
  ],
  ["tools[0].tools", { tools: [{ type: "namespace", name: "a" }] }],
  ["tool_choice.name", { tools: [{ type: "function", name: "a" }], tool_choice: { type: "function", name: "b" } }],
  ["tool_choice", { tools: [{ type: "function", name: "a" }], tool_choice: { type: "web_search" } }],
  ["tool_choice.mode", { tools: [], tool_choice: { type: "allowed_tools", mode: "all", tools: [] } }],
  [
    "tool_choice.tools[0].name",
    { tools: [], tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "a" }] } },
  ],
  ["input[0].type", { input: [{ type: "item_reference", id: "msg_1" }] }],
  ["input[0].content[0].type", { input: [{ role: "user", content: [{ type: "input_audio" }] }] }],
  ["input", { input: undefined }],
  ["input", { input: [{ role: "nobody", content: "x" }] }],
  ["max_output_tokens", { max_output_tokens: 0 }],
  ["model", { model: undefined }],
  ["tools", { tools: "search" }],
  ["text", { text: "json" }],
  ["text.format", { text: { format: "json" } }],
  ["reasoning", { reasoning: "high" }],
  ["stream", { stream: "true" }],
  ["metadata", { metadata: 5 }],
])("%s that cannot be honoured is refused and costs nothing", async (param, fields) => {
  const account = await newAccount();
  const { status, body } = await call(responses, { key: account.key, body: { model: "gpt-5", input: "x", ...fields } });
  expect([status, body.error.type, body.error.param.startsWith(param)]).toEqual([400, "invalid_request_error", true]);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("an input of another type says which types are allowed", async () => {
  const { body } = await call(responses, { key: (await newAccount()).key, body: { model: "gpt-5", input: 5 } });
  expect(body.error).toMatchObject({ param: "input", message: "input: must be of type string | array" });
});

test.each([
  ["messages[0].content", "input"],
  ["response_format.json_schema.name", "text.format.name"],
  ["response_format.type", "text.format.type"],
  ["tools[1].function.parameters", "tools[1].parameters"],
  ["tools[0].custom.format", "tools[0].format"],
  ["temperature", "temperature"],
])("an upstream's refusal of the chat's %s names the response's field", (param, named) => {
  expect(toResponseParam(param)).toBe(named);
});

const inputText = { type: "input_text", text: "x" };

test.each<[string, object[]]>([
  [
    "input[1].content[1].file_id",
    [
      { role: "user", content: "x" },
      { role: "user", content: [inputText, { type: "input_image", file_id: "file_x" }] },
    ],
  ],
  ["input[0].content[0].image_url", [{ role: "user", content: [{ type: "input_image", image_url: "file_x" }] }]],
  ["input[0].content[0].detail", [{ role: "user", content: [{ type: "input_image", image_url: "data:,", detail: 5 }] }]],
  ["input[0].content[0].text", [{ role: "user", content: [{ type: "input_text" }] }]],
  [
    "input[0].output[0].image_url",
    [{ type: "function_call_output", call_id: "a", output: [{ type: "input_image", image_url: "file_x" }] }],
  ],
  ["input[0].role", [{ role: "nobody", content: "x" }]],
])("a refusal names %s", async (param, input) => {
  const { key } = await newAccount();
  for (const instructions of [undefined, "Be brief."]) {
    const { status, body } = await call(responses, { key, body: { model: "gpt-5", input, instructions } });
    expect([status, body.error.param, body.error.message.startsWith(param)]).toEqual([400, param, true]);
  }
});

test("an upstream's refusal of a call names its item", () => {
  const origins = [
    { param: "instructions", content: "content" as const, files: [], calls: [] },
    { param: "input[1]", content: "content" as const, files: [], calls: ["input[1]", "input[3]"] },
  ];
  const names = ["messages[0].content", "messages[1].tool_calls[1].function.arguments", "messages[1].tool_calls[0].id", "messages[9]"];
  expect(names.map((name) => toResponseParam(name, [], origins))).toEqual([
    "instructions",
    "input[3].arguments",
    "input[1].call_id",
    "input",
  ]);
});

test("a refusal of the content and a fault of the upstream have OpenAI's statuses", async () => {
  const { key } = await newAccount();
  const ask = async (input: string) => (await call(responses, { key, body: { model: "gpt-5", input } })).status;
  expect([await ask("sandbox:reject"), await ask("sandbox:fail")]).toEqual([400, 500]);
});

test("the operator can change aliases, and they are listed among the models", async () => {
  const { key } = await newAccount();
  const { data } = (await call(`${v1}/models`, { key })).body as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(["vidA-2", "sora-2", "gpt-image-1", "gpt-5-mini"]));
  expect((await call(`${v1}/models/sora-2`, { key })).body).toMatchObject({ id: "sora-2", object: "model" });
});
