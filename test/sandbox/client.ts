/** OpenAI's client for the sandbox. Its types are written here, because the package's types need Node's globals, which Workers do not have. */

import { exports } from "cloudflare:workers";

interface ToolCall {
  index?: number;
  id?: string;
  type?: string;
  function?: { name?: string; arguments?: string };
}

interface Completion {
  choices: { message: { role: string; content: string | null; tool_calls?: ToolCall[] }; finish_reason: string }[];
  usage: { completion_tokens: number };
}

interface Chunk {
  choices: { delta: { tool_calls?: ToolCall[] }; finish_reason: string | null }[];
}

interface Completions {
  create(body: { stream: true; [field: string]: unknown }): Promise<AsyncIterable<Chunk>>;
  create(body: object): Promise<Completion>;
  /** Reads a stream, and sends the results of functions until no more are called. */
  runTools(body: object): { finalContent(): Promise<string | null> };
  stream(body: object): { finalContent(): Promise<string | null> };
}

const name: string = "openai";
const { default: OpenAI } = (await import(name)) as { default: new (options: object) => { chat: { completions: Completions } } };

export const { completions } = new OpenAI({
  apiKey: "none",
  baseURL: "http://sandbox/v1",
  maxRetries: 0,
  fetch: (url: string, init: RequestInit) => exports.default.fetch(url, init),
}).chat;
