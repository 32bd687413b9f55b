/** LangChain.js by the Responses API: answers, streams and tools. */

import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { expect, test } from "vitest";
import * as z from "zod";
import { newAccount } from "./account.ts";

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
