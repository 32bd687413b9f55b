/**
 * The third part of `npm run bench:large-body`: chats and responses of 10 MiB, the largest that are taken, whose upstream takes its time, so that
 * all wait for it at once. Isolates of 128 MB. Exits 1 if a limit is exceeded.
 */

import { dataUri, MiB, type Sent, toJson, withinHeaps } from "./heaps.ts";

const whole = 9.99 * MiB;
const text = "It was a dark and stormy night. ".repeat(whole / 32);
/** One such character makes the whole string twice as large in memory. */
const wideText = `${text.slice(8)}\u4e2d`;
const picture = dataUri((whole * 3) / 4 - 1024);
const chat = { model: "textA-1", max_tokens: 16 };
const response = { model: "gpt-5", max_output_tokens: 16 };
const ask = (content: unknown) => [{ role: "user", content }];
/** Nearly as many values as are taken, in the form that takes the most memory: an object with a name of its own for each. */
const values = Array.from({ length: 49_000 }, (_, at) => ({ [at.toString(36)]: 0 }));
const dense = { type: "function", function: { name: "a", parameters: { enum: values } } };
const shown = [{ type: "image_url", image_url: { url: picture } }];

const bodies: Sent[] = [
  { name: "text", path: "/v1/chat/completions", body: toJson({ ...chat, messages: ask(text) }) },
  { name: "wide text", path: "/v1/chat/completions", body: toJson({ ...chat, messages: ask(wideText) }) },
  { name: "a picture", path: "/v1/chat/completions", body: toJson({ ...chat, messages: ask(shown), stream: true }) },
  { name: "wide text", path: "/openai/v1/chat/completions", body: toJson({ ...chat, model: "gpt-5", messages: ask(wideText) }) },
  { name: "text", path: "/openai/v1/responses", body: toJson({ ...response, input: text, stream: true }) },
  { name: "many values", path: "/v1/chat/completions", body: toJson({ ...chat, messages: ask(text.slice(600_000)), tools: [dense] }) },
  {
    name: "a picture",
    path: "/openai/v1/responses",
    body: toJson({ ...response, input: ask([{ type: "input_image", image_url: picture }]) }),
  },
];

await withinHeaps(bodies);
