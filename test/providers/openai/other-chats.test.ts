/** Answers of chats that OpenAI's own API never gives, and servers and gateways with its format do: what the caller gets and pays. */

import { beforeEach, expect, test, vi } from "vitest";
import { call, holdTime, newAccount, settledBalance, unique } from "../../support/gateway.ts";
import { routesTo } from "../support.ts";

holdTime();
beforeEach(() => void vi.setSystemTime(Date.now() + 61_000));

type Body = string | object;
const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };
/** The price of that usage. */
const paid = 0.000048;
const message = (more: object = {}) => ({ role: "assistant", content: "Hello", ...more });
const whole = (more: object = {}, choice: object = {}) => ({
  choices: [{ message: message(), finish_reason: "stop", ...choice }],
  usage,
  ...more,
});
const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const delta = (given: object, more: object = {}) => event({ choices: [{ index: 0, delta: given, finish_reason: null }], ...more });
const end = event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage });
const done = "data: [DONE]\n\n";

/** Sends a chat whose upstream gives these answers in turn, the last of them again and again; each arrives without a length. */
async function chat(more: object, type: string, ...answers: Body[]) {
  let asked = 0;
  vi.spyOn(globalThis, "fetch").mockImplementation(() => {
    const answer = answers[Math.min(asked++, answers.length - 1)]!;
    const text = typeof answer === "string" ? answer : JSON.stringify(answer);
    return Promise.resolve(new Response(new Blob([text]).stream(), { headers: { "content-type": type } }));
  });
  const account = await newAccount();
  const { status, body } = await call("/v1/chat/completions", {
    key: account.key,
    body: { model: "textA-1", max_tokens: 50, messages: [{ role: "user", content: unique() }], ...more },
    vars: { ROUTES: routesTo("openai", "textA-1", "gpt-5.5", "gpt-5.4-mini") },
  });
  vi.restoreAllMocks();
  return { status, body, asked, used: (await settledBalance(account)).used };
}

const ask = (...answers: Body[]) => chat({}, "application/json", ...answers);

/** The data of the caller's events, with `[DONE]` as it is. */
async function stream(type: string, ...answers: Body[]) {
  const { body, ...others } = await chat({ stream: true, stream_options: { include_usage: true } }, type, ...answers);
  const text = new TextDecoder().decode(body as ArrayBuffer);
  const data = text.split("\n\n").flatMap((one) => (one.startsWith("data: ") ? [one.slice(6)] : []));
  // oxlint-disable-next-line typescript/no-explicit-any -- events are looked at field by field
  return { ...others, events: data.map((one): any => (one === "[DONE]" ? one : JSON.parse(one))) };
}

