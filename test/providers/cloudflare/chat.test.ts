/** Chats through Cloudflare: Workers AI's format through the binding, OpenAI's through REST. */

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import worker from "../../../src/worker.ts";
import { holdTime, newAccount, settledBalance, unique } from "../../support/gateway.ts";
import { asked } from "../support.ts";
import { type Door, doors, readVars } from "./support.ts";
import { toEnv } from "../../support/models.ts";

holdTime();

const hosted = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

/** The answer to one message, with its events parsed if it is a stream. */
async function say(door: Door, content: string, more: object = {}, models = [hosted]) {
  const account = await newAccount();
  const ROUTES = { "textA-1": models.map((model) => ({ provider: "cloudflare", model })) };
  const context = createExecutionContext();
  const request = new Request("https://gateway.example/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "textA-1", messages: [{ role: "user", content }], ...more }),
  });
  const response = await worker.fetch(request, toEnv({ ...readVars(door), ROUTES }), context);
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const text = await response.text().catch(() => "broken");
  await waitOnExecutionContext(context);
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked at field by field
  const body: any = isStream || text === "broken" ? undefined : JSON.parse(text);
  const events = isStream ? text.split("\n\n").flatMap((part) => (part === "" ? [] : [part.slice("data: ".length)])) : [];
  return { account, status: response.status, text, body, events };
}

test.each(doors)("through the %s an answer has OpenAI's format, and is charged by its usage", async (door) => {
  const word = unique();
  const { account, status, body } = await say(door, word);
  expect(status).toBe(200);
  expect(body).toMatchObject({ object: "chat.completion", model: "textA-1", usage });
  expect(body.choices).toEqual([{ index: 0, message: { role: "assistant", content: "Hello there." }, finish_reason: "stop" }]);
  expect((await asked(word)).map(({ call, body: sent }) => [call, (sent as { door: string }).door])).toEqual([["chat", door]]);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.000038 });
});

test.each(doors)("through the %s a stream has OpenAI's events, with the usage last", async (door) => {
  const { account, events } = await say(door, unique(), { stream: true, stream_options: { include_usage: true } });
  expect(events.at(-1)).toBe("[DONE]");
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event));
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Hello there.");
  expect(chunks.at(-2).choices[0].finish_reason).toBe("stop");
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
  for (const chunk of chunks) expect(chunk).toMatchObject({ object: "chat.completion.chunk", model: "textA-1" });
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.000038 });
});

test("hosted models get requests in Workers AI's format, with an explicit limit where their default is low", async () => {
  const word = unique();
  await say("binding", word, { max_completion_tokens: 100, temperature: 0.5, n: 1, parallel_tool_calls: true });
  await say("binding", word);
  const sent = (await asked(word)).map(({ body }) => (body as { input: Record<string, unknown> }).input);
  expect(sent[0]).toEqual({ messages: [{ role: "user", content: word }], max_tokens: 100, temperature: 0.5 });
  expect(sent[1]).toEqual({ messages: [{ role: "user", content: word }], max_tokens: 4096 });
});

test("models with OpenAI's format get the request as it is", async () => {
  const word = unique();
  const more = { stream: true, max_completion_tokens: 100, parallel_tool_calls: true };
  await say("binding", `${word} [openai]`, more, ["@cf/zai-org/glm-5.3-flash"]);
  const messages = [{ role: "user", content: `${word} [openai]` }];
  const sent = (await asked(word)).map(({ body }) => (body as { input: object }).input);
  expect(sent).toEqual([{ messages, ...more, stream_options: { include_usage: true } }]);
});

test.each([false, true])("an answer that used all its tokens has finish_reason length: streamed %s", async (stream) => {
  const { body, events } = await say("binding", `${unique()} [cut]`, { stream, max_tokens: 50 });
  const last = stream
    ? events
        .slice(0, -1)
        .map((event) => JSON.parse(event))
        .at(-1)
    : body;
  expect(last.choices[0].finish_reason).toBe("length");
});

test.each([false, true])("a tool call gets an id, and its arguments are a string: streamed %s", async (stream) => {
  const { body, events } = await say("binding", `${unique()} [tool]`, { stream });
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event));
  const calls = stream ? chunks.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []) : body.choices[0].message.tool_calls;
  const call = { id: expect.any(String), type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
  expect(calls).toEqual([stream ? { index: 0, ...call } : call]);
  expect((stream ? chunks.at(-1) : body).choices[0].finish_reason).toBe("tool_calls");
});

test.each([false, true])("the answer of a model with OpenAI's format is passed on: streamed %s", async (stream) => {
  const { body, events } = await say("binding", `${unique()} [openai]`, { stream });
  if (stream) expect(events.filter((event) => event.includes('"finish_reason":"stop"'))).toHaveLength(1);
  else expect(body.choices[0].message.content).toBe("Hello there.");
});

test("a stream that breaks off at the provider also breaks off for the caller, who is charged for what arrived", async () => {
  const { account, text } = await say("binding", `${unique()} [break]`, { stream: true });
  expect(text).toBe("broken");
  const { reserved, used } = await settledBalance(account);
  expect(reserved).toBe(0);
  expect(used).toBeGreaterThan(0);
});

for (const door of doors)
  test.each([
    ["[guarded]", 422, "content_policy_violation"],
    ["[moderated]", 422, "content_policy_violation"],
    ["[broken]", 500, "internal_error"],
    ["[too-long]", 400, "context_length_exceeded"],
    ["[retired]", 500, "internal_error"],
    ["[wallet]", 500, "internal_error"],
  ])(`through the ${door} %s of a chat is %i`, async (order, status, code) => {
    const answer = await say(door, `${unique()} ${order}`);
    expect(answer.status).toBe(status);
    expect(answer.body.error.code).toBe(code);
    expect(await settledBalance(answer.account)).toMatchObject({ reserved: 0, used: 0 });
    vi.restoreAllMocks();
  });

test.each(doors)("through the %s a chat refused for capacity goes to the next route", async (door) => {
  const answer = await say(door, `${unique()} [limit 1]`, {}, [hosted, "@cf/zai-org/glm-5.3-flash"]);
  expect(answer.status).toBe(200);
});
