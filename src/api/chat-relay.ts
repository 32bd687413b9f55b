/** Passes a chat's answer on and finds out what it cost, also when the caller hangs up half-way. */

import { textTokens } from "../catalog/chat-schema.ts";
import { alert } from "../log.ts";
import { eventData } from "../net/event-data.ts";
import { ProviderError } from "../providers/provider.ts";

interface Usage {
  promptTokens: number;
  completionTokens: number;
}

/** A chat under way. */
export interface Chat {
  id: string;
  model: string;
  /** An upper estimate, for upstreams that report no usage. */
  promptTokens: number;
  /** The caller asked for the usage chunk; otherwise it is kept from the stream. */
  wantsUsage: boolean;
  stop(): void;
  /** Ends the hold: with what was used, or nothing. */
  settle(usage: Usage | undefined): Promise<void>;
}

interface Chunk {
  id?: string;
  model?: string;
  choices?: { delta?: { content?: string | null }; message?: { content?: string | null } }[];
  usage?: { prompt_tokens?: number; completion_tokens?: number } | null;
}

/** What the upstream reports, or an estimate from the text it sent. */
function chargedUsage(chunk: Chunk | undefined, text: string, chat: Chat): Usage {
  const { prompt_tokens: prompt, completion_tokens: completion } = chunk?.usage ?? {};
  return {
    promptTokens: Number.isFinite(prompt) ? prompt! : chat.promptTokens,
    completionTokens: Number.isFinite(completion) ? completion! : textTokens(text),
  };
}

/** The upstream's whole answer under our own id and model name, settled before it is passed on. */
export async function readWhole(response: Response, chat: Chat): Promise<object> {
  const whole = await response.json<Chunk>().catch((error: unknown) => {
    throw new ProviderError("chat: not JSON", { retryable: true, cause: error });
  });
  if (!Array.isArray(whole.choices)) throw new ProviderError("chat: no choices", { retryable: false });
  const text = whole.choices.map((choice) => choice.message?.content ?? "").join("");
  await chat.settle(chargedUsage(whole, text, chat));
  return { ...whole, id: chat.id, model: chat.model };
}

/** After the caller has hung up, the platform lets a Worker go on for thirty seconds: the usage comes within them, or is estimated. */
const drainMs = 20_000;

/**
 * Passes events on as they come. `done` ends when the hold is settled: it must be kept alive after the answer. The
 * upstream is read to its end whoever listens, for only its last event tells what it cost.
 */
export function relayStream(response: Response, chat: Chat): { body: ReadableStream<Uint8Array>; done: Promise<void> } {
  if (!response.body) throw new ProviderError("chat: no stream", { retryable: false });
  const encoder = new TextEncoder();
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(eventData());
  const out = new TransformStream<Uint8Array, Uint8Array>();
  const writer = out.writable.getWriter();
  let isListening = true;
  writer.closed.catch(() => {
    isListening = false;
    setTimeout(() => chat.stop(), drainMs);
  });
  const send = async (data: string) => {
    if (isListening) await writer.write(encoder.encode(`data: ${data}\n\n`)).catch(() => undefined); // `closed` above has heard of it
  };

  const relay = async () => {
    let text = "";
    let last: Chunk | undefined;
    let isComplete = false;
    try {
      for await (const data of events) {
        isComplete ||= data === "[DONE]";
        if (isComplete) break;
        const chunk = JSON.parse(data) as Chunk;
        text += (chunk.choices ?? []).map((choice) => choice.delta?.content ?? "").join("");
        if (chunk.usage) last = chunk;
        if (chunk.usage && chunk.choices?.length === 0 && !chat.wantsUsage) continue;
        await send(JSON.stringify({ ...chunk, id: chat.id, model: chat.model, usage: chat.wantsUsage ? chunk.usage : undefined }));
      }
    } finally {
      // What was sent was generated: it is paid for also when the stream broke.
      await chat.settle(text === "" && !last ? undefined : chargedUsage(last, text, chat));
    }
    if (!isComplete) throw new ProviderError("chat: the stream broke off", { retryable: false });
    await send("[DONE]");
    if (isListening) await writer.close();
  };
  const done = relay().catch(async (error: unknown) => {
    alert("dispatch", { task: chat.id, model: chat.model, outcome: "broke_off" }, error);
    // The caller sees the connection break: an answer that is not whole must not look like one.
    if (isListening) await writer.abort(error);
  });
  return { body: out.readable, done };
}
