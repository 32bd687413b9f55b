/** Chat by OpenAI's format: whole and streamed, the upstream's request, and each refusal as the caller sees it. */

import { beforeEach, expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { call, holdTime, newAccount, settledBalance, unique } from "../../support/gateway.ts";
import { asked, capture, routesTo } from "../support.ts";

holdTime();
beforeEach(() => void vi.setSystemTime(Date.now() + 61_000));

const to = (...ids: string[]) => routesTo("openai", "textA-1", ...ids);

async function chat(content: string, more: object = {}, vars: object = { ROUTES: to("gpt-5.5") }) {
  const account = await newAccount();
  const body = { model: "textA-1", messages: [{ role: "user", content }], ...more };
  return { account, ...(await call("/v1/chat/completions", { key: account.key, body, vars })) };
}

test("a whole answer has our id and model name, and is charged by the upstream's usage", async () => {
  const prompt = unique();
  const { account, status, body } = await chat(prompt, { max_tokens: 50, temperature: 0.5 });
  expect([status, body]).toMatchObject([
    200,
    {
      id: expect.stringMatching(/^chatcmpl-/),
      model: "textA-1",
      choices: [{ index: 0, message: { role: "assistant", content: "Good morning." }, finish_reason: "stop" }],
      usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
    },
  ]);
  const messages = [{ role: "user", content: prompt }];
  expect((await asked(prompt)).map((entry) => entry.body)).toEqual([
    { model: "gpt-5.5", messages, max_completion_tokens: 50, temperature: 0.5, reasoning_effort: "none" },
  ]);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.000048 });
});

test("stream_options without a stream is not sent: the upstream refuses it", async () => {
  expect((await chat(unique(), { stream_options: { include_usage: true } })).status).toBe(200);
});

test.each([true, false])("a stream ends with [DONE]; the usage is passed on only when requested: %s", async (include_usage) => {
  const prompt = unique();
  const { account, status, body } = await chat(prompt, { stream: true, stream_options: { include_usage } });
  expect(status).toBe(200);
  const events = new TextDecoder()
    .decode(body as ArrayBuffer)
    .trim()
    .split("\n\n")
    .map((event) => event.replace("data: ", ""));
  expect(events.at(-1)).toBe("[DONE]");
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event));
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Good morning.");
  expect(chunks.some(({ usage }) => usage?.total_tokens === 15)).toBe(include_usage);
  expect((await asked(prompt))[0]!.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.000048 });
});

test.each([
  ["[moderated]", 422, "content_policy_violation"],
  ["[limit]", 503, "unavailable"],
  ["[broken]", 500, "internal_error"],
  ["[wallet]", 500, "internal_error"],
  ["[hard-limit]", 500, "internal_error"],
  ["[retired]", 500, "internal_error"],
  ["[page]", 500, "internal_error"],
  ["[empty]", 500, "internal_error"],
])("%s is %i to the caller and costs nothing, streamed or not", async (order, status, code) => {
  for (const stream of [false, true]) {
    const { account, ...answer } = await chat(`${order} ${unique()}`, { stream });
    expect(answer).toMatchObject({ status, body: { error: { code } } });
    expect(JSON.stringify(answer.body)).not.toMatch(/openai|gpt-5|quota, please/i);
    expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  }
});

test.each(["[limit 1]", "[broken 1]", "[wallet 1]", "[retired 1]", "[page 1]", "[empty 1]"])(
  "%s falls back to the next route",
  async (order) => {
    const prompt = `${order} ${unique()}`;
    const { status } = await chat(prompt, {}, { ROUTES: to("gpt-5.5", "gpt-5.4-mini") });
    expect(status).toBe(200);
    expect((await asked(prompt)).map((entry) => (entry.body as { model: string }).model)).toEqual(["gpt-5.5", "gpt-5.4-mini"]);
  },
);

test.each([false, true])("an answer whose content type is that of a page is an answer: streamed %s", async (stream) => {
  const prompt = `[mislabelled] ${unique()}`;
  const { account, status } = await chat(prompt, { stream }, { ROUTES: to("gpt-5.5", "gpt-5.4-mini") });
  expect([status, await asked(prompt)]).toEqual([200, [expect.anything()]]);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.000048 });
});

test("an answer that is cut off was generated: it is charged, and no other route is asked", async () => {
  const prompt = `[cut] ${unique()}`;
  const { account, status } = await chat(prompt, {}, { ROUTES: to("gpt-5.5", "gpt-5.4-mini") });
  expect([status, await asked(prompt)]).toEqual([500, [expect.anything()]]);
  expect((await settledBalance(account)).used).toBeGreaterThan(0);
});

