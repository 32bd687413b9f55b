/** Chat by OpenAI's format: whole and streamed, what arrives there, and what each refusal is to the caller. */

import { beforeEach, expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { books, call, holdTime, newAccount, unique } from "../../support/gateway.ts";
import { asked, capture, routesTo } from "../support.ts";

holdTime();
beforeEach(() => void vi.setSystemTime(Date.now() + 61_000));

const to = (...ids: string[]) => routesTo("openai", "textA-1", ...ids);

async function chat(content: string, more: object = {}, vars: object = { ROUTES: to("gpt-5.5") }) {
  const account = await newAccount();
  const body = { model: "textA-1", messages: [{ role: "user", content }], ...more };
  return { account, ...(await call("/v1/chat/completions", { key: account.key, body, vars })) };
}

test("a whole answer comes under our names and is charged by the upstream's usage", async () => {
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
    { model: "gpt-5.5", messages, max_completion_tokens: 50, temperature: 0.5 },
  ]);
  expect(await books(account)).toMatchObject({ reserved: 0, used: 0.000048 });
});

test("stream_options without a stream stay here: the upstream refuses them", async () => {
  expect((await chat(unique(), { stream_options: { include_usage: true } })).status).toBe(200);
});

test.each([true, false])("a stream ends with [DONE]; the usage is passed on only when asked for: %s", async (include_usage) => {
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
  await vi.waitFor(async () => expect(await books(account)).toMatchObject({ reserved: 0, used: 0.000048 }));
});

test.each([
  ["[moderated]", 422, "content_policy_violation"],
  ["[limit]", 503, "unavailable"],
  ["[broken]", 500, "internal_error"],
  ["[wallet]", 500, "internal_error"],
  ["[hard-limit]", 500, "internal_error"],
  ["[retired]", 500, "internal_error"],
])("%s is %i to the caller and costs nothing, streamed or not", async (order, status, code) => {
  for (const stream of [false, true]) {
    const { account, ...answer } = await chat(`${order} ${unique()}`, { stream });
    expect(answer).toMatchObject({ status, body: { error: { code } } });
    expect(JSON.stringify(answer.body)).not.toMatch(/openai|gpt-5|quota, please/i);
    expect(await books(account)).toMatchObject({ reserved: 0, used: 0 });
  }
});

test.each(["[limit 1]", "[broken 1]", "[wallet 1]", "[retired 1]"])("%s gives way to the next route", async (order) => {
  const prompt = `${order} ${unique()}`;
  const { status } = await chat(prompt, {}, { ROUTES: to("gpt-5.5", "gpt-5.4-mini") });
  expect(status).toBe(200);
  expect((await asked(prompt)).map((entry) => (entry.body as { model: string }).model)).toEqual(["gpt-5.5", "gpt-5.4-mini"]);
});

test("[moderated] is asked of nobody else", async () => {
  const prompt = `[moderated] ${unique()}`;
  expect((await chat(prompt, {}, { ROUTES: to("gpt-5.5", "gpt-5.4-mini") })).status).toBe(422);
  expect(await asked(prompt)).toHaveLength(1);
});

test.each(["[wallet]", "[hard-limit]"])("%s is about the operator's account: the provider is put aside", async (order) => {
  expect(isUnhealthy("openai")).toBe(false);
  await chat(`${order} ${unique()}`);
  expect(isUnhealthy("openai")).toBe(true);
});

test("wrong credentials put the provider aside, and neither answers nor lines name the key", async () => {
  const lines = capture();
  const { status, body } = await chat(unique(), {}, { ROUTES: to("gpt-5.5"), OPENAI_API_KEY: "sk-wrong-secret" });
  vi.restoreAllMocks();
  expect([status, isUnhealthy("openai")]).toEqual([500, true]);
  expect(lines.join("\n")).toContain('"outcome":"account_fault"');
  expect(lines.join("\n") + JSON.stringify(body)).not.toContain("sk-wrong-secret");
});
