/** The reservation of a chat: the bytes of all forwarded fields, upper bounds for parts whose size in bytes says little about tokens, and the longest answer. */

import { expect, test } from "vitest";
import { chatBody } from "../../../src/catalog/chat-schema.ts";
import { chatReservation } from "../../../src/catalog/chat-tokens.ts";

const price = { input: 1_000_000, output: 1_000_000 };
const message = { role: "user" as const, content: "hi" };
const reserve = (body: object) => chatReservation(price, chatBody().parse({ messages: [message], ...body }));
const least = reserve({}).promptTokens;

test.each([
  ["a message", (text: string) => ({ messages: [{ role: "user", content: text }] })],
  ["a part", (text: string) => ({ messages: [{ role: "user", content: [{ type: "text", text }] }] })],
  ["a name", (text: string) => ({ messages: [{ ...message, name: text }] })],
  ["a refusal", (text: string) => ({ messages: [{ role: "assistant", refusal: text }] })],
  ["a refused part", (text: string) => ({ messages: [{ role: "assistant", content: [{ type: "refusal", refusal: text }] }] })],
  ["a tool's call", (text: string) => ({ messages: [{ role: "assistant", tool_calls: [{ function: { arguments: text } }] }] })],
  ["a function's call", (text: string) => ({ messages: [{ role: "assistant", function_call: { name: "f", arguments: text } }] })],
  [
    "a file's name",
    (text: string) => ({ messages: [{ role: "user", content: [{ type: "file", file: { file_data: "", filename: text } }] }] }),
  ],
  ["a tool", (text: string) => ({ tools: [{ type: "function", function: { name: "f", description: text } }] })],
  ["a function", (text: string) => ({ functions: [{ name: "f", description: text }] })],
  ["a schema", (text: string) => ({ response_format: { type: "json_schema", json_schema: { name: "s", schema: { const: text } } } })],
  ["stop", (text: string) => ({ stop: text })],
  ["the choice of a tool", (text: string) => ({ tool_choice: { type: "function", function: { name: text } } })],
])("each byte of %s counts as a token", (_, body) => {
  for (const text of ["x".repeat(9_000_000), "é漢😀".repeat(100_000)])
    expect(reserve(body(text)).promptTokens - reserve(body("")).promptTokens).toBeGreaterThanOrEqual(new TextEncoder().encode(text).length);
});

test("fields that are not forwarded do not count", () =>
  expect(chatReservation(price, chatBody().parse({ messages: [message], user: "x".repeat(999), whatever: 5 })).promptTokens).toBe(least));

const withPart = (part: object) =>
  reserve({ messages: [{ role: "user", content: [part] }] }).promptTokens -
  reserve({ messages: [{ role: "user", content: "" }] }).promptTokens;
const makeImage = (detail?: string) =>
  withPart({ type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(1_000_000)}`, ...(detail && { detail }) } });

test("images, audio and files have upper bounds of their own", () => {
  expect([makeImage("low"), makeImage("high"), makeImage("auto"), makeImage("original"), makeImage()]).toEqual([
    512, 4096, 16_384, 16_384, 16_384,
  ]);
  // A minute of MP3 at 8 kbit/s is 80,000 characters, and at most 3,000 tokens.
  expect(withPart({ type: "input_audio", input_audio: { data: "A".repeat(80_000), format: "mp3" } })).toBe(10_000);
  expect(withPart({ type: "file", file: { file_data: "AAAA" } })).toBe(1_050_000);
});

test("what makers' templates add counts: 16 tokens for each message, 512 for tools or a schema, and 32 for each tool", () => {
  // Without forwarded fields, whose bytes count beside it.
  const count = (body: object) => chatReservation(price, chatBody().parse({ messages: [message], ...body }), {}).promptTokens;
  const own = 16 + '{"role":"user"}'.length + "hi".length;
  expect([count({}), count({ messages: [message, message] })]).toEqual([16 + "{}".length + own, 16 + "{}".length + 2 * own]);
  const tool = { type: "function", function: { name: "f" } };
  const more = [
    { tools: [tool] },
    { tools: [tool, tool] },
    { functions: [{ name: "f" }] },
    { tools: [tool], functions: [{ name: "f" }] },
    { response_format: { type: "json_object" } },
  ];
  expect(more.map((body) => count(body) - count({}))).toEqual([544, 576, 544, 576, 512]);
});

test("the answer's limit is the smaller of the two given limits, by default 4096", () => {
  const limits = [
    {},
    { max_tokens: 7 },
    { max_completion_tokens: 8 },
    { max_tokens: 7, max_completion_tokens: 8 },
    { max_tokens: 9, max_completion_tokens: 8 },
  ];
  expect(limits.map((body) => reserve(body).maxTokens)).toEqual([4096, 7, 8, 7, 8]);
  expect(reserve({}).amount).toBe(least + 4096);
});