test("a model that the organization must be verified for does not put the provider's other models last", async () => {
  expect((await chat(`[unverified 1] ${unique()}`, {}, { ROUTES: to("gpt-5.5", "gpt-5.4-mini") })).status).toBe(200);
  expect(isUnhealthy({ provider: "openai", model: "" })).toBe(false);
});

test("[moderated] is not submitted to other routes", async () => {
  const prompt = `[moderated] ${unique()}`;
  expect((await chat(prompt, {}, { ROUTES: to("gpt-5.5", "gpt-5.4-mini") })).status).toBe(422);
  expect(await asked(prompt)).toHaveLength(1);
});

test.each(["[wallet]", "[hard-limit]"])("%s concerns the operator's account: the provider is marked unhealthy", async (order) => {
  expect(isUnhealthy({ provider: "openai", model: "" })).toBe(false);
  await chat(`${order} ${unique()}`);
  expect(isUnhealthy({ provider: "openai", model: "" })).toBe(true);
});

test("wrong credentials mark the provider unhealthy, and neither answers nor log lines contain the key", async () => {
  const lines = capture();
  const { status, body } = await chat(unique(), {}, { ROUTES: to("gpt-5.5"), OPENAI_API_KEY: "sk-wrong-secret" });
  vi.restoreAllMocks();
  expect([status, isUnhealthy({ provider: "openai", model: "" })]).toEqual([500, true]);
  expect(lines.join("\n")).toContain('"outcome":"account_fault"');
  expect(lines.join("\n") + JSON.stringify(body)).not.toContain("sk-wrong-secret");
});

/** The upstream's request, field by field. */
// oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked at field by field
const sentTo = async (prompt: string) => (await asked(prompt)).map((entry) => entry.body as any);

test("without a limit of the caller's the reserved 4096 is sent, and no model writes 100,000 tokens for the price of 4096", async () => {
  const prompt = `[long] ${unique()}`;
  const { account, body } = await chat(prompt);
  expect((await sentTo(prompt))[0].max_completion_tokens).toBe(4096);
  expect(body.usage.completion_tokens).toBe(4096);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: (12 * 2 + 4096 * 8) / 1e6 });
});

test.each([
  [{ max_tokens: 70, max_completion_tokens: 30 }, 30],
  [{ max_tokens: 20, max_completion_tokens: 30 }, 20],
])("the smaller of two limits is sent: %j", async (limits, sent) => {
  const prompt = unique();
  await chat(prompt, limits);
  const [body] = await sentTo(prompt);
  expect([body.max_completion_tokens, body.max_tokens]).toEqual([sent, undefined]);
});

const clock = { type: "function", function: { name: "clock", parameters: { type: "object", properties: {} } } };

test.each([
  { temperature: 0.2 },
  { top_p: 0.5 },
  { stop: ["x"] },
  { logprobs: true, top_logprobs: 2 },
  { presence_penalty: 1 },
  { tools: [clock] },
  { functions: [clock.function] },
])("gpt-5.5 accepts %j with reasoning_effort none, which is sent if the caller gave no effort", async (more) => {
  const prompt = unique();
  expect((await chat(prompt, more)).status).toBe(200);
  expect((await sentTo(prompt))[0]).toMatchObject({ ...more, reasoning_effort: "none" });
});

test("values equal to the default are not sent, and the model keeps reasoning", async () => {
  const prompt = unique();
  expect((await chat(prompt, { temperature: 1, top_p: 1, presence_penalty: 0, tools: [], reasoning_effort: "high" })).status).toBe(200);
  const [body] = await sentTo(prompt);
  expect(Object.keys(body).sort()).toEqual(["max_completion_tokens", "messages", "model", "reasoning_effort"]);
});

test.each([
  ["tools", { tools: [clock], reasoning_effort: "low" }],
  ["temperature", { temperature: 0.2, reasoning_effort: "high" }],
  ["reasoning_effort", { reasoning_effort: "minimal" }],
])("with an effort from the caller, %s is 400 if no route supports it, and nothing is reserved", async (param, more) => {
  const prompt = unique();
  const { account, status, body } = await chat(prompt, more);
  expect([status, body.error]).toMatchObject([400, { type: "invalid_request", code: "unsupported_parameter", param }]);
  expect(await asked(prompt)).toEqual([]);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a route that cannot honour the chat is skipped for one that can", async () => {
  const prompt = unique();
  const { status } = await chat(prompt, { tools: [clock], reasoning_effort: "low" }, { ROUTES: to("gpt-5.5", "gpt-4.1") });
  expect(status).toBe(200);
  expect((await sentTo(prompt)).map(({ model }) => model)).toEqual(["gpt-4.1"]);
});

