/** How an upstream's event stream is parsed, byte by byte: lines, line ends, comments, limits. */

import { expect, test } from "vitest";
import { EventTranslator } from "../../../src/api/chat/events.ts";

const encoder = new TextEncoder();
const chunk = (content: string) => ({ created: 1_793_491_200, choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const done = "data: [DONE]\n\n";

/** The caller's events for a stream that arrives in pieces of this many bytes. */
function translate(stream: string, size = Infinity) {
  const events = new EventTranslator({ id: "chatcmpl-1", model: "textA-1", wantsUsage: false });
  const bytes = encoder.encode(stream);
  let text = "";
  for (let at = 0; at < bytes.length; at += size) text += events.push(bytes.subarray(at, Math.min(at + size, bytes.length)));
  if (!events.isDone) text += events.push(undefined);
  const said = text
    .split("\n\n")
    .filter((event) => event.startsWith("data: "))
    .map((event) => JSON.parse(event.slice(6)).choices[0].delta.content as string);
  return { text, said, isDone: events.isDone, fault: events.fault, usage: events.meter.usage(1) };
}

/** The chunk as JSON over several lines, each a `data` field of the event. */
const multiLine = (content: string, lineEnd = "\n") =>
  JSON.stringify(chunk(content), null, 2)
    .split("\n")
    .map((line) => `data: ${line}${lineEnd}`)
    .join("") + lineEnd;
const oneLine = (content: string, lineEnd = "\n") => `data: ${JSON.stringify(chunk(content))}${lineEnd}${lineEnd}`;

test.each([
  ["one line", oneLine("é1") + oneLine("2") + done],
  ["several lines", multiLine("é1") + multiLine("2") + done],
  ["carriage returns", multiLine("é1", "\r\n") + oneLine("2", "\r\n") + done.replaceAll("\n", "\r\n")],
  ["no space behind the colon", (oneLine("é1") + multiLine("2") + done).replaceAll("data: ", "data:")],
  ["other fields", `event: message\nid: 7\nretry: 10\n${oneLine("é1")}event: message\n${multiLine("2")}${done}`],
  ["empty events", `\n\ndata:\n\n${oneLine("é1")}\n\n\n${oneLine("2")}${done}`],
  ["no empty line at the end", `${oneLine("é1")}${oneLine("2")}data: [DONE]`],
])("data of %s is read completely, in pieces of any size", (_, stream) => {
  for (const size of [1, 2, 3, 7, 64, Infinity]) {
    const { said, isDone, fault, usage } = translate(stream, size);
    expect([said, isDone, fault]).toEqual([["é1", "2"], true, undefined]);
    expect(usage.completionTokens).toBe(encoder.encode("é12").length);
  }
});

test("a stream that ends after a finish_reason is complete without [DONE], one that ends before it is not", () => {
  const last = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`;
  const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 5 } })}\n\n`;
  for (const stream of [oneLine("1") + last, oneLine("1") + last + usage, (oneLine("1") + last + usage).trimEnd()]) {
    const { isDone, fault } = translate(stream);
    expect([isDone, fault]).toEqual([true, undefined]);
  }
  expect(translate(oneLine("1") + last + usage).usage).toMatchObject({ promptTokens: 3, completionTokens: 5 });
  expect(translate(oneLine("1") + usage).isDone).toBe(false);
  const cut = translate(oneLine("1") + last + usage.slice(0, 30));
  expect(cut.isDone).toBe(false);
  expect(cut.fault).toBeInstanceOf(Error);
});

test("a usage report without tokens or with more than a chat can have is ignored, and tokens that only its total has count as the answer's", () => {
  const report = (usage: object) => translate(`${oneLine("1234")}data: ${JSON.stringify({ choices: [], usage })}\n\n${done}`).usage;
  const placeholder = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  for (const ignored of [placeholder, { prompt_tokens: 1e12, completion_tokens: 5 }, { prompt_tokens: 3, completion_tokens: 1e12 }])
    expect(report(ignored)).toMatchObject({ promptTokens: 1, completionTokens: 4 });
  expect(report({ ...placeholder, prompt_tokens: 3, completion_tokens: 5, total_tokens: 50 })).toMatchObject({
    promptTokens: 3,
    completionTokens: 47,
  });
});

test("comments are passed on without their text, also from within an event", () => {
  const [first = "", ...others] = multiLine("1").split("\n");
  const { text, said } = translate(`: upstream 9\n\n${first}\n: upstream 9\n${others.join("\n")}${done}`);
  expect(text.match(/^:.*$/gm)).toEqual([":", ":"]);
  expect(said).toEqual(["1"]);
});

test("data that is not JSON is a fault, and nothing after it is read", () => {
  const { said, isDone, fault } = translate(`${oneLine("1")}data: {\n\n${oneLine("2")}${done}`);
  expect([said, isDone]).toEqual([["1"], false]);
  expect(fault).toBeInstanceOf(Error);
});

test("reading an event without an end stops at 8 MiB, in one line or in many", () => {
  for (const line of ["x".repeat(1024 * 1024), `data: ${"x".repeat(1024 * 1024)}\n`]) {
    const events = new EventTranslator({ id: "chatcmpl-1", model: "textA-1", wantsUsage: false });
    const bytes = encoder.encode(line);
    let read = 0;
    while (events.fault === undefined && read < 64) {
      events.push(bytes);
      read++;
    }
    expect(read).toBeGreaterThan(6);
    expect(read).toBeLessThan(11);
  }
});
