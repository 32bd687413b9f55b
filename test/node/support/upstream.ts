/** A scripted replacement of the sandbox Worker, behind the gateway's service binding. Runs in Node beside the runtime. */

import { readFileSync } from "node:fs";
import { encode } from "fast-png";
import { named } from "../../media/signed.ts";
import type { Script } from "../../support/script.ts";

interface Operation {
  id: string;
  kind: string;
  text: string;
  model: string;
  n: number;
  thumbnail: boolean;
  /** The requested name of the character. */
  name?: string;
  /** True once a poll has reported its end: deleting it cancels nothing. */
  isEnded?: boolean;
}

const png = encode({ width: 8, height: 8, data: new Uint8Array(8 * 8 * 3).fill(120), channels: 3, depth: 8 });
const video = readFileSync(new URL("../../../src/sandbox/data/16x9-480.mp4", import.meta.url));

const scripts: Script[] = [];
const operations = new Map<string, Operation>();
const calls: { call: string; text: string }[] = [];
/** How each accepted operation ended, by its id: a work that was not cancelled is billed, as a failure or as a success. */
const ends = new Map<string, { operation: Operation; end: "open" | "made" | "failed" | "cancelled" }>();

const readScript = ({ text, model }: { text: string; model: string }) =>
  scripts.find((script) => text.includes(script.match) && (script.model ?? model) === model);
const json = (body: unknown, status = 200) => Response.json(body, { status });

/** The service binding's target: `POST /__script`, `GET /__calls?match=`, `GET /__ends?match=`, `GET /__operations?match=` (those that were not deleted) and the sandbox's own API. */
export async function upstream(request: Request): Promise<Response> {
  const url = new URL(request.url);
  const path = url.pathname;
  if (path === "/__script") {
    scripts.unshift((await request.json()) as Script);
    return json({});
  }
  if (path === "/__calls") return json(calls.filter(({ text }) => text.includes(url.searchParams.get("match") ?? "")));
  if (path === "/__ends") return json(readEnds(url.searchParams.get("match") ?? ""));
  if (path === "/__operations")
    return json([...operations.values()].filter(({ text }) => text.includes(url.searchParams.get("match") ?? "")));
  if (path === "/v1/operations" && request.method === "POST") {
    const body = (await request.json()) as { key: string; kind: string; model: string; prompt: string; n?: number; thumbnail?: boolean };
    return start({
      id: body.key,
      kind: body.kind,
      text: body.prompt,
      model: body.model,
      n: body.n ?? 1,
      thumbnail: body.thumbnail ?? false,
    });
  }
  if (path === "/v1/characters") {
    await request.arrayBuffer();
    const query = url.searchParams;
    const text = `${query.get("start")},${query.get("end")}`;
    return start({
      id: query.get("key")!,
      kind: "character",
      text,
      model: query.get("model")!,
      n: 1,
      thumbnail: false,
      name: query.get("name")!,
    });
  }
  if (path === "/v1/chat/completions") return chat((await request.json()) as ChatBody);
  const [, id = "", output] = /^\/v1\/operations\/([^/]+)(\/outputs\/.*)?$/.exec(path) ?? [];
  const operation = operations.get(id);
  if (!operation) return json({ error: { code: "not_found" } }, 404);
  if (output) return download(operation, output);
  const isCancelled = request.method === "DELETE" && !operation.isEnded;
  if (request.method !== "DELETE" || isCancelled)
    calls.push({ call: isCancelled ? "cancel" : "poll", text: `${operation.text} ${operation.model}` });
  if (request.method !== "DELETE") return poll(operation);
  const refused = readScript(operation)?.cancels?.shift();
  if (!refused) operations.delete(id);
  if (!refused && isCancelled) ends.set(id, { operation, end: "cancelled" });
  return refused ? json({ error: { code: "scripted" } }, refused) : json({ id, status: "cancelled" });
}

/** The ends of accepted work, by its model. Work that the gateway has not polled to its end counts as made. */
const readEnds = (match: string) =>
  [...ends.values()]
    .filter(({ operation }) => operation.text.includes(match))
    .map(({ operation: { model, n }, end }) => ({ model, n, end: end === "open" ? "made" : end }));

function start(operation: Operation): Response {
  calls.push({ call: "start", text: `${operation.text} ${operation.model}` });
  const fault = readScript(operation)?.starts?.shift();
  if (fault === 422) ends.set(operation.id, { operation, end: "failed" });
  if (typeof fault === "number") return json({ error: { code: "scripted" } }, fault);
  operations.set(operation.id, operation);
  ends.set(operation.id, { operation, end: "open" });
  if (fault === "hang up") throw new Error("scripted: the connection broke after acceptance");
  return json({ id: operation.id, status: "queued", poll_after_ms: 1000 }, 202);
}

