/** Passes a chat's answer on as it comes, and settles what it cost however it ends. */

import { ProviderError } from "../providers/provider.ts";
import { toStreamFault } from "../providers/shared/chat-errors.ts";
import { ChatMeter, type Fields, parseFields, toChoices, toCreated, toUsageReport, type Usage } from "./chat-answer.ts";
import { EventTranslator } from "./chat-events.ts";

/** A chat under way. */
export interface Chat {
  id: string;
  model: string;
  /** An upper bound, for upstreams that report no usage. */
  promptTokens: number;
  /** The caller asked for the usage chunk; otherwise it is kept from the stream. */
  wantsUsage: boolean;
  /** Aborted when the answer takes too long, or some seconds after its caller has gone: what came by then is settled. */
  signal: AbortSignal;
  isGone(): boolean;
  /** The caller has hung up. */
  hangUp(): void;
  /** Ends the hold: with what was used, or nothing. */
  settle(usage: Usage | undefined): Promise<void>;
  /** The error object that the caller gets for a fault. */
  describe(fault: unknown): object;
}

/** Bytes of a whole answer. */
const maxAnswer = 32 * 1024 * 1024;
const readBytes = 64 * 1024;
/** A comment after so long a silence keeps connections alive, and its write fails when the caller has gone. */
const heartbeatMs = 15_000;

/**
 * What to charge once the upstream answered 200: nothing only when it said that it failed before it made anything and the
 * caller was still waiting.
 */
const toCharge = (meter: ChatMeter, chat: Chat, isRefused: boolean) =>
  isRefused && !meter.hasBegun && !chat.isGone() ? undefined : meter.usage(chat.promptTokens);

/** The upstream's whole answer under our own id and model name, settled before it is passed on. */
export async function readWhole(response: Response, chat: Chat): Promise<object> {
  const meter = new ChatMeter();
  let isRefused = false;
  try {
    const whole = await readFields(response, meter);
    const { choices, usage, created, error } = whole;
    meter.add(whole, "message");
    isRefused = Boolean(error);
    if (isRefused) throw toStreamFault(error);
    if (!Array.isArray(choices)) throw new ProviderError("unclear", "chat: no choices");
    return {
      id: chat.id,
      object: "chat.completion",
      created: toCreated(created),
      model: chat.model,
      choices: toChoices(choices, "message"),
      ...(usage !== undefined && usage !== null && { usage: toUsageReport(usage) }),
    };
  } finally {
    await chat.settle(toCharge(meter, chat, isRefused));
  }
}

/** The answer's fields. Counts the bytes of one that breaks off or cannot be read: the upstream made them. */
async function readFields(response: Response, meter: ChatMeter): Promise<Fields> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for await (const part of response.body ?? []) {
      bytes += part.byteLength;
      if (bytes > maxAnswer) throw new ProviderError("unclear", "chat: too long an answer");
      text += decoder.decode(part, { stream: true });
    }
    return parseFields(text + decoder.decode());
  } catch (error) {
    meter.addBytes(bytes);
    throw error instanceof ProviderError ? error : new ProviderError("unclear", "chat: the answer broke off", { cause: error });
  }
}

interface ByteReader {
  /** The next bytes, valid until the next call; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  cancel(): void;
}

/** Reads a stream into one buffer where it can: a buffer for each read costs more than what is done with it. */
function openReader(stream: ReadableStream<Uint8Array>): ByteReader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({ mode: "byob" });
  } catch {
    const plain = stream.getReader(); // a stream that a script makes, as that of the `AI` binding's adapter
    return { read: async () => (await plain.read()).value, cancel: () => void plain.cancel().catch(() => undefined) };
  }
  let buffer = new ArrayBuffer(readBytes);
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
 * Passes events on as they come, one write for each read. `done` ends when the hold is settled: it must be kept alive after
 * the answer. The upstream is read to its end whoever listens, for only its last event says what it cost.
 */
export function relayStream(response: Response, chat: Chat): { body: ReadableStream<Uint8Array>; done: Promise<void> } {
  const encoder = new TextEncoder();
  const out = new IdentityTransformStream();
  const writer = out.writable.getWriter();
  writer.closed.catch(() => chat.hangUp());
  const write = async (text: string) => {
    if (text !== "" && !chat.isGone()) await writer.write(encoder.encode(text)).catch(() => chat.hangUp());
  };
  const events = new EventTranslator(chat);
  const reader = openReader(response.body ?? new Blob([]).stream());
  // A caller who stops reading without hanging up must not keep the hold from being settled, nor an upstream that stops sending.
  chat.signal.addEventListener("abort", () => {
    reader.cancel();
    writer.abort(new Error("too late")).catch(() => undefined);
  });

  const heartbeat = setInterval(() => void write(":\n\n"), heartbeatMs);

  /** Until the answer is whole or there is a fault; the last events are left to be sent together with the end. */
  const relay = async (): Promise<string> => {
    for (;;) {
      const bytes = await reader.read();
      const text = events.push(bytes);
      if (events.isDone) return text;
      await write(text);
      if (events.fault !== undefined) throw events.fault;
      if (bytes === undefined) throw new ProviderError("unclear", "chat: the stream broke off");
    }
  };
  const run = async () => {
    const end = await relay().catch((error: unknown) => {
      // A broken connection's own words may name the upstream.
      const isOurs = error instanceof ProviderError;
      events.fault ??= isOurs ? error : new ProviderError("unclear", "chat: the stream broke off", { cause: error });
      return "";
    });
    clearInterval(heartbeat);
    reader.cancel();
    // What was sent was generated: it is paid for also when the stream broke.
    await chat.settle(toCharge(events.meter, chat, events.isRefused));
    const { fault } = events;
    await write(fault === undefined ? `${end}data: [DONE]\n\n` : `data: ${JSON.stringify({ error: chat.describe(fault) })}\n\n`);
    // After a break the caller sees the connection break, too: an answer that is not whole must not look like one.
    await (fault === undefined || events.isRefused ? writer.close() : writer.abort(fault));
  };
  // Nothing can be written to a caller who has gone.
  const done = run().catch((error: unknown) => writer.abort(error).catch(() => undefined));
  return { body: out.readable, done };
}
