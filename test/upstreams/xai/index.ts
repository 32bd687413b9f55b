/**
 * xAI, emulated: chats, images in the answer, videos by polling. Its directives beside the common ones: `spent` (no funds, with 429), `forbidden` (refused content, with 403),
 * `misfit` (a field that no caller gave), `garbled` (accepted, and the answer is not JSON), `forgotten` and `locked` (polls do not find the request, or are refused), `lapsed` (the request
 * expires), `odd` (an undocumented status), `empty` (done without a URL), `marked` (done, and refused: `respect_moderation` is false), `bare` (202 without a body), `only` (only this many images pass the check).
 */

import { type Context, Hono } from "hono";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { filesHeader, publish } from "../files.ts";
import { providerKeys } from "../keys.ts";
import { chatRefusal, imageRefusal, notFound, orderedRefusal, rejected, usage, videoRefusal, wrongKey } from "./rules.ts";

const upstream = "xai";

interface Video {
  prompt: string;
  model: string;
  duration: number;
  url?: string;
}

const videos = new Map<string, Video>();
const readFiles = (c: Context) => c.req.header(filesHeader) ?? "";

async function makeImages(c: Context, isEdit: boolean): Promise<Response> {
  const body = await c.req.json<Record<string, unknown>>();
  const { prompt = "", model, n = 1 } = body as { prompt?: string; model: string; n?: number };
  record({ upstream, call: "start", prompt, body });
  const refusal = orderedRefusal(prompt, model) ?? imageRefusal(body, isEdit);
  if (refusal) return refusal;
  if (hasDirective(prompt, "drop")) throw new Dropped();
  if (hasDirective(prompt, "garbled")) return c.text("<html>");
  if (hasDirective(prompt, "moderated-later")) return rejected("image");
  const passes = (at: number) => !(hasDirective(prompt, "marked") || (prompt.includes("[only ") && at > 0));
  const data = Array.from({ length: isEdit ? 1 : n }, (_, at) =>
    passes(at)
      ? { url: hasDirective(prompt, "empty") ? null : readFiles(c) + publish(upstream, prompt, "image"), respect_moderation: true }
      : { url: "", respect_moderation: false },
  );
  return c.json({ data, usage });
}

/** The status of a video: each poll is one step, `[running 2]` gives that many polls this status. */
function readVideo(c: Context, video: Video): Response {
  const { prompt, model, duration } = video;
  if (hasDirective(prompt, "forgotten")) return notFound("The request");
  if (hasDirective(prompt, "locked")) return wrongKey();
  if (hasDirective(prompt, "limit-poll")) return c.json({ code: "Some resource has been exhausted", error: "Too many requests." }, 429);
  if (hasDirective(prompt, "bare")) return c.body(null, 202);
  if (hasDirective(prompt, "running")) return c.json({ status: "pending", model, progress: 10 }, 202);
  if (hasDirective(prompt, "odd")) return c.json({ status: "reviewing", model });
  if (hasDirective(prompt, "lapsed")) return c.json({ status: "expired", model });
  if (hasDirective(prompt, "moderated-later")) return rejected("video");
  if (hasDirective(prompt, "failed-check"))
    return c.json({ status: "failed", error: { code: "invalid_argument", message: "Generated video rejected by content moderation." } });
  if (hasDirective(prompt, "failed-policy"))
    return c.json({ status: "failed", error: { code: "CONTENT_POLICY_VIOLATION", message: "The prompt violates our guidelines." } });
  if (hasDirective(prompt, "fails"))
    return c.json({ status: "failed", error: { code: "internal_error", message: "Video generation failed." } });
  if (hasDirective(prompt, "marked"))
    return c.json({ status: "done", model, usage, video: { url: null, duration, respect_moderation: false } });
  if (!hasDirective(prompt, "empty")) video.url ??= readFiles(c) + publish(upstream, prompt, "video");
  return c.json({ status: "done", model, usage, video: { url: video.url ?? null, duration, respect_moderation: true } });
}

const words = ["Good", " morning", "."];
/** Unlike OpenAI's, its `completion_tokens` lack those of reasoning, which it bills: the total has them. */
const chatUsage = {
  prompt_tokens: 12,
  completion_tokens: 3,
  total_tokens: 25,
  completion_tokens_details: { reasoning_tokens: 10 },
  cost_in_usd_ticks: 1_000,
};

async function chat(c: Context): Promise<Response> {
  const body = await c.req.json<Record<string, unknown>>();
  const prompt = (body["messages"] as { content: string }[]).map(({ content }) => content).join("\n");
  const model = String(body["model"]);
  record({ upstream, call: "chat", prompt, body });
  const refusal = orderedRefusal(prompt, model) ?? chatRefusal(body);
  if (refusal) return refusal;
  const head = { id: crypto.randomUUID(), created: Math.floor(Date.now() / 1000), model };
  if (body["stream"] !== true) {
    const message = { role: "assistant", content: words.join(""), refusal: null };
    return c.json({ ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason: "stop" }], usage: chatUsage });
  }
  const chunk = (delta: object, reason: string | null, more: object = {}) =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }], ...more })}\n\n`;
  const events = [
    ...words.map((content) => chunk({ role: "assistant", content }, null)),
    chunk({}, "stop", { usage: chatUsage }),
    "data: [DONE]\n\n",
  ];
  return c.body(events.join(""), 200, { "content-type": "text/event-stream" });
}

export const xai = new Hono()
  .use(async (c, next) => {
    if (c.req.header("authorization") !== `Bearer ${providerKeys.XAI_API_KEY}`) return wrongKey();
    return next();
  })
  .post("/v1/chat/completions", chat)
  .post("/v1/images/generations", (c) => makeImages(c, false))
  .post("/v1/images/edits", (c) => makeImages(c, true))
  .post("/v1/videos/generations", async (c) => {
    const body = await c.req.json<Record<string, unknown>>();
    const { prompt = "", model, duration = 8 } = body as { prompt?: string; model: string; duration?: number };
    record({ upstream, call: "start", prompt, body });
    const refusal = orderedRefusal(prompt, model) ?? videoRefusal(body);
    if (refusal) return refusal;
    const id = crypto.randomUUID();
    videos.set(id, { prompt, model, duration });
    if (hasDirective(prompt, "drop")) throw new Dropped();
    if (hasDirective(prompt, "garbled")) return c.text("<html>");
    return c.json({ request_id: id });
  })
  .get("/v1/videos/:id", (c) => {
    const video = videos.get(c.req.param("id"));
    if (!video) return notFound("The request");
    record({ upstream, call: "poll", prompt: video.prompt });
    return readVideo(c, video);
  })
  .onError((error) => {
    throw error;
  });
