/** Text generation. */

import { chatChunk, chatCompletion } from "../../../src/api/schema/chat.ts";
import { errorAnswer } from "../../../src/api/schema/errors.ts";
import { chatQuery } from "../../../src/api/schema/queries.ts";
import { dryRun } from "../../../src/api/schema/tasks.ts";
import { json, ofPrice, tagged } from "../definition.ts";

const text = "A lighthouse is a tower with a light that warns ships.";

export const chat = tagged("chat", {
  "POST /v1/chat/completions": {
    id: "createChatCompletion",
    summary: "Answer a conversation",
    description:
      "In the format of OpenAI's chat completions. Unsupported fields that change neither the kind of output nor the price are left out and named in `x-dropped-params`; one that changes the kind of output is 400. An error within a stream is one event, without `[DONE]` after it.",
    query: chatQuery(),
    headers: ["Accept-Language"],
    body: {
      schema: "ChatRequest",
      examples: {
        question: { model: "textA-1-mini", messages: [{ role: "user", content: "What is a lighthouse?" }] },
        stream: {
          model: "textA-1",
          messages: [
            { role: "system", content: "Answer in one sentence." },
            { role: "user", content: "What is a lighthouse?" },
          ],
          stream: true,
          stream_options: { include_usage: true },
          max_completion_tokens: 200,
        },
      },
    },
    answers: {
      200: {
        description: "The answer: whole, as a stream of chunks that ends with `data: [DONE]`, or with `dry_run=true` its price.",
        headers: ["x-dropped-params", "cache-control", "sunset"],
        content: {
          ...json([chatCompletion, dryRun], {
            answer: {
              id: "chatcmpl-8Kx2vQzT4mWb7yHc1pNe5u",
              object: "chat.completion",
              created: 1_795_305_600,
              model: "textA-1-mini",
              choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
              usage: { prompt_tokens: 12, completion_tokens: 13, total_tokens: 25 },
            },
            dry_run: {
              object: "generation.dry_run",
              model: "textA-1-mini",
              kind: "chat",
              price: 0.003284,
              remaining_after: 98.886716,
              estimated_time: 3,
              metadata: { kind: "chat", prompt_tokens: 36, max_completion_tokens: 4096, reserved: 0.003284 },
            },
          }),
          "text/event-stream": { schema: [chatChunk, errorAnswer], events: { end: "[DONE]" } },
        },
      },
    },
    errors: [...ofPrice, "context_length_exceeded", "content_policy_violation"],
    violation: { param: "messages[0].role", rule: "required" },
  },
});
