/** Chat in OpenAI's format: whole, streamed, counted, limited. */

import { expect, onTestFinished, test, vi } from "vitest";
import { readError, post } from "./support.ts";

interface Completion {
  object: string;
  model: string;
  service_tier: string;
  system_fingerprint: string;
  choices: {
    index: number;
    message: { role: string; content: string; reasoning_content?: string };
    logprobs: { content: { token: string }[] } | null;
    finish_reason: string;
  }[];
  usage: {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens: number;
    completion_tokens_details: { reasoning_tokens: number };
  };
}

interface Chunk {
  id: string;
  object: string;
  system_fingerprint: string;
  choices: {
    delta: { role?: string; content?: string; reasoning_content?: string };
    logprobs: object | null;
    finish_reason: string | null;
  }[];
  usage?: Completion["usage"] | null;
}

const chat = (content: unknown, more: object = {}) =>
  post("/v1/chat/completions", {
    model: "textA-1",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content },
    ],
    ...more,
  });

async function events(response: Response): Promise<string[]> {
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const text = await response.text();
  return text
    .split("\n\n")
    .filter(Boolean)
    .map((event) => event.replace(/^data: /, ""));
}

/** The events before `[DONE]`. */
function toChunks(list: string[]): Promise<Chunk[]> {
  return Promise.all(list.slice(0, -1).map((event) => new Response(event).json<Chunk>()));
}

test("an answer quotes the last message and names the sandbox", async () => {
  const response = await chat("Why is the sky blue?");
  expect(response.status).toBe(200);
  const { object, model, choices, usage } = await response.json<Completion>();
  expect([object, model, choices.length]).toEqual(["chat.completion", "textA-1", 1]);
  expect(choices[0]).toMatchObject({ index: 0, message: { role: "assistant" }, finish_reason: "stop" });
  expect(choices[0]?.message.content).toContain("Why is the sky blue?");
  expect(choices[0]?.message.content).toContain("sandbox");
  // 9 and 20 characters at four per token, four more per message, three for the start of the answer.
  expect(usage.prompt_tokens).toBe(3 + 5 + 4 + 3 + 4);
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
});

test("a quoted block of code ends where it ended in the message", async () => {
  const code = "Say this again:\n```\nprint(1)\n```";
  const { choices } = await (await chat(code)).json<Completion>();
  expect(choices[0]?.message.content.split("\n\n")).toEqual([
    expect.stringMatching(/You wrote: *$/),
    code,
    expect.stringContaining("No model"),
  ]);
});

test("content may have parts; a Chinese character counts as one token, an image as 85", async () => {
  const text = await (await chat([{ type: "text", text: "你好世界" }])).json<Completion>();
  expect(text.usage.prompt_tokens).toBe(3 + 4 + 3 + 4 + 4);
  expect(text.choices[0]?.message.content).toContain("你好世界");
  const image = await (
    await chat([
      { type: "text", text: "你好世界" },
      { type: "image_url", image_url: { url: "data:" } },
    ])
  ).json<Completion>();
  expect(image.usage.prompt_tokens).toBe(text.usage.prompt_tokens + 85);
});

test.each(["max_tokens", "max_completion_tokens"])("%s cuts the answer", async (field) => {
  const { choices, usage } = await (await chat("hello", { [field]: 5 })).json<Completion>();
  expect(choices[0]?.finish_reason).toBe("length");
  expect(choices[0]?.message.content).toBe("This is the sandbox ");
  expect(usage.completion_tokens).toBe(5);
});

test("a streamed answer has chunks with the same text", async () => {
  const whole = await (await chat("hello 世界")).json<Completion>();
  const list = await events(await chat("hello 世界", { stream: true, stream_options: { include_usage: true } }));
  expect(list.at(-1)).toBe("[DONE]");
  const chunks = await toChunks(list);
  expect(new Set(chunks.map(({ id, object }) => `${object} ${id}`)).size).toBe(1);
  expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "" });
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe(whole.choices[0]?.message.content);
  expect(chunks.length).toBeGreaterThan(5);
  expect(chunks.at(-2)?.choices).toMatchObject([{ delta: {}, finish_reason: "stop" }]);
  expect(chunks.at(-2)?.usage).toBeNull();
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
});

