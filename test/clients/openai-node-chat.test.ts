/** Chat by openai-node, unchanged, of 2026 and of December 2025: streams, tools, schemas, images, errors, retries, models. */

import { setTimeout as sleep } from "node:timers/promises";
import Now from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import Before from "openai-2025";
import { expect, test } from "vitest";
import * as z from "zod";
import { newAccount } from "./account.ts";
import { dot } from "./files.ts";

const versions = [
  ["of 2026", Now],
  // The used parts have the same types in both versions.
  ["of 2025", Before as unknown as typeof Now],
] as const;
const weather = {
  type: "function" as const,
  function: {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const question = { role: "user" as const, content: "What does get_weather say?" };

test.each(versions)("%s: a chat whole and streamed, with its usage", async (_, OpenAI) => {
  const client = new OpenAI(await newAccount());
  const messages = [{ role: "user" as const, content: "Good morning" }];
  const whole = await client.chat.completions.create({ model: "gpt-5", messages });
  expect(whole.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: expect.stringContaining("Good morning") } });
  const stream = client.chat.completions.stream({ model: "gpt-5", messages, stream_options: { include_usage: true } });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  expect(text).toBe(whole.choices[0]!.message.content);
  const { choices, usage, model } = await stream.finalChatCompletion();
  expect([choices[0]!.message.content, model]).toEqual([text, "gpt-5"]);
  expect(usage).toEqual(whole.usage);
  expect(usage!.total_tokens).toBe(usage!.prompt_tokens + usage!.completion_tokens);
});

test.each(versions)("%s: tools whole and streamed, and the answer to their results", async (_, OpenAI) => {
  const client = new OpenAI(await newAccount());
  const whole = await client.chat.completions.create({ model: "gpt-5", messages: [question], tools: [weather] });
  expect(whole.choices[0]!.finish_reason).toBe("tool_calls");
  const stream = client.chat.completions.stream({
    model: "gpt-5",
    messages: [question],
    tools: [weather],
    stream_options: { include_usage: true },
  });
  const { choices, usage } = await stream.finalChatCompletion();
  expect(usage!.completion_tokens).toBeGreaterThan(0);
  for (const { message } of [whole.choices[0]!, choices[0]!]) {
    const [call] = message.tool_calls!;
    if (call?.type !== "function") throw new Error("no call");
    expect([call.function.name, JSON.parse(call.function.arguments)]).toEqual(["get_weather", { city: expect.any(String) }]);
    const result = { role: "tool" as const, tool_call_id: call.id, content: "sunny" };
    const answer = await client.chat.completions.create({ model: "gpt-5", messages: [question, message, result], tools: [weather] });
    expect(answer.choices[0]!.message.content).toContain("sunny");
  }
});

test.each(versions)("%s: the client runs the tools of a chat", async (_, OpenAI) => {
  const client = new OpenAI(await newAccount());
  const asked: unknown[] = [];
  const answer = (city: unknown) => (asked.push(city), "sunny");
  const tool = { type: "function" as const, function: { ...weather.function, description: "", parse: JSON.parse, function: answer } };
  const run = client.chat.completions.runTools({ model: "gpt-5", messages: [question], tools: [tool], stream: true });
  expect(await run.finalContent()).toContain("sunny");
  expect(asked).toEqual([{ city: expect.any(String) }]);
});

test.each(versions)("%s: a caller who leaves a stream in its middle pays for what was made", async (_, OpenAI) => {
  const account = await newAccount();
  const client = new OpenAI(account);
  const stream = await client.chat.completions.create({ model: "gpt-5", messages: [question], stream: true });
  for await (const { choices } of stream) if (choices[0]?.delta.content) stream.controller.abort();
  await expect.poll(() => account.used()).toBeGreaterThan(0);
});

test.each(versions)("%s: structured output, and an image as data and as URL", async (_, OpenAI) => {
  const client = new OpenAI(await newAccount());
  const Person = z.object({ name: z.string(), age: z.int().check(z.gte(18)) });
  const messages = [{ role: "user" as const, content: "Who?" }];
  const parsed = await client.chat.completions.parse({ model: "gpt-5", messages, response_format: zodResponseFormat(Person, "person") });
  const { data } = Person.safeParse(parsed.choices[0]!.message.parsed);
  expect(data?.age).toBeGreaterThanOrEqual(18);
  const picture = (url: string) => ({ type: "image_url" as const, image_url: { url, detail: "low" as const } });
  const content = [{ type: "text" as const, text: "What is it?" }, picture(`data:image/png;base64,${dot.toString("base64")}`)];
  const seen = await client.chat.completions.create({
    model: "gpt-5",
    messages: [{ role: "user", content: [...content, picture("https://example.com/a.png")] }],
  });
  expect(seen.choices[0]!.message.content).toContain("I saw 2 images.");
});