test.each([
  ["counts as text", { prompt_tokens: "12", completion_tokens: "3", total_tokens: "15" }, usage, paid],
  ["fractions", { prompt_tokens: 11.5, completion_tokens: 2.5, total_tokens: 14 }, { ...usage, total_tokens: 14 }, paid],
  ["no total", { prompt_tokens: 12, completion_tokens: 3, total_tokens: null }, usage, paid],
  [
    "details of another form",
    { ...usage, prompt_tokens_details: { cached_tokens: "4", audio_tokens: { a: 1 } } },
    { ...usage, prompt_tokens_details: { cached_tokens: 4 } },
    expect.any(Number),
  ],
  ["negative counts", { prompt_tokens: -12, completion_tokens: -3, total_tokens: -15 }, undefined, expect.any(Number)],
  ["counts that no chat can have", { prompt_tokens: 1e12, completion_tokens: 1e12, total_tokens: 2e12 }, undefined, expect.any(Number)],
  ["a total alone", { total_tokens: 15 }, undefined, expect.any(Number)],
  ["a list", [], undefined, expect.any(Number)],
])("a usage report with %s is read as far as it is one", async (_, given, shown, price) => {
  const answer = await ask(whole({ usage: given }));
  expect(answer).toMatchObject({ status: 200, used: price });
  expect(answer.used).toBeGreaterThan(0);
  expect(answer.body.usage).toEqual(shown);
  const { events } = await stream(
    "text/event-stream",
    delta({ content: "Hello" }) + event({ choices: [], usage: given }) + end.replace(/,"usage.*(?=\})/, "") + done,
  );
  expect(events.flatMap((one) => one.usage ?? [])).toEqual(shown ? [shown] : []);
});

test("the fields of an answer have the types of OpenAI's, whatever those of the upstream are", async () => {
  const call = { id: "a", type: "function", function: { name: "clock", arguments: { zone: "Paris" } } };
  const parts = [
    { type: "thinking", thinking: [] },
    { type: "text", text: "Hel" },
    { type: "text", text: "lo" },
  ];
  const { status, body } = await ask(whole({ created: 17.5 }, { message: { content: parts, tool_calls: [call] } }));
  expect([status, body]).toMatchObject([200, { created: 17 }]);
  expect(body.choices[0].message).toEqual({
    role: "assistant",
    content: "Hello",
    tool_calls: [{ ...call, function: { name: "clock", arguments: '{"zone":"Paris"}' } }],
  });
  expect((await ask(whole({ created: Date.now() }, { message: { role: "model", content: { a: 1 } } }))).body.choices[0].message).toEqual({
    role: "assistant",
  });
});

test("an answer without a choice is none", async () => {
  for (const choices of [[], [null]])
    expect(await ask({ choices, usage })).toMatchObject({ status: 500, body: { error: { code: "internal_error" } } });
});

test("tool calls of a stream get the index that the upstream leaves out, so that clients can join their parts", async () => {
  const part = (args: string) => delta({ tool_calls: [{ function: { arguments: args } }] });
  const begin = (id: string) => delta({ tool_calls: [{ id, type: "function", function: { name: "clock", arguments: "" } }] });
  const { events } = await stream("text/event-stream", begin("a") + part("{") + part("}") + begin("b") + part("{}") + end + done);
  expect(events.flatMap(({ choices }) => choices?.[0]?.delta.tool_calls ?? []).map(({ index }) => index)).toEqual([0, 0, 0, 1, 1]);
});

const busy = { code: "unavailable" };
const failed = { code: "internal_error" };

test.each([
  ["an object", { error: { message: "no", code: "server_error" } }, failed],
  ["over several lines", JSON.stringify({ error: { message: "no" } }, null, 2), failed],
  ["of a rate limit", { error: { message: "no", type: "tokens", code: "rate_limit_exceeded" } }, busy],
  ["of an overload", { error: { message: "no", type: "overloaded_error" } }, busy],
  ["of vLLM", { object: "error", message: "no", type: "BadRequestError", code: 400 }, { code: "invalid_request" }],
])(
  "an error %s in place of an answer costs nothing, and is told as what it is: whole, as a stream, and in one",
  async (_, given, error) => {
    expect(await ask(given)).toMatchObject({ body: { error }, used: 0 });
    expect(await stream("application/json", given)).toMatchObject({ events: [{ error }], used: 0 });
    const inStream = event(typeof given === "string" ? JSON.parse(given) : given);
    expect(await stream("text/event-stream", inStream)).toMatchObject({ events: [{ error }], used: 0 });
  },
);

test("a whole answer to a chat that asked for a stream is a stream of one event, and is charged once", async () => {
  for (const answer of [JSON.stringify(whole()), JSON.stringify(whole(), null, 2), event(whole()) + done]) {
    const { events, used } = await stream("application/json", answer);
    expect([events.at(-1), used]).toEqual(["[DONE]", paid]);
    expect(events.map((one) => one.choices?.[0]?.delta.content ?? "").join("")).toBe("Hello");
  }
});

test.each(["text/plain", ""])("a page, or nothing, of the type %j is no answer: the next route is asked", async (type) => {
  for (const nothing of ["<!doctype html><title>Sign in</title>", "", " \n"]) {
    expect(await chat({}, type, nothing, whole())).toMatchObject({ status: 200, asked: 2, used: paid });
    expect(await stream(type, nothing, delta({ content: "Hello" }) + end + done)).toMatchObject({ status: 200, asked: 2, used: paid });
    expect(await chat({}, type, nothing)).toMatchObject({ status: 500, asked: 2, used: 0 });
  }
});

test("a maker that is overloaded (529) is busy: the caller may try again", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(() => Promise.resolve(Response.json({}, { status: 529 })));
  const { key } = await newAccount();
  const body = { model: "textA-1", messages: [{ role: "user", content: unique() }] };
  const answer = await call("/v1/chat/completions", { key, body, vars: { ROUTES: routesTo("openai", "textA-1", "gpt-5.5") } });
  expect(answer).toMatchObject({ status: 503, body: { error: busy } });
  expect(answer.headers.get("retry-after")).not.toBeNull();
});