test("without include_usage no chunk has usage, and a cut stream has finish_reason length", async () => {
  const list = await events(await chat("hello", { stream: true, max_tokens: 2 }));
  const chunks = await toChunks(list);
  expect(chunks.some((chunk) => "usage" in chunk)).toBe(false);
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("length");
});

test("the smaller of two limits applies", async () => {
  const { usage } = await (await chat("hello", { max_tokens: 3, max_completion_tokens: 7 })).json<Completion>();
  expect(usage.completion_tokens).toBe(3);
});

test.each([
  ["a text", " You wrote", "This is the sandbox answering in place of textA-1."],
  ["the first of several", ["wrote", "sandbox", "", "none"], "This is the "],
  ["one that does not occur", ["none"], undefined],
])("stop ends the answer before %s", async (_, stop, content) => {
  const all = (await (await chat("hello")).json<Completion>()).choices[0]!.message.content;
  const { choices, usage } = await (await chat("hello", { stop })).json<Completion>();
  expect(choices[0]).toMatchObject({ message: { content: content ?? all }, finish_reason: "stop" });
  expect(usage.completion_tokens).toBe(Math.ceil((content ?? all).length / 4));
});

test("an answer states how many images, recordings and files the message had", async () => {
  const image = { type: "image_url", image_url: { url: "data:" } };
  const content = [{ type: "text", text: "What is this?" }, image, image, { type: "file", file: {} }];
  const { choices } = await (await chat(content)).json<Completion>();
  expect(choices[0]?.message.content).toContain("“What is this?” I saw 2 images, 1 file.");
  const none = await (await chat("What is this?")).json<Completion>();
  expect(none.choices[0]?.message.content).not.toContain("I saw");
});

test("reasoning is reported on request, counted, and streamed before the answer", async () => {
  const more = { reasoning_effort: "low", stream_options: { include_usage: true } };
  const { choices, usage } = await (await chat("Why?", more)).json<Completion>();
  const reasoning = choices[0]!.message.reasoning_content!;
  expect(reasoning).toContain("“Why?”");
  const counted = usage.completion_tokens_details.reasoning_tokens;
  expect(counted).toBe(Math.ceil(reasoning.length / 4));
  expect(usage.completion_tokens).toBe(counted + Math.ceil(choices[0]!.message.content.length / 4));
  const chunks = await toChunks(await events(await chat("Why?", { ...more, stream: true })));
  const deltas = chunks.flatMap(({ choices: [choice] }) => choice?.delta ?? []);
  expect(deltas.map((delta) => delta.reasoning_content ?? "").join("")).toBe(reasoning);
  expect(deltas.map((delta) => delta.content ?? "").join("")).toBe(choices[0]!.message.content);
  expect(deltas.findLastIndex((delta) => delta.reasoning_content)).toBeLessThan(deltas.findIndex((delta) => delta.content));
  expect(chunks.at(-1)?.usage).toEqual(usage);
});

test.each([{ reasoning_effort: "none" }, {}])("without a request there is no reasoning", async (more) => {
  const { choices, usage } = await (await chat("Why?", more)).json<Completion>();
  expect(choices[0]?.message).not.toHaveProperty("reasoning_content");
  expect(usage.completion_tokens_details.reasoning_tokens).toBe(0);
});

test("reasoning may use up the limit", async () => {
  const { choices, usage } = await (await chat("Why?", { reasoning_effort: "high", max_tokens: 5 })).json<Completion>();
  expect(choices[0]).toMatchObject({ message: { content: "", reasoning_content: "This is the sandbox," }, finish_reason: "length" });
  expect(usage.completion_tokens_details.reasoning_tokens).toBe(5);
});