function poll(operation: Operation): Response {
  const script = readScript(operation);
  const next = script?.polls?.shift();
  const { id } = operation;
  if (typeof next === "number") return json({ error: { code: "scripted" } }, next);
  operation.isEnded = !next || "failed" in next;
  if (operation.isEnded) ends.set(id, { operation, end: next ? "failed" : "made" });
  if (next && "failed" in next) return json({ id, status: "failed", progress: 50, error: { code: next.failed } });
  if (next) return json({ id, status: "running", progress: next.progress, poll_after_ms: 1000 });
  const count = operation.kind === "image" ? (script?.images ?? operation.n) : 1;
  const type = operation.kind === "video" || operation.kind === "remix" ? "video/mp4" : "image/png";
  const outputs = Array.from({ length: count }, (_, at) => ({
    url: `/v1/operations/${id}/outputs/${at}`,
    type,
    ...(operation.thumbnail && { thumbnail_url: `/v1/operations/${id}/outputs/${at}/thumbnail` }),
  }));
  return json({
    id,
    status: "succeeded",
    progress: 100,
    outputs,
    ...(operation.kind === "character" && { character: { username: "amber.fox", display_name: operation.name || "Amber Fox" } }),
  });
}

function download(operation: Operation, path: string): Response {
  calls.push({ call: "download", text: `${operation.text} ${operation.model}` });
  const fault = readScript(operation)?.downloads?.shift();
  if (typeof fault === "number") return json({ error: { code: "scripted" } }, fault);
  const isVideo = (operation.kind === "video" || operation.kind === "remix") && !path.endsWith("/thumbnail");
  const bytes =
    fault === "garbage"
      ? new TextEncoder().encode("this is neither an image nor a video")
      : isVideo
        ? named.mp4(video, operation.id + path)
        : named.png(png, operation.id + path);
  if (fault === "truncated") {
    const half = bytes.subarray(0, bytes.length >> 1);
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(half);
        controller.error(new Error("scripted: broken off"));
      },
    });
    return new Response(body, { headers: { "content-type": "application/octet-stream" } });
  }
  return new Response(bytes, {
    headers: { "content-type": isVideo ? "video/mp4" : "image/png", "content-length": String(bytes.length) },
  });
}

interface ChatBody {
  model: string;
  stream?: boolean;
  messages: { content: string | object[] | null }[];
  tools?: object[];
  tool_choice?: unknown;
}

/**
 * Answers "Hello there". `sandbox:fail` 500, `sandbox:reject` 422, `break` cuts the stream, `no-usage` reports no usage, `echo-request` answers
 * with the messages and tools as JSON, `call-tool:NAME` calls a tool.
 */
function chat(body: ChatBody): Response {
  const last = body.messages.at(-1)?.content;
  const text = typeof last === "string" ? last : "";
  const { messages, tools, tool_choice } = body;
  const name = /call-tool:([\w-]+)/.exec(text)?.[1];
  const content = text.includes("echo-request") ? JSON.stringify({ messages, tools, tool_choice }) : "Hello there";
  const said =
    name === undefined ? { content } : { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: "{}" } }] };
  calls.push({ call: "chat", text });
  if (text.includes("sandbox:fail")) return json({ error: { code: "provider_error" } }, 500);
  if (text.includes("sandbox:reject")) return json({ error: { code: "content_policy_violation" } }, 422);
  const usage = text.includes("no-usage") ? undefined : { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
  const base = { id: "upstream-id", created: 1_700_000_000, model: "upstream-model" };
  if (!body.stream)
    return json({
      ...base,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: null, ...said }, finish_reason: "stop" }],
      usage,
    });
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...base,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
    ...(usage && { usage: null }),
  });
  const events = [
    chunk({ role: "assistant", content: "" }),
    chunk(name === undefined ? { content: content.slice(0, "Hello".length) } : said),
    ...(text.includes("break")
      ? []
      : [
          ...(name === undefined ? [chunk({ content: content.slice("Hello".length) })] : []),
          chunk({}, "stop"),
          ...(usage ? [{ ...base, object: "chat.completion.chunk", choices: [], usage }] : []),
          "[DONE]",
        ]),
  ];
  const encoder = new TextEncoder();
  const stream = new ReadableStream({
    async pull(controller) {
      const event = events.shift();
      if (event === undefined) return controller.close();
      controller.enqueue(encoder.encode(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`));
    },
  });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
}
