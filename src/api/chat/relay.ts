/** Relays a chat's answer, whole or as it arrives, and settles its cost in every case. */

import {
  ChatMeter,
  type Fields,
  isReported,
  parseFields,
  throwStated,
  toChoices,
  toCreated,
  toUnclear,
  toUsageReport,
  type Usage,
} from "./answer.ts";
import type { ChatCaller } from "./caller.ts";
import type { ChatCosts } from "./costs.ts";
import { EventTranslator } from "./events.ts";
import { openSender } from "./sender.ts";
import { type Permit, Semaphore } from "../../base/concurrency.ts";

export interface Chat {
  id: string;
  accountId: string;
  model: string;
  /** An upper bound of the prompt's tokens, for upstreams without a usage report. */
  promptTokens: number;
  /** True if the caller requested the usage chunk; otherwise it is removed. */
  wantsUsage: boolean;
  caller: Pick<ChatCaller, "signal" | "isGone" | "hangUp">;
  costs: ChatCosts;
  /** Shared by the chat's spans. */
  trace: { isOff?: boolean };
  /** Ends the hold: with the usage, or without a charge. Call it once, when nothing is read any more; the answer does not wait for it. */
  settle(usage: Usage | undefined): void;
  /** The caller's error object for a fault. */
  describe(fault: unknown): object;
}

/** Maximum bytes of a whole answer, which takes up to six times as much memory: one of 4,096 tokens with twenty alternatives to each has nearly as many. */
const maxAnswer = 8 * 1024 * 1024;
/** An answer takes this much memory without a permit: that of 60,000 tokens of text. */
const smallAnswer = 256 * 1024;
/** The larger ones that are in memory at once. Others wait, and their upstreams with them: what was generated is not refused. */
const largeAnswers = new Semaphore({ maxAtOnce: 3, maxWaiting: Infinity, maxHoldMs: 30_000, maxWaitMs: 1_000 });
/** The buffer of a stream: larger than a moment of text, and small because many streams run at once. */
const readBytes = 16 * 1024;
/** For answers that arrive in one part. */
const wholeText = new TextDecoder();
/** The error event of a broken stream has this long to leave before the connection breaks. */
const eventMs = 100;
/** The same for a stream that has reached its deadline, whose caller may not be reading. */
const lateMs = 1_000;
/** After this silence a comment keeps the connection alive; its write fails if the caller has disconnected. */
const heartbeatMs = 15_000;

/**
 * The charge once the upstream has answered 200. It is 0 only if the upstream reported a failure before any output and the caller was still
 * connected.
 */
const toCharge = (meter: ChatMeter, chat: Chat, fault: unknown) =>
  isReported(fault) && !meter.hasBegun && !chat.caller.isGone() ? undefined : meter.usage(chat.promptTokens);

/** Reads the upstream's whole answer, replaces id and model name, and settles it. */
export async function readWhole(response: Response, chat: Chat): Promise<object> {
  const meter = new ChatMeter();
  let fault: unknown;
  try {
    const whole = await readFields(response, meter, chat);
    meter.add(whole, "message");
    throwStated(whole);
    const choices = Array.isArray(whole["choices"]) ? toChoices(whole["choices"], "message") : [];
    if (choices.length === 0) throw toUnclear("no choices");
    const usage = toUsageReport(whole["usage"]);
    return {
      id: chat.id,
      object: "chat.completion",
      created: toCreated(whole["created"]),
      model: chat.model,
      choices,
      ...(usage && { usage }),
    };
  } catch (error) {
    fault = error;
    throw error;
  } finally {
    chat.settle(toCharge(meter, chat, fault));
  }
}

/** The answer's fields. Counts the bytes of an answer that breaks off or cannot be parsed, because the upstream generated them. */
async function readFields(response: Response, meter: ChatMeter, chat: Chat): Promise<Fields> {
  const { headers } = response;
  const length = headers.has("content-encoding") ? Number.NaN : Number(headers.get("content-length") ?? Number.NaN);
  // At a length that is known nothing is left to be read: each read costs a turn of the event loop.
  const reader = openReader(response.body ?? new Blob([]).stream(), length);
  let decoder: TextDecoder | undefined;
  let text = "";
  let bytes = 0;
  let permit: Permit | undefined;
  try {
    for (let part = await reader.read(); part; part = await reader.read()) {
      bytes += part.byteLength;
      if (bytes > maxAnswer) throw toUnclear("too long an answer");
      if (bytes > smallAnswer) permit ??= await waitForMemory(chat);
      if (part.byteLength === length) return parseFields(wholeText.decode(part));
      text += (decoder ??= new TextDecoder()).decode(part, { stream: true });
      if (bytes === length) break;
    }
    return parseFields(text + (decoder?.decode() ?? ""));
  } catch (error) {
    reader.cancel();
    meter.addBytes(bytes);
    throw toUnclear("the answer broke off", error);
  } finally {
    permit?.release();
  }
}

