/** Vercel's AI SDK with its unchanged OpenAI provider: text by responses and by chat, images by the images API. */

import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateImage, generateText, Output, stepCountIs, streamText, tool } from "ai";
import { expect, test } from "vitest";
import * as z from "zod";
import { newAccount } from "./account.ts";
import { dot } from "./files.ts";

test("text, streamed text, tools and images", async () => {
  const account = await newAccount();
  const openai = createOpenAI(account);
  const { text, usage } = await generateText({ model: openai("gpt-5"), prompt: "Good morning" });
  expect([text, usage.totalTokens]).toEqual([expect.stringContaining("Good morning"), expect.any(Number)]);

  const streamed = streamText({ model: openai("gpt-5-mini"), prompt: "Good evening" });
  let all = "";
  for await (const part of streamed.textStream) all += part;
  expect(all).toContain("Good evening");
  expect(await streamed.finishReason).toBe("stop");

  const asked: unknown[] = [];
  const get_weather = tool({
    description: "The weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: async (input) => {
      asked.push(input);
      return "sunny";
    },
  });
  const used = await generateText({
    model: openai("gpt-5"),
    prompt: "What does get_weather say?",
    tools: { get_weather },
    stopWhen: stepCountIs(2),
  });
  expect([asked, used.text]).toEqual([[{ city: expect.any(String) }], expect.stringContaining("sunny")]);

  const { images } = await generateImage({ model: openai.image("gpt-image-1"), prompt: "A hare", n: 2, size: "1024x1024" });
  expect(images.map(({ mediaType }) => mediaType)).toEqual(["image/png", "image/png"]);
  const { text: chat } = await generateText({ model: openai.chat("gpt-4o"), prompt: "Good night" });
  expect(chat).toContain("Good night");
});

test("chat: streams with usage, tools in a stream, structured output, images", async () => {
  const openai = createOpenAI(await newAccount());
  const model = openai.chat("gpt-4o");
  const streamed = streamText({ model, prompt: "Good evening" });
  let all = "";
  for await (const part of streamed.textStream) all += part;
  expect(all).toContain("Good evening");
  const usage = await streamed.usage;
  expect(usage.totalTokens).toBe(usage.inputTokens! + usage.outputTokens!);
  expect(usage.outputTokens).toBeGreaterThan(0);

  const get_weather = tool({ description: "The weather", inputSchema: z.object({ city: z.string() }), execute: async () => "sunny" });
  const used = streamText({ model, prompt: "What does get_weather say?", tools: { get_weather }, stopWhen: stepCountIs(2) });
  expect(await used.text).toContain("sunny");
  expect((await used.steps).map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);

  const schema = z.object({ name: z.string(), age: z.int().check(z.gte(18)) });
  const { output } = await generateText({ model, prompt: "Who?", output: Output.object({ schema }) });
  expect([typeof output.name, output.age >= 18]).toEqual(["string", true]);

  const content = [
    { type: "text" as const, text: "What is it?" },
    { type: "file" as const, data: dot, mediaType: "image/png" },
  ];
  expect((await generateText({ model, messages: [{ role: "user", content }] })).text).toContain("I saw 1 image.");
});

test("chat: errors have their status, and retryable ones are retried", async () => {
  const account = await newAccount();
  let calls = 0;
  const openai = createOpenAI({ ...account, fetch: (url, init) => (calls++, fetch(url, init)) });
  const ask = (prompt: string, maxRetries = 0) =>
    generateText({ model: openai.chat("gpt-4o"), prompt, maxRetries }).catch((error: unknown) => error);
  const refused = await ask("sandbox:reject", 1);
  expect(refused).toBeInstanceOf(APICallError);
  expect([(refused as APICallError).statusCode, (refused as APICallError).isRetryable, calls]).toEqual([400, false, 1]);
  expect(await ask("sandbox:fail", 1)).toMatchObject({ name: "AI_RetryError" });
  expect([calls, await account.used()]).toEqual([3, 0]);
});
