/** The `/v1/videos` format emulated: Sora with its own values, and other makers' models that gateways offer in this format. */

import { type Context, Hono } from "hono";
import { characters, hasCharacter } from "./characters.ts";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { makeFile, publish } from "../files.ts";
import { fields, noModel, obey, Refusal } from "./fields.ts";

interface Video {
  id: string;
  object: "video";
  model: string;
  status: "queued" | "in_progress" | "completed" | "failed";
  progress: number;
  created_at: number;
  completed_at: number | null;
  expires_at: number | null;
  seconds: string;
  size: string;
  prompt: string;
  remixed_from_video_id: string | null;
  error: { code: string; message: string } | null;
}

const made = new Map<string, Video>();
/** A small WebP image, the format of thumbnails. */
const still = Buffer.from("UklGRhwAAABXRUJQVlA4TA8AAAAvBUACAAcQ/Y/+ByKi/wEA", "base64");
const soraSizes = new Set(["720x1280", "1280x720", "1024x1792", "1792x1024"]);

async function body(c: Context): Promise<Record<string, unknown>> {
  if (!c.req.header("content-type")?.startsWith("application/json")) return c.req.parseBody();
  return c.req.json<Record<string, unknown>>().catch(() => {
    throw new Refusal(400, null, "We could not parse the JSON body of your request.");
  });
}

function make(prompt: string, model: string, seconds: string, size: string, source: string | null): Video {
  const at = Math.floor(Date.now() / 1000);
  const video: Video = {
    id: `video_${crypto.randomUUID().replaceAll("-", "")}`,
    object: "video",
    model,
    status: "queued",
    progress: 0,
    created_at: at,
    completed_at: null,
    expires_at: null,
    seconds,
    size,
    prompt,
    remixed_from_video_id: source,
    error: null,
  };
  made.set(video.id, video);
  if (hasDirective(prompt, "drop")) throw new Dropped();
  if (hasDirective(prompt, "accepted-500")) throw new Refusal(500, "server_error", "The server had an error.", { type: "server_error" });
  return video;
}

const moderated = () => new Refusal(400, "moderation_blocked", "Your request was blocked by our moderation system.");

function create(sent: Record<string, unknown>): Video {
  const {
    prompt,
    model,
    seconds,
    size,
    input_reference: reference,
    characters: named = [],
  } = fields(sent, {
    prompt: { type: "string", required: true, maximum: 32_000 },
    model: { type: "string" },
    seconds: { type: "string" },
    size: { type: "string" },
    input_reference: { type: "any" },
    characters: { type: "array" },
  }) as {
    prompt: string;
    model?: string;
    seconds?: string;
    size?: string;
    input_reference?: File | { image_url?: string; file_id?: string };
    characters?: unknown[];
  };
  const isSora = (model ?? "sora-2").startsWith("sora-");
  const isAllowed = isSora ? ["4", "8", "12"].includes(seconds ?? "4") : /^([1-9]|[1-5]\d|60)$/.test(seconds ?? "4");
  if (!isAllowed) throw new Refusal(400, "invalid_value", `Invalid value: '${seconds}'.`, { param: "seconds" });
  if (isSora ? !soraSizes.has(size ?? "720x1280") : !/^\d{3,4}x\d{3,4}$/.test(size ?? "720x1280"))
    throw new Refusal(400, "invalid_value", `Invalid value: '${size}'.`, { param: "size" });
  if (reference !== undefined && !(reference instanceof File)) {
    const { image_url: url, file_id: file, ...rest } = reference;
    if ((url === undefined) === (file === undefined) || Object.keys(rest).length > 0)
      throw new Refusal(400, "invalid_value", "Exactly one of 'image_url' and 'file_id'.", { param: "input_reference" });
    if (url !== undefined && !/^(?:https:\/\/|data:image\/(?:png|jpeg|webp);base64,)/.test(url))
      throw new Refusal(400, "invalid_image_url", "Invalid image.", { param: "input_reference" });
    if (hasDirective(prompt, "misfit"))
      throw new Refusal(400, "invalid_value", "Inpaint image must match the requested width and height", { param: "input_reference" });
  }
  if (named.length > 2 || !named.every(hasCharacter))
    throw new Refusal(400, "invalid_value", "At most two characters, by their ids.", { param: "characters" });
  record({ upstream: "openai", call: "start", prompt, body: sent });
  obey(prompt, model ?? "sora-2");
  if (model === "sora-1") throw noModel(model);
  if (hasDirective(prompt, "moderated")) throw moderated();
  return make(prompt, model ?? "sora-2", seconds ?? "4", size ?? "720x1280", null);
}

