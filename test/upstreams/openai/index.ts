/** OpenAI emulated: chat, images and the `/v1/videos` format, refusing what the real one refuses (openai 7.55.0 types, openai-openapi). */

import { type Context, Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { Dropped, isOrdered, record } from "../emulator.ts";
import { picture, publish } from "../files.ts";
import { providerKeys } from "../keys.ts";
import { fields, noModel, obey, Refusal } from "./fields.ts";
import { films } from "./videos.ts";

const retired = new Set(["gpt-image-1", "gpt-image-1-2025-04-15", "dall-e-2", "dall-e-3"]);
const images = /^(?:gpt-image-|chatgpt-image-)/;
const texts = /^(?:gpt-\d|o\d|chat)/;

const moderated = () =>
  new Refusal(400, "moderation_blocked", "Your request was rejected by the safety system.", {
    type: "image_generation_user_error",
    more: { moderation_details: { moderation_stage: "input", categories: ["violence"] } },
  });

const isSize = (size: string, model: string) => {
  if (/^(?:gpt-image-1|chatgpt)/.test(model)) return /^(?:1024x1024|1536x1024|1024x1536|auto)$/.test(size);
  const [, width = 0, height = 0] = (/^(\d+)x(\d+)$/.exec(size) ?? []).map(Number);
  const ratio = width / height;
  return size === "auto" || (width % 16 === 0 && height % 16 === 0 && ratio >= 1 / 3 && ratio <= 3 && width * height >= 655_360);
};

/** Answers for both image paths: what is asked for is checked, then made. */
function made(c: Context, body: Record<string, unknown>, call: string): Response {
  const { prompt, model, n, size, quality } = fields(body, {
    prompt: { type: "string", required: true, maximum: 32_000 },
    model: { type: "string", required: true },
    n: { type: "integer", between: [1, 10] },
    size: { type: "string" },
    quality: { type: "string", oneOf: ["low", "medium", "high", "auto"] },
    images: { type: "array" },
    image: { type: "file" },
    "image[]": { type: "file" },
    ...Object.fromEntries(
      ["background", "output_format", "moderation", "safety_identifier", "user"].map((name) => [name, { type: "string" as const }]),
    ),
    output_compression: { type: "integer" },
  }) as { prompt: string; model: string; n?: number; size?: string; quality?: string };
  if (retired.has(model) || !images.test(model)) throw noModel(model);
  if (size !== undefined && !isSize(size, model)) throw new Refusal(400, "invalid_value", `Invalid size '${size}'.`, { param: "size" });
  record({ upstream: "openai", call, prompt, body });
  obey(prompt, model);
  if (isOrdered(prompt, "moderated")) throw moderated();
  if (isOrdered(prompt, "drop")) throw new Dropped();
  if (isOrdered(prompt, "nothing")) return c.json({ created: 1, data: [] });
  const bytes = Buffer.from(picture()).toString("base64");
  const count = isOrdered(prompt, "fewer") ? 1 : (n ?? 1);
  return c.json({
    created: Math.floor(Date.now() / 1000),
    background: "opaque",
    output_format: "png",
    quality: quality ?? "auto",
    size: size ?? "1024x1024",
    // As others of this format answer; the maker never does.
    data: Array.from({ length: count }, () =>
      isOrdered(prompt, "elsewhere")
        ? { url: c.req.header("x-emulator-files")! + publish("openai", prompt, "picture") }
        : { b64_json: bytes },
    ),
    usage: { input_tokens: 10, output_tokens: 100, total_tokens: 110, input_tokens_details: { image_tokens: 0, text_tokens: 10 } },
  });
}

/** A picture to edit from: https, or a data URI of at most 20,971,520 characters. `[unreachable]`: its host does not answer. */
function checkPicture(url: unknown, prompt: string): void {
  if (
    typeof url !== "string" ||
    !/^(?:https:\/\/|data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+=*$)/.test(url) ||
    url.length > 20_971_520
  )
    throw new Refusal(400, "invalid_image_url", "Invalid image URL.", { param: "images[0].image_url" });
  if (isOrdered(prompt, "unreachable"))
    throw new Refusal(400, "failed_to_download_image", "Failed to download the image.", { param: "images[0].image_url" });
}

interface Message {
  role: string;
  content?: string | { type: string; text?: string }[] | null;
}

function chat(c: Context, body: Record<string, unknown>): Response {
  const {
    model,
    messages,
    stream,
    stream_options: options,
  } = fields(body, {
    model: { type: "string", required: true },
    messages: { type: "array", required: true },
    stream: { type: "boolean" },
    stream_options: { type: "object" },
    ...Object.fromEntries(
      ["max_tokens", "max_completion_tokens", "n", "seed", "top_logprobs"].map((name) => [name, { type: "integer" as const }]),
    ),
    ...Object.fromEntries(
      ["temperature", "top_p", "presence_penalty", "frequency_penalty"].map((name) => [name, { type: "number" as const }]),
    ),
    ...Object.fromEntries(["stop", "tool_choice"].map((name) => [name, { type: "any" as const }])),
    ...Object.fromEntries(["logit_bias", "response_format"].map((name) => [name, { type: "object" as const }])),
    ...Object.fromEntries(["logprobs", "parallel_tool_calls", "store"].map((name) => [name, { type: "boolean" as const }])),
    tools: { type: "array" },
    reasoning_effort: { type: "string" },
  }) as { model: string; messages: Message[]; stream?: boolean; stream_options?: { include_usage?: boolean } };
  const prompt = messages
    .map(({ content }) => (typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("")))
    .join("\n");
  if (!texts.test(model)) throw noModel(model);
  if (options && !stream)
    throw new Refusal(400, null, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", { param: "stream_options" });
  if (/^(?:gpt-5|o\d)/.test(model) && body["max_tokens"] !== undefined)
    throw new Refusal(400, "unsupported_parameter", "Use 'max_completion_tokens' instead.", { param: "max_tokens" });
  record({ upstream: "openai", call: "chat", prompt, body });
  obey(prompt, model);
  if (isOrdered(prompt, "moderated"))
    throw new Refusal(400, "content_filter", "The response was filtered due to the prompt.", { param: "prompt" });
  const common = { id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
  const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };
  const words = ["Good", " morning", "."];
  if (!stream)
    return c.json({
      ...common,
      object: "chat.completion",
      choices: [
        { index: 0, message: { role: "assistant", content: words.join(""), refusal: null }, logprobs: null, finish_reason: "stop" },
      ],
      usage,
    });
  const isUsageAsked = options?.include_usage === true;
  const chunk = (choices: object[], more: object = isUsageAsked ? { usage: null } : {}) =>
    `data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices, ...more })}\n\n`;
  const events = [
    chunk([{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }]),
    ...words.map((content) => chunk([{ index: 0, delta: { content }, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason: "stop" }]),
    ...(isUsageAsked ? [chunk([], { usage })] : []),
    "data: [DONE]\n\n",
  ];
  return c.body(events.join(""), 200, { "content-type": "text/event-stream; charset=utf-8" });
}

async function edited(c: Context): Promise<Response> {
  const isJson = c.req.header("content-type")?.startsWith("application/json") === true;
  const body: Record<string, unknown> = isJson ? await json(c) : await c.req.parseBody({ all: true });
  const prompt = String(body["prompt"]);
  if (!isJson) {
    if (!(body["image"] ?? body["image[]"]))
      throw new Refusal(400, "missing_required_parameter", "Missing required parameter: 'image'.", { param: "image" });
    return made(c, { ...body, ...(body["n"] !== undefined && { n: Number(body["n"]) }) }, "edit");
  }
  const { images } = body as { images?: { image_url?: unknown }[] };
  if (!Array.isArray(images) || images.length < 1 || images.length > 16)
    throw new Refusal(400, "missing_required_parameter", "Missing required parameter: 'images'.", { param: "images" });
  for (const image of images) checkPicture(image.image_url, prompt);
  return made(c, body, "edit");
}

async function json(c: Context): Promise<Record<string, unknown>> {
  try {
    return await c.req.json();
  } catch {
    throw new Refusal(400, null, "We could not parse the JSON body of your request.");
  }
}

export const openai = new Hono()
  .onError((error, c) => {
    if (!(error instanceof Refusal)) throw error;
    const { status, code, message, type, param, more, headers } = error;
    return c.json({ error: { message, type, param, code, ...more } }, status as ContentfulStatusCode, {
      ...headers,
      "x-request-id": `req_${crypto.randomUUID()}`,
    });
  })
  .use(async (c, next) => {
    if (c.req.header("authorization") !== `Bearer ${providerKeys.OPENAI_API_KEY}`)
      throw new Refusal(401, "invalid_api_key", "Incorrect API key provided: wrong***key.");
    await next();
  })
  .post("/v1/chat/completions", async (c) => chat(c, await json(c)))
  .post("/v1/images/generations", async (c) => made(c, await json(c), "start"))
  .post("/v1/images/edits", edited)
  .route("/v1/videos", films);
