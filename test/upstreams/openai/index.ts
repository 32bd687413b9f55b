/** OpenAI emulated: chat, images and the `/v1/videos` format, with the real one's refusals (openai 7.55.0 types, openai-openapi). */

import { type Context, Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { makeFile, publish } from "../files.ts";
import { signedFile } from "../signed.ts";
import { providerKeys } from "../keys.ts";
import { fields, noModel, obey, Refusal } from "./fields.ts";
import { chat } from "./chat.ts";
import { videos } from "./videos.ts";

const retired = new Set(["gpt-image-1", "gpt-image-1-2025-04-15", "dall-e-2", "dall-e-3"]);
const images = /^(?:gpt-image-|chatgpt-image-)/;

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

/** Answers for both image paths: checks the request, then makes the images. */
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
  if (hasDirective(prompt, "moderated")) throw moderated();
  if (hasDirective(prompt, "drop")) throw new Dropped();
  if (hasDirective(prompt, "nothing")) return c.json({ created: 1, data: [] });
  const { output_format: format = "png", background = "auto" } = body as { output_format?: string; background?: string };
  if (!/^(?:png|jpeg|webp)$/.test(format)) throw new Refusal(400, "invalid_value", "Invalid format.", { param: "output_format" });
  if (!/^(?:auto|opaque|transparent)$/.test(background) || (background === "transparent" && format === "jpeg"))
    throw new Refusal(400, "invalid_value", "Invalid background.", { param: "background" });
  const file = format === "png" ? makeFile(prompt, "image").bytes : signedFile(format as "jpeg" | "webp");
  const bytes = Buffer.from(file).toString("base64");
  const count = hasDirective(prompt, "fewer") ? 1 : (n ?? 1);
  return c.json({
    created: Math.floor(Date.now() / 1000),
    background: background === "auto" ? "opaque" : background,
    output_format: format,
    quality: quality ?? "auto",
    size: size ?? "1024x1024",
    // As other services of this format answer; the maker itself never does.
    data: Array.from({ length: count }, () =>
      hasDirective(prompt, "elsewhere")
        ? { url: c.req.header("x-emulator-files")! + publish("openai", prompt, "image") }
        : { b64_json: bytes },
    ),
    usage: { input_tokens: 10, output_tokens: 100, total_tokens: 110, input_tokens_details: { image_tokens: 0, text_tokens: 10 } },
  });
}

/** An image to edit: an https URL, or a data URI of at most 20,971,520 characters. `[unreachable]`: its host does not answer. */
function checkImage(url: unknown, prompt: string): void {
  if (
    typeof url !== "string" ||
    !/^(?:https:\/\/|data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+=*$)/.test(url) ||
    url.length > 20_971_520
  )
    throw new Refusal(400, "invalid_image_url", "Invalid image URL.", { param: "images[0].image_url" });
  if (hasDirective(prompt, "unreachable"))
    throw new Refusal(400, "failed_to_download_image", "Failed to download the image.", { param: "images[0].image_url" });
}

/** A file of a form, as a data URI. It must be an image of its declared type. */
async function readFile(file: unknown, prompt: string): Promise<string> {
  const bytes = file instanceof File ? Buffer.from(await file.arrayBuffer()) : Buffer.alloc(0);
  const starts: Record<string, string> = { "image/png": "89504e47", "image/jpeg": "ffd8ff", "image/webp": "52494646" };
  const type = file instanceof File ? file.type : "";
  if (!starts[type] || !bytes.toString("hex").startsWith(starts[type]) || hasDirective(prompt, "unreachable"))
    throw new Refusal(400, "invalid_image_file", "Invalid image file or mode for image 1.", { param: "image" });
  return `data:${type};base64,${bytes.toString("base64")}`;
}

async function edited(c: Context): Promise<Response> {
  const isJson = c.req.header("content-type")?.startsWith("application/json") === true;
  const body: Record<string, unknown> = isJson ? await json(c) : await c.req.parseBody({ all: true });
  const prompt = String(body["prompt"]);
  if (!isJson) {
    if (!(body["image"] ?? body["image[]"]))
      throw new Refusal(400, "missing_required_parameter", "Missing required parameter: 'image'.", { param: "image" });
    const files = await Promise.all([body["image"] ?? body["image[]"]].flat().map((file) => readFile(file, prompt)));
    const answer = made(c, { ...body, ...(body["n"] !== undefined && { n: Number(body["n"]) }) }, "edit");
    record({ upstream: "openai", call: "form", prompt, body: { ...body, "image[]": files } });
    return answer;
  }
  const { images } = body as { images?: { image_url?: unknown }[] };
  if (!Array.isArray(images) || images.length < 1 || images.length > 16)
    throw new Refusal(400, "missing_required_parameter", "Missing required parameter: 'images'.", { param: "images" });
  for (const image of images) checkImage(image.image_url, prompt);
  // The schema of the JSON body lists only these, that of the form accepts any string (openai/openai-openapi, August 2026).
  if (body["size"] !== undefined && !["auto", "1024x1024", "1536x1024", "1024x1536"].includes(body["size"] as string))
    throw new Refusal(400, "invalid_value", "Invalid size.", { param: "size" });
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
  // `[retired]` and `[ends 2027-01-14]` in the id, which no real one has.
  .get("/v1/models/:id", (c) => {
    const id = c.req.param("id");
    record({ upstream: "openai", call: "model", prompt: id });
    if (retired.has(id) || id.includes("[retired]")) throw noModel(id);
    if (id.includes("[broken]")) throw new Refusal(500, "server_error", "The server had an error.", { type: "server_error" });
    const [, shutdown_date = null] = /\[ends (.*)\]/.exec(id) ?? [];
    return c.json({ id, object: "model", created: 1, owned_by: "system", shutdown_date });
  })
  .post("/v1/chat/completions", async (c) => chat(c, await json(c)))
  .post("/v1/images/generations", async (c) => made(c, await json(c), "start"))
  .post("/v1/images/edits", edited)
  .route("/v1/videos", videos);
