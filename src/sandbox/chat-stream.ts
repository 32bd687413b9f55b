/** An answer as server-sent events: `chat.completion.chunk` with short pauses, then `[DONE]`. */

import { type Answer, type Part, toCall, toLogprobs } from "./chat.ts";
import type { ChatOrder } from "./chat-order.ts";
import { Fault } from "./fault.ts";

const TOKENS_PER_CHUNK = 4;
/** Longer answers have larger chunks, so that no stream takes much longer than six seconds. */
const MAX_CHUNKS = 200;
const PAUSE_MS = 30;

/** The events; with `breaks`, half of the answer, then an error instead of the rest, and no `[DONE]`. */
export function streamAnswer(answer: Answer, order: ChatOrder, breaks: boolean): ReadableStream<Uint8Array> {
  const events = breaks ? brokenEvents(answer, order) : allEvents(answer, order);
  const encoder = new TextEncoder();
  let next = 0;
  return new ReadableStream({
    async pull(controller) {
      if (next > 0) await scheduler.wait(PAUSE_MS);
      controller.enqueue(encoder.encode(`data: ${events[next++]}\n\n`));
      if (next === events.length) controller.close();
    },
  });
}

function allEvents(answer: Answer, order: ChatOrder): string[] {
  const usage = order.stream_options?.include_usage ? [JSON.stringify({ ...chunkHead(answer), choices: [], usage: answer.usage })] : [];
  return [...deltaEvents(answer, order), chunk(answer, order, {}, [], answer.finishReason), ...usage, "[DONE]"];
}

function brokenEvents(answer: Answer, order: ChatOrder): string[] {
  const deltas = deltaEvents(answer, order);
  const fault = new Fault("provider_error", "the sandbox broke off, as it was told to");
  return [...deltas.slice(0, Math.ceil((deltas.length + 1) / 2)), JSON.stringify(fault.toBody())];
}

function deltaEvents(answer: Answer, order: ChatOrder): string[] {
  const isCalling = answer.parts.some(({ kind }) => kind === "call");
  const total = answer.parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const size = Math.max(TOKENS_PER_CHUNK, Math.ceil(total / MAX_CHUNKS));
  const events = [chunk(answer, order, { role: "assistant", content: isCalling ? null : "" }, [])];
  for (const part of answer.parts) {
    if (part.kind === "call") events.push(chunk(answer, order, { tool_calls: [{ index: part.index, ...toCall(part.call, "") }] }, []));
    for (let at = 0; at < part.tokens.length; at += size) {
      const tokens = part.tokens.slice(at, at + size);
      events.push(chunk(answer, order, toDelta(part, tokens.join("")), part.kind === "content" ? tokens : []));
    }
  }
  return events;
}

function toDelta(part: Part, text: string): object {
  switch (part.kind) {
    case "reasoning":
      return { reasoning_content: text };
    case "content":
      return { content: text };
    case "call":
      return {
        tool_calls: [
          { index: part.index, ...(part.call.type === "function" ? { function: { arguments: text } } : { custom: { input: text } }) },
        ],
      };
  }
}

function chunk(answer: Answer, order: ChatOrder, delta: object, tokens: readonly string[], finishReason: string | null = null): string {
  const logprobs = tokens.length > 0 ? toLogprobs(tokens, order) : null;
  const choices = [{ index: 0, delta, logprobs, finish_reason: finishReason }];
  return JSON.stringify({ ...chunkHead(answer), choices, ...(order.stream_options?.include_usage && { usage: null }) });
}

const chunkHead = ({ head }: Answer) => ({ ...head, object: "chat.completion.chunk" });