test.each(versions)("%s: errors are the client's own classes, before and inside a stream, and cost nothing", async (_, OpenAI) => {
  const account = await newAccount();
  const client = new OpenAI({ ...account, maxRetries: 1 });
  const ask = (content: string, more: object = {}) =>
    client.chat.completions.create({ model: "gpt-5", messages: [{ role: "user", content }], ...more }).catch((error: unknown) => error);
  expect(await ask("sandbox:reject")).toBeInstanceOf(OpenAI.BadRequestError);
  expect(await ask("sandbox:fail")).toBeInstanceOf(OpenAI.InternalServerError);
  expect(await ask("x", { n: 2 })).toMatchObject({ status: 400, param: "n" });
  expect(await ask("x", { model: "no-such-model" })).toBeInstanceOf(OpenAI.NotFoundError);
  expect(await account.used()).toBe(0);
  const broken = client.chat.completions.stream({ model: "gpt-5", messages: [{ role: "user", content: "sandbox:break" }] });
  await expect(broken.finalChatCompletion()).rejects.toBeInstanceOf(OpenAI.APIError);
});

test.each(versions)("%s: the client retries a chat whose connection failed, and it is charged once", async (_, OpenAI) => {
  const [account, other] = [await newAccount(), await newAccount()];
  let failures = 1;
  const fetchOnce = (url: string | URL | Request, init?: RequestInit) =>
    failures-- > 0 ? Promise.reject(new TypeError("connection refused")) : fetch(url, init);
  const send = async (client: Now) =>
    (await client.chat.completions.create({ model: "gpt-5", messages: [{ role: "user", content: "Again" }] })).choices[0]!.message.content;
  expect(await send(new OpenAI({ ...account, fetch: fetchOnce }))).toContain("Again");
  expect(failures).toBe(-1);
  await send(new OpenAI(other));
  expect(await account.used()).toBe(await other.used());
});

test.each(versions)("%s: models are listed and retrieved by OpenAI's names", async (_, OpenAI) => {
  const client = new OpenAI(await newAccount());
  const listed: string[] = [];
  for await (const { id } of client.models.list()) listed.push(id);
  for (const id of ["textA-1", "gpt-5"]) expect(await client.models.retrieve(id)).toMatchObject({ id, object: "model" });
  expect(listed).toContain("textA-1");
  await expect(client.models.retrieve("no-such-model")).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

const asChat = { url: "/v1/chat/completions", toBody: (content: string) => ({ messages: [{ role: "user", content }] }) } as const;
const asResponse = { url: "/v1/responses", toBody: (input: string) => ({ input }) } as const;

test.each(versions.flatMap(([name, OpenAI]) => [asChat, asResponse].map((lines) => [name, lines.url, OpenAI, lines] as const)))(
  "%s: a batch of %s and its results",
  async (_, url, OpenAI, { toBody }) => {
    const client = new OpenAI(await newAccount());
    const lines = ["Good morning", "Good night"].map((words, at) => ({
      custom_id: `line-${at}`,
      method: "POST",
      url,
      body: { model: "gpt-5", ...toBody(words) },
    }));
    const text = lines.map((line) => JSON.stringify(line)).join("\n");
    const file = await client.files.create({ file: await OpenAI.toFile(Buffer.from(text), "in.jsonl"), purpose: "batch" });
    let batch = await client.batches.create({ input_file_id: file.id, endpoint: url, completion_window: "24h" });
    while (batch.completed_at === null || batch.completed_at === undefined) {
      await sleep(500);
      batch = await client.batches.retrieve(batch.id);
    }
    expect(batch.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
    const results = (await (await client.files.content(batch.output_file_id!)).text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const read = (body: { choices?: { message: { content: string } }[]; output: { content: { text: string }[] }[] }) =>
      body.choices?.[0]?.message.content ?? body.output[0]?.content[0]?.text;
    expect(results.map(({ custom_id: id, response }) => [id, response.status_code, response.body.model, read(response.body)])).toEqual([
      ["line-0", 200, "gpt-5", expect.stringContaining("Good morning")],
      ["line-1", 200, "gpt-5", expect.stringContaining("Good night")],
    ]);
  },
);
