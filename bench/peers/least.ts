/**
 * The least that a gateway with held money does on this runtime: it parses the chat and its answer, makes one call of an object before and one after, each of which writes a row, and copies
 * the chunks of a stream unread. No keys, no checks, no prices, no log, no database. With HOLDS=off it makes no calls of an object: what is left is the frame around a chat. It is never deployed.
 */

/// <reference types="@cloudflare/workers-types" />

import { DurableObject } from "cloudflare:workers";
import { useNetwork } from "./network.ts";

useNetwork();

interface Settings {
  UPSTREAM: string;
  WALLET: DurableObjectNamespace<LeastWallet>;
  HOLDS?: "off";
}

export class LeastWallet extends DurableObject {
  hold(chat: string, held: number): void {
    this.ctx.storage.kv.put(chat, { held });
  }

  settle(chat: string, charged: number): void {
    this.ctx.storage.kv.put(chat, { charged });
  }
}

/** Copies a stream's chunks to the caller as they arrive, without reading them. */
async function copy(from: ReadableStream<Uint8Array>, to: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
  const reader = from.getReader({ mode: "byob" });
  for (let buffer = new ArrayBuffer(4096); ;) {
    const { value, done } = await reader.read(new Uint8Array(buffer));
    if (done || !value) return to.close();
    await to.write(value.slice());
    buffer = value.buffer;
  }
}

export default {
  async fetch(request: Request, { UPSTREAM, WALLET, HOLDS }: Settings, ctx: ExecutionContext): Promise<Response> {
    const chat = crypto.randomUUID();
    const body = (await request.json()) as { stream?: boolean; messages: unknown };
    const wallet = HOLDS === "off" ? undefined : WALLET.getByName("account");
    await wallet?.hold(chat, 1);
    const answer = await fetch(`${UPSTREAM}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (body.stream === true && answer.body) {
      const { readable, writable } = new IdentityTransformStream();
      ctx.waitUntil(copy(answer.body, writable.getWriter()).then(() => wallet?.settle(chat, 1)));
      return new Response(readable, { headers: { "content-type": "text/event-stream" } });
    }
    const whole = (await answer.json()) as object;
    await wallet?.settle(chat, 1);
    return Response.json({ ...whole, id: chat });
  },
};
