/**
 * An emulated Cloudflare: `ai/run` and the chat completions of its REST API. The `AI` binding of tests calls it too (`binding.ts`).
 * Its directives beside the common ones: `[bare]` and `[nested]` (the result in other envelopes), `[slow]` (3007),
 * `[unfinished]` (a task without its video), `[guarded]` (refused by AI Gateway's guardrails), `[only 1]`
 * (only the first image is made).
 */

import { Hono } from "hono";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { makeFile, others, publish } from "../files.ts";
import { refusal, refused } from "./refusals.ts";
import { chat, runText } from "./chat.ts";
import { type Schema, schemas, wrongWith } from "./schemas.ts";
import { providerKeys } from "../keys.ts";

type Input = Record<string, unknown>;
const filesHeader = "x-emulator-files";

const readPrompt = ({ prompt, content, messages }: Input): string => {
  const parts = (content ?? []) as { text?: string }[];
  const said = (messages ?? []) as { content?: unknown }[];
  if (typeof prompt === "string") return prompt;
  return parts.find(({ text }) => text !== undefined)?.text ?? said.map((one) => JSON.stringify(one.content)).join("\n");
};

/** Models that Cloudflare hosts. The search finds parts of names. */
const hosted: { name: string; ends?: string }[] = [
  "@cf/openai/gpt-oss-120b",
  "@cf/openai/gpt-oss-120b-long",
  "@cf/zai-org/glm-5.3-flash",
].map((name) => ({ name }));

/** AI Gateway answers a repeated request from its cache unless caching is off. */
const cache = new Map<string, unknown>();

export const cloudflare: Hono = new Hono()
  .basePath("/client/v4/accounts/:account/ai")
  .use(async (c, next) => {
    if (c.req.header("authorization") !== `Bearer ${providerKeys.WORKERS_AI_API_TOKEN}`) {
      record({ upstream: "cloudflare", call: "unauthorized", prompt: await c.req.text() });
      return refusal(401, 10000, "Authentication error");
    }
    if (c.req.param("account") !== providerKeys.WORKERS_AI_ACCOUNT_ID) return refusal(404, 7003, "Could not route to the account");
    return next();
  })
  // `[ends 2027-01-14 00:00:00]` in the search, which no real name has.
  .get("/models/search", (c) => {
    const search = c.req.query("search") ?? "";
    record({ upstream: "cloudflare", call: "model", prompt: search, body: c.req.header("x-emulator-door") ?? "rest" });
    const [, value] = /\[ends (.*)\]/.exec(search) ?? [];
    const listed = value === undefined ? hosted : [{ name: `@cf/emulated/${search}`, ends: value }];
    const result = listed
      .filter(({ name }) => name.includes(search))
      .map(({ name, ends }) => ({
        id: name,
        source: 1,
        name,
        properties: ends === undefined ? [] : [{ property_id: "planned_deprecation_date", value: ends }],
      }));
    return c.json({ success: true, result, errors: [], messages: [] });
  })
  .post("/v1/chat/completions", (c) => chat(c.req.raw))
  .post("/run", async (c) => {
    const { model, input } = await c.req.json<{ model?: string; input?: Input }>();
    if (typeof model !== "string" || typeof input !== "object") return refusal(400, 5004, "model and input are required");
    const prompt = readPrompt(input);
    const door = c.req.header("x-emulator-door") ?? "rest";
    const note = (call: string) => record({ upstream: "cloudflare", call, prompt, body: { door, model, input } });
    const gateway = c.req.header("cf-aig-gateway-id");
    if (door === "rest" && model.startsWith("@cf/") && gateway === undefined) return refusal(400, 2001, "cf-aig-gateway-id is required");
    const refusal_ = refused(prompt, model);
    if (refusal_) {
      note("refused");
      return refusal_;
    }
    if (input["messages"] !== undefined) {
      note("chat");
      return runText(prompt, model, input);
    }
    const schema = schemas[model];
    const problem = schema ? wrongWith(schema, input) : `No such model ${model} or task`;
    if (!schema || problem !== undefined) {
      record({ upstream: "cloudflare", call: "invalid", prompt, body: problem });
      return refusal(400, schema ? 5004 : 5007, problem!);
    }
    const key = JSON.stringify([model, input]);
    if (gateway !== undefined && c.req.header("cf-aig-skip-cache") !== "true" && cache.has(key)) {
      note("cached");
      return Response.json(cache.get(key));
    }
    note("start");
    if (hasDirective(prompt, "drop")) throw new Dropped();
    const answer = readAnswer(schema, prompt, model, c.req.header(filesHeader) ?? "");
    cache.set(key, answer);
    if (schema.result === "stream") {
      const { type, bytes } = makeFile(prompt, "image");
      return new Response(bytes, { headers: { "content-type": type } });
    }
    return Response.json(answer);
  });

function readAnswer(schema: Schema, prompt: string, model: string, files: string): unknown {
  const gatewayMetadata = { keySource: "Unified" };
  if (hasDirective(prompt, "moderated-later"))
    return { state: "Failed", error: { code: "content_policy_violation", message: "the output was refused" }, model };
  if (hasDirective(prompt, "fails"))
    return { state: "Failed", error: { code: "provider_unavailable", message: "The model provider is not available" }, model };
  const result = readResult(schema, prompt, files);
  if (schema.result === "base64" || schema.result === "audio") return { result, success: true, errors: [], messages: [] };
  if (hasDirective(prompt, "bare")) return result;
  const envelope = { state: "Completed", result, gatewayMetadata };
  return hasDirective(prompt, "nested") ? { result: envelope, success: true, errors: [], messages: [] } : envelope;
}

function readResult(schema: Schema, prompt: string, files: string): object {
  const task_id = "388509844320343";
  if (hasDirective(prompt, "unfinished")) return { task_id, status: "Processing" };
  if (schema.result === "base64") return { image: Buffer.from(makeFile(prompt, "image").bytes).toString("base64") };
  if (schema.result === "audio") return { audio: Buffer.from(others.audio.bytes).toString("base64") };
  const url = files + publish("cloudflare", prompt, schema.makes);
  switch (schema.result) {
    case "images":
      return { images: [url] };
    case "hailuo":
      return hasDirective(prompt, "maker-fails") ? { task_id, status: "Fail" } : { task_id, status: "Success", video: url };
    case "h3":
      return { task: { id: task_id, model: "MiniMax-H3", status: "succeeded", content: { url }, ratio: "16:9" } };
    default:
      return { [schema.result]: url };
  }
}