/** Waits for the permit of a large answer. Throws if the chat may not go on. */
async function waitForMemory({ accountId, caller }: Chat): Promise<Permit> {
  for (;;) {
    const permit = await largeAnswers.tryEnter(accountId);
    if (permit) return permit;
    caller.signal.throwIfAborted();
  }
}

interface ByteReader {
  /** The next bytes, valid until the next call; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  cancel(): void;
}

/** Reads a stream into a single buffer if possible, no larger than the stream: a buffer for each read costs more than its processing. */
function openReader(stream: ReadableStream<Uint8Array>, length = Number.NaN): ByteReader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({ mode: "byob" });
  } catch {
    const plain = stream.getReader(); // a stream made by a script, as from the adapter of the `AI` binding
    return { read: async () => (await plain.read()).value, cancel: () => void plain.cancel().catch(() => undefined) };
  }
  let buffer = new ArrayBuffer(length > 0 && length < readBytes ? length : readBytes);
  return {
    async read() {
      const { value, done } = await reader.read(new Uint8Array(buffer));
      if (done || !value) return undefined;
      buffer = value.buffer;
      return value;
    },
    cancel: () => void reader.cancel().catch(() => undefined),
  };
}

/**
 * Relays events as they arrive. `done` resolves at the end: pass it to `waitUntil`. The upstream is read to its end even if
 * the caller has disconnected, because its last event contains the usage.
 */
export function relayStream(response: Response, chat: Chat): { body: ReadableStream<Uint8Array>; done: Promise<void> } {
  const out = new IdentityTransformStream();
  const writer = out.writable.getWriter();
  writer.closed.catch(() => chat.caller.hangUp());
  const sender = openSender(writer, chat.caller);
  const events = new EventTranslator(chat);
  const reader = openReader(response.body ?? new Blob([]).stream());
  // Neither a caller that stops reading without disconnecting, nor an upstream that stops sending, may delay the settlement.
  chat.caller.signal.addEventListener("abort", () => {
    reader.cancel();
    const end = async () => {
      // A caller that still reads gets the error event.
      await scheduler.wait(lateMs);
      await writer.abort(new Error("too late"));
    };
    end().catch(() => undefined); // it has ended
  });

  const heartbeat = setInterval(() => void sender.add(":\n\n"), heartbeatMs);

  /** Runs until the answer is complete or there is a fault; the last events are left to be sent together with the end. */
  const relay = async (): Promise<string> => {
    for (;;) {
      const bytes = await reader.read();
      const text = events.push(bytes);
      if (events.isDone) return text;
      await sender.add(text);
      if (events.fault !== undefined) throw events.fault;
      if (bytes === undefined) throw toUnclear("the stream broke off");
    }
  };
  const run = async () => {
    const end = await relay().catch((error: unknown) => {
      // The message of a broken connection may contain the upstream's name.
      events.fault ??= toUnclear("the stream broke off", error);
      return "";
    });
    clearInterval(heartbeat);
    reader.cancel();
    // Everything sent was generated, so it is charged even if the stream broke.
    const { fault } = events;
    chat.settle(toCharge(events.meter, chat, fault));
    void sender.add(fault === undefined ? `${end}data: [DONE]\n\n` : `data: ${JSON.stringify({ error: chat.describe(fault) })}\n\n`);
    await sender.flush();
    // After a break the caller's connection breaks too, so that an incomplete answer does not look complete.
    if (fault === undefined || isReported(fault)) return writer.close();
    // The connection drops what is still on its way.
    await scheduler.wait(eventMs);
    await writer.abort(fault);
  };
  // Writes to a disconnected caller fail.
  const done = run().catch((error: unknown) => writer.abort(error).catch(() => undefined));
  return { body: out.readable, done };
}