test("an operator's family overrides the built-in one", async () => {
  const prompt = unique();
  const CHAT_FAMILIES = { mine: { models: "^gpt-5", limit: "max_completion_tokens", refuses: ["seed"] } };
  const answer = await chat(prompt, { seed: 1 }, { ROUTES: to("gpt-5.5"), CHAT_FAMILIES });
  expect(answer).toMatchObject({ status: 400, body: { error: { code: "unsupported_parameter", param: "seed" } } });
});

test.each([
  ["[too-long]", "context_length_exceeded", "messages", "is longer than the model can read"],
  ["[bad-schema]", "invalid_request", "tools[0].function.parameters", "is not a JSON Schema that the model accepts"],
  ["[bad-type]", "invalid_request", "messages[0].content", "does not have the type that the model expects"],
])("%s is the caller's error: 400 with its field and the reason, no fallback and no alert", async (order, code, param, reason) => {
  for (const stream of [false, true]) {
    const prompt = `${order} ${unique()}`;
    const lines = capture();
    const { account, ...answer } = await chat(prompt, { stream, tools: [clock] }, { ROUTES: to("gpt-5.5", "gpt-4.1") });
    vi.restoreAllMocks();
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { type: "invalid_request", code, param, message: `${param}: ${reason}` } },
    });
    expect(JSON.stringify(answer.body)).not.toMatch(/1050000|clock'/);
    expect(await asked(prompt)).toHaveLength(1);
    expect(lines.join("\n")).not.toMatch(/"outcome":"(?:fault|internal_error)"/);
    expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  }
});

test("a field that the upstream names and the caller did not send is not named to the caller", async () => {
  const { status, body } = await chat(`[strange-field] ${unique()}`);
  expect([status, body.error]).toMatchObject([400, { code: "invalid_request", param: null, message: "The request is invalid." }]);
});

test("a prompt too long for one model is sent to a route with a larger stated window", async () => {
  const family = (models: string, context_tokens: number) => ({ models, limit: "max_completion_tokens", context_tokens });
  const CHAT_FAMILIES = { small: family("^gpt-5\\.4", 400_000), large: family("^gpt-4\\.1", 1_000_000) };
  const prompt = `[too-long] ${unique()}`;
  await chat(prompt, {}, { ROUTES: to("gpt-5.4-mini", "gpt-4.1", "gpt-5.4-mini"), CHAT_FAMILIES });
  expect((await sentTo(prompt)).map(({ model }) => model)).toEqual(["gpt-5.4-mini", "gpt-4.1"]);
});

test("fields of OpenAI's client types that change no price are accepted, not sent, and named in the header", async () => {
  const prompt = unique();
  const dropped = {
    user: "u",
    metadata: { a: "b" },
    store: true,
    service_tier: "priority",
    safety_identifier: "s",
    prompt_cache_key: "k",
    prompt_cache_retention: "24h",
    prompt_cache_options: { mode: "implicit" },
    prediction: { type: "content", content: "x" },
  };
  const { status, headers } = await chat(prompt, { ...dropped, modalities: ["text"], n: 1 });
  expect(status).toBe(200);
  expect(headers.get("x-dropped-params")?.split(", ").sort()).toEqual(Object.keys(dropped).sort());
  expect(Object.keys((await sentTo(prompt))[0]).sort()).toEqual(["max_completion_tokens", "messages", "model"]);
  expect((await chat(unique())).headers.get("x-dropped-params")).toBeNull();
});

const eventsIn = (body: unknown) =>
  new TextDecoder()
    .decode(body as ArrayBuffer)
    .trim()
    .split("\n\n");