test("an answer has the metadata of a maker's answer, and logprobs on request", async () => {
  const whole = await (await chat("hello", { logprobs: true, max_tokens: 2 })).json<Completion>();
  expect(whole).toMatchObject({ system_fingerprint: "fp_sandbox", service_tier: "default" });
  expect(whole.choices[0]?.logprobs?.content).toMatchObject([{ token: "This", logprob: 0, bytes: [84, 104, 105, 115] }, { token: " is " }]);
  const chunks = await toChunks(await events(await chat("hello", { stream: true, logprobs: true, max_tokens: 2 })));
  expect(chunks[1]).toMatchObject({ system_fingerprint: "fp_sandbox", choices: [{ logprobs: whole.choices[0]!.logprobs }] });
  const plain = await (await chat("hello")).json<Completion>();
  expect(plain.choices[0]?.logprobs).toBeNull();
});

test("a long answer has larger chunks, so that it does not take long", async () => {
  // Two hundred chunks have as many pauses: counted, not waited for.
  const pause = vi.spyOn(scheduler, "wait").mockResolvedValue();
  onTestFinished(() => pause.mockRestore());
  const schema = { type: "array", items: { type: "string", minLength: 100 }, minItems: 200 };
  const response_format = { type: "json_schema", json_schema: { name: "list", schema } };
  const list = await events(await chat("hello", { stream: true, response_format }));
  expect(list.length).toBeLessThan(210);
  expect(pause.mock.calls.reduce((sum, [ms]) => sum + ms, 0)).toBeLessThanOrEqual(210 * 30);
  expect(pause.mock.calls.length).toBe(list.length - 1);
  const chunks = await toChunks(list);
  expect(JSON.parse(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""))).toHaveLength(200);
});

test("sandbox:break ends a stream with an error after part of it, and fails a whole answer", async () => {
  const list = await events(await chat("sandbox:break", { stream: true, stream_options: { include_usage: true } }));
  expect(list).not.toContain("[DONE]");
  const error = { message: expect.any(String), type: "server_error", param: null, code: "provider_error" };
  expect(JSON.parse(list.at(-1)!)).toEqual({ error });
  const chunks = await toChunks(list);
  expect(chunks.length).toBeGreaterThan(2);
  expect(chunks.every(({ choices }) => choices[0]?.finish_reason === null)).toBe(true);
  expect(await readError(await chat("sandbox:break"))).toEqual({ status: 500, code: "provider_error" });
});

test.each([
  ["reject", 422, "content_policy_violation"],
  ["flag", 422, "content_policy_violation"],
  ["fail", 500, "provider_error"],
])("sandbox:%s in the last message is answered %i", async (directive, status, code) => {
  expect(await readError(await chat(`sandbox:${directive}`, { stream: true }))).toEqual({ status, code });
});

test("directives in earlier messages have no effect", async () => {
  const messages = [
    { role: "user", content: "sandbox:fail" },
    { role: "assistant", content: "oh" },
    { role: "user", content: "again" },
  ];
  expect((await post("/v1/chat/completions", { model: "textA-1", messages })).status).toBe(200);
});

test("sandbox:flaky fails twice and then answers", async () => {
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const response = await chat("sandbox:flaky");
    statuses.push(response.status);
    expect(response.headers.get("retry-after")).toBe(response.ok ? null : "1");
    await response.text();
  }
  expect(statuses).toEqual([503, 503, 200]);
});

test.each([
  ["no messages", { model: "textA-1", messages: [] }],
  ["no model", { messages: [{ role: "user", content: "hi" }] }],
  ["a number as content", { model: "textA-1", messages: [{ role: "user", content: 1 }] }],
  ["max_tokens of nothing", { model: "textA-1", messages: [{ role: "user", content: "hi" }], max_tokens: 0 }],
])("%s is refused", async (_, body) => {
  expect(await readError(await post("/v1/chat/completions", body))).toEqual({ status: 400, code: "invalid_request" });
});
