/** LangChain.js by the Responses API and by chat: answers, streams, tools, structured output, images, errors. */

import type { AIMessageChunk } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { expect, test } from "vitest";
import * as z from "zod";
import { newAccount } from "./account.ts";
import { dot } from "./files.ts";

test("answers, streams, and calls tools", async () => {
  const { apiKey, baseURL } = await newAccount();
  const model = new ChatOpenAI({ model: "gpt-5", apiKey, useResponsesApi: true, configuration: { baseURL } });
  expect((await model.invoke("Good morning")).text).toContain("Good morning");
  let all = "";
  for await (const chunk of await model.stream("Good evening")) all += chunk.text;
  expect(all).toContain("Good evening");

  const weather = tool(async () => "sunny", { name: "get_weather", description: "The weather", schema: z.object({ city: z.string() }) });
  const bound = model.bindTools([weather]);
  const question = { role: "user", content: "What does get_weather say?" };
  const called = await bound.invoke([question]);
  expect(called.tool_calls).toMatchObject([{ name: "get_weather", args: { city: expect.any(String) } }]);
  const result = { role: "tool", content: "sunny", tool_call_id: called.tool_calls![0]!.id! };
  expect((await bound.invoke([question, called, result])).text).toContain("sunny");
});

test("chat: streams with usage, tools in a stream, structured output, images, errors", async () => {
  const { apiKey, baseURL } = await newAccount();
  const model = new ChatOpenAI({ model: "gpt-4o", apiKey, maxRetries: 0, configuration: { baseURL } });
  const whole = await model.invoke("Good morning");
  let streamed: AIMessageChunk | undefined;
  for await (const chunk of await model.stream("Good morning")) streamed = streamed ? streamed.concat(chunk) : chunk;
  expect(streamed!.text).toBe(whole.text);
  expect(streamed!.usage_metadata).toMatchObject({ input_tokens: expect.any(Number), output_tokens: expect.any(Number) });
  expect(streamed!.usage_metadata).toEqual(whole.usage_metadata);

  const weather = tool(async () => "sunny", { name: "get_weather", description: "The weather", schema: z.object({ city: z.string() }) });
  let called: AIMessageChunk | undefined;
  for await (const chunk of await model.bindTools([weather]).stream("What does get_weather say?"))
    called = called ? called.concat(chunk) : chunk;
  expect(called!.tool_calls).toMatchObject([{ name: "get_weather", args: { city: expect.any(String) } }]);

  const person = z.object({ name: z.string(), age: z.int().check(z.gte(18)) });
  expect((await model.withStructuredOutput(person, { method: "jsonSchema" }).invoke("Who?")).age).toBeGreaterThanOrEqual(18);

  const url = `data:image/png;base64,${dot.toString("base64")}`;
  const picture = [
    { type: "text", text: "What is it?" },
    { type: "image_url", image_url: { url } },
  ];
  expect((await model.invoke([{ role: "user", content: picture }])).text).toContain("I saw 1 image.");
  await expect(model.invoke("sandbox:reject")).rejects.toMatchObject({ status: 400 });
  await expect(model.invoke("sandbox:fail")).rejects.toMatchObject({ status: 500 });
});