function found(id: string): Video {
  const video = made.get(id);
  if (!video) throw new Refusal(404, null, `Video with id '${id}' not found.`);
  return video;
}

/** The next poll's state. `[lost]`: the upstream forgot the video; `[odd]`: an undocumented status. */
function look(video: Video): object {
  const { prompt } = video;
  if (hasDirective(prompt, "lost")) throw new Refusal(404, null, "Video not found.");
  if (hasDirective(prompt, "poll-limit")) throw new Refusal(429, "rate_limit_exceeded", "Slow down.", { headers: { "retry-after": "1" } });
  if (hasDirective(prompt, "poll-broken")) throw new Refusal(502, null, "Bad gateway");
  if (hasDirective(prompt, "odd")) return { ...video, status: "preprocessing", progress: "12", error: undefined };
  if (hasDirective(prompt, "queued")) return video;
  if (hasDirective(prompt, "running")) return Object.assign(video, { status: "in_progress", progress: 42 });
  if (hasDirective(prompt, "moderated-later"))
    return Object.assign(video, { status: "failed", error: { code: "moderation_blocked", message: "Our guardrails." } });
  if (hasDirective(prompt, "fails"))
    return Object.assign(video, { status: "failed", error: { code: "processing_error", message: "Failed." } });
  return Object.assign(video, {
    status: "completed",
    progress: 100,
    completed_at: video.created_at + 60,
    expires_at: video.created_at + 86_400,
  });
}

function content(c: Context): Response {
  const video = found(c.req.param("id")!);
  const variant = c.req.query("variant") ?? "video";
  record({ upstream: "openai", call: variant === "video" ? "file" : variant, prompt: video.prompt });
  if (video.status !== "completed") throw new Refusal(400, null, "Video is not ready.");
  if (hasDirective(video.prompt, "expired")) throw new Refusal(404, null, "The video has expired.");
  if (variant === "thumbnail") {
    if (hasDirective(video.prompt, "no-thumbnail")) throw new Refusal(404, null, "No such variant.");
    return new Response(still, { headers: { "content-type": "image/webp" } });
  }
  // Gateways return URLs of their own storage, which must not get the key.
  if (hasDirective(video.prompt, "elsewhere"))
    return c.redirect(c.req.header("x-emulator-files")! + publish("openai", video.prompt, "video"));
  const { bytes } = makeFile(video.prompt, "video");
  const headers = { "content-type": "video/mp4" };
  if (!hasDirective(video.prompt, "truncated")) return new Response(bytes, { headers });
  // Fewer bytes than declared: this is how a broken connection is detected.
  const length = { "content-length": String(bytes.byteLength), connection: "close" };
  return new Response(bytes.slice(0, bytes.byteLength / 2), { headers: { ...headers, ...length } });
}

export const videos = new Hono()
  .route("/characters", characters)
  .post("/", async (c) => c.json(create(await body(c))))
  .get("/", (c) => {
    const all = Array.from(made.values())
      .toReversed()
      .toSorted((a, b) => b.created_at - a.created_at);
    const data = all.slice(0, Math.min(100, Number(c.req.query("limit") ?? 20)));
    return c.json({
      object: "list",
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: data.length < all.length,
    });
  })
  .get("/:id", (c) => {
    const video = found(c.req.param("id"));
    record({ upstream: "openai", call: "poll", prompt: video.prompt });
    return c.json(look(video));
  })
  .get("/:id/content", content)
  .post("/:id/remix", async (c) => {
    const sent = await body(c);
    const { prompt } = fields(sent, { prompt: { type: "string", required: true, maximum: 32_000 } }) as { prompt: string };
    const source = found(c.req.param("id"));
    record({ upstream: "openai", call: "remix", prompt, body: { ...sent, source: source.id } });
    obey(prompt, source.model);
    if (hasDirective(prompt, "moderated")) throw moderated();
    return c.json(make(prompt, source.model, source.seconds, source.size, source.id));
  });