test.each([false, true])("fields of other gateways are removed, fields that clients use are kept: streamed %s", async (stream) => {
  const { headers, body } = await chat(`[marks] [reason] [tool] ${unique()}`, { stream, stream_options: { include_usage: true } });
  expect(headers.get("content-type")).toMatch(stream ? /event-stream/ : /json/);
  const text = stream ? eventsIn(body).join("\n") : JSON.stringify(body);
  expect(text).not.toMatch(/SecretMaker|fp_secret|native_finish|"cost|service_tier|OPENROUTER|"provider"/);
  const chunks = stream
    ? eventsIn(body)
        .filter((event) => event.startsWith("data: {"))
        .map((event) => JSON.parse(event.slice(6)))
    : [body];
  const said = chunks.flatMap(({ choices }) =>
    choices.map((choice: { message?: object; delta?: object }) => choice.message ?? choice.delta),
  );
  expect(said.some(({ reasoning_content: reasoning }) => reasoning === "Let me think.")).toBe(true);
  const calls = said.flatMap(({ tool_calls = [] }) => tool_calls);
  expect(calls[0]).toMatchObject({ id: "call_1", type: "function", function: { name: "clock" } });
  expect(calls.map((call: { function: { arguments: string } }) => call.function.arguments).join("")).toBe('{"zone":"Paris"}');
  expect(chunks.at(-1).usage).toEqual({
    prompt_tokens: 12,
    completion_tokens: 3,
    total_tokens: 15,
    completion_tokens_details: { reasoning_tokens: 0 },
  });
});

test("the upstream's keep-alive comments become comments of ours to the caller", async () => {
  const { body } = await chat(`[alive] ${unique()}`, { stream: true });
  expect(eventsIn(body)[0]).toBe(":");
});

test.each([
  ["[fails-inside]", "internal_error"],
  ["[filtered-inside]", "content_policy_violation"],
])("%s becomes one error event of ours, and the stream ends without [DONE]", async (order, code) => {
  const lines = capture();
  const { account, status, body } = await chat(`${order} ${unique()}`, { stream: true });
  vi.restoreAllMocks();
  const events = eventsIn(body);
  expect(status).toBe(200);
  const error = { message: expect.any(String), type: code, code, param: null };
  expect(JSON.parse(events.at(-1)!.slice("data: ".length))).toEqual({ error });
  expect(events.join("\n") + lines.join("\n")).not.toMatch(/SecretMaker|sk-secret|DONE/);
  expect((await settledBalance(account)).reserved).toBe(0);
  expect((await settledBalance(account)).used).toBeGreaterThan(0);
});

test("an error inside a whole answer is an error, and costs nothing", async () => {
  const { account, status, body } = await chat(`[fails-inside] ${unique()}`);
  expect([status, body.error.code, JSON.stringify(body).includes("SecretMaker")]).toEqual([500, "internal_error", false]);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

const tools = [{ type: "function", function: { name: "clock", parameters: { type: "object", properties: {} } } }];

test.each([
  ["gpt-6.1-sol", {}, { max_completion_tokens: 4096 }],
  ["gpt-6.1-sol", { temperature: 1, reasoning_effort: "xhigh" }, { reasoning_effort: "xhigh" }],
  ["gpt-6.1-terra", { reasoning_effort: "none" }, { reasoning_effort: "none" }],
  ["gpt-6-luna", { tools }, { tools, reasoning_effort: "none" }],
])("%s is sent only what it takes: %o", async (id, asked, expected) => {
  const prompt = unique();
  expect((await chat(prompt, asked, { ROUTES: to(id) })).status).toBe(200);
  expect((await sentTo(prompt))[0]).toMatchObject({ model: id, ...expected });
  expect((await sentTo(prompt))[0].temperature).toBeUndefined();
});

test.each([
  ["gpt-6.1-sol", { tools }, "tools"],
  ["gpt-6.1-sol", { reasoning_effort: "none" }, "reasoning_effort"],
  ["gpt-6.1-terra", { tools, reasoning_effort: "none" }, "tools"],
  ["gpt-6-luna", { tools, reasoning_effort: "high" }, "tools"],
  ["gpt-6-luna", { temperature: 0.2 }, "temperature"],
])("%s cannot honour %o: alone it is refused by field, beside gpt-5.5 that answers", async (id, asked, param) => {
  const { status, body } = await chat(unique(), asked, { ROUTES: to(id) });
  expect([status, body.error]).toMatchObject([400, { code: "unsupported_parameter", param }]);
  if ("tools" in asked && "reasoning_effort" in asked && asked.reasoning_effort === "high") return;
  const prompt = unique();
  expect((await chat(prompt, asked, { ROUTES: to(id, "gpt-5.5") })).status).toBe(200);
  expect((await sentTo(prompt)).map(({ model }) => model)).toEqual(["gpt-5.5"]);
});
