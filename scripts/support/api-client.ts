/** A small client of the gateway's public API: submit, poll, chat, balances, download. */

import { setTimeout as sleep } from "node:timers/promises";
import { EventSourceParserStream } from "eventsource-parser/stream";
import type * as z from "zod/mini";
import {
  balance,
  chatAnswer,
  chatChunk,
  modelList,
  submission,
  type Balances,
  type PriceList,
  type Status,
  type Submission,
  type Usage,
} from "./api-answers.ts";
import { readShape } from "./faults.ts";

const requestDeadlineMs = 60_000;
const pollMs = 1_000;

/** A downloaded asset. */
export interface Download {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
  digest: string | null;
}

/** A client for one gateway and key. Every wait has a timeout. */
export class ApiClient {
  readonly #baseUrl: string;
  readonly #apiKey: string;

  constructor(baseUrl: string, apiKey: string) {
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#apiKey = apiKey;
  }

  /** Submits a generation. */
  async submit(path: string, body: object): Promise<Submission> {
    return this.ask(submission, path, body);
  }

  /** Polls the status until the task is completed; `read` extracts it from the answer, `onStatus` is called with each one. A failed task is an error. */
  async follow<A, S extends Status>(path: string, shape: z.ZodMiniType<A>, read: (answer: A) => S, options: FollowOptions): Promise<S> {
    for (const deadline = Date.now() + options.withinMs; Date.now() < deadline; await sleep(pollMs)) {
      const status = read(await this.ask(shape, path));
      options.onStatus(status);
      if (status.status === "failed") throw new Error(`the task failed: ${status.error?.message ?? "no reason given"}`);
      if (status.status === "completed") return status;
    }
    throw new Error(`not completed within ${options.withinMs / 1000} s`);
  }

  /** Both balances. */
  async balances(): Promise<Balances> {
    const [key, account] = await Promise.all([this.ask(balance, "/v1/balance"), this.ask(balance, "/v1/user/balance")]);
    return { key, account };
  }

  /** The available models and their prices. */
  async prices(): Promise<PriceList> {
    return this.ask(modelList, "/v1/models");
  }

  /** A whole chat answer. */
  async chat(model: string, prompt: string): Promise<{ text: string; usage: Usage }> {
    const { choices, usage } = await this.ask(chatAnswer, "/v1/chat/completions", {
      model,
      messages: [{ role: "user", content: prompt }],
    });
    return { text: choices[0]?.message.content ?? "", usage };
  }

  /** A streamed chat answer in pieces, and whether the stream ended with [DONE]. */
  async streamChat(model: string, prompt: string): Promise<{ pieces: string[]; usage: Usage | undefined; done: boolean }> {
    const body = { model, stream: true, stream_options: { include_usage: true }, messages: [{ role: "user", content: prompt }] };
    const response = await this.open("/v1/chat/completions", body);
    const pieces: string[] = [];
    let usage: Usage | undefined;
    if (!response.body) return { pieces, usage, done: false };
    for await (const { data } of response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
      if (data === "[DONE]") return { pieces, usage, done: true };
      const chunk = chatChunk.parse(JSON.parse(data));
      const piece = chunk.choices[0]?.delta.content;
      if (piece) pieces.push(piece);
      usage = chunk.usage ?? usage;
    }
    return { pieces, usage, done: false };
  }

  /** The bytes at an asset URL, which needs no key. */
  async download(url: string): Promise<Download> {
    const response = await fetch(url, { signal: AbortSignal.timeout(requestDeadlineMs) });
    if (!response.ok) throw new Error(`the asset answered ${response.status}`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { bytes, type: response.headers.get("content-type") ?? "", digest: response.headers.get("repr-digest") };
  }

  /** The answer of a path, checked against its schema: of a GET, or with a body of a POST. A text is sent as it is. */
  async ask<T>(shape: z.ZodMiniType<T>, path: string, body?: object | string): Promise<T> {
    const response = await this.open(path, body);
    return readShape(shape, await response.json(), `${path} answered`);
  }

  /** One request; after a rate limit or an overload it is repeated, at most twice. */
  async open(path: string, body?: object | string): Promise<Response> {
    const isJson = typeof body === "object";
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(this.#baseUrl + path, {
        method: body ? "POST" : "GET",
        headers: { authorization: `Bearer ${this.#apiKey}`, ...(isJson && { "content-type": "application/json" }) },
        ...(body && { body: isJson ? JSON.stringify(body) : body }),
        signal: AbortSignal.timeout(requestDeadlineMs),
      });
      if (response.ok) return response;
      const text = await response.text();
      const busy = response.status === 429 || response.status === 503;
      if (!busy || attempt === 3) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 500)}`);
      await sleep(1000 * Math.min(Number(response.headers.get("retry-after")) || 1, 60));
    }
  }
}

/** The options of polling. */
export interface FollowOptions {
  withinMs: number;
  onStatus: (status: Status) => void;
}
