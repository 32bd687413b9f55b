/** Vercel's AI SDK with its OpenAI provider as it comes: text by responses, images by the images API. */

import { createOpenAI } from "@ai-sdk/openai";
import { generateImage, generateText, stepCountIs, streamText, tool } from "ai";
import { expect, test } from "vitest";
import * as z from "zod";
import { newAccount } from "./account.ts";

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
