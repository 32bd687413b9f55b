/** The Interactions API with Omni, which makes videos, and the Files API that delivers them. */

import { type Context, Hono } from "hono";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { filesHeader, makeFile, publish } from "../files.ts";
import { answerTo, checkKey, checkImage, invalid, obeyAtStart, oneOf, onlyFields, Refused } from "./errors.ts";

const models = new Set(["gemini-omni-1.1-flash", "gemini-omni-1.2-flash"]);
const tasks = ["text_to_video", "image_to_video", "reference_to_video", "edit", "extend", "upscale"];
const made = new Map<string, { prompt: string; model: string; isCancelled: boolean }>();
const files = new Map<string, string>();

const guarded = (handle: (c: Context) => Response | Promise<Response>) => async (c: Context) => {
  try {
    checkKey(c);
    return await handle(c);
  } catch (error) {
    return answerTo(error, c);
  }
};

export const interactions = new Hono()
  .post("/v1beta/interactions", guarded(create))
  .get("/v1beta/interactions/:id", guarded(get))
  .post("/v1beta/interactions/:id/cancel", guarded(cancel))
  .get("/v1beta/files/:name", guarded(file));

async function create(c: Context): Promise<Response> {
  const body = await c.req.json<Record<string, unknown>>();
  const prompt = check(body);
  const model = body["model"] as string;
  if (!models.has(model)) throw new Refused("NOT_FOUND", `Model ${model} not found.`);
  obeyAtStart(prompt, model);
  if (hasDirective(prompt, "moderated")) throw invalid("The request was blocked by our safety filters.");
  const id = `v1_${crypto.randomUUID()}`;
  made.set(id, { prompt, model, isCancelled: false });
  record({ upstream: "google", call: "start", prompt, body });
  if (hasDirective(prompt, "drop")) throw new Dropped();
  return c.json(view(id, "in_progress"));
}

function check(body: Record<string, unknown>): string {
  const known = [
    "model",
    "input",
    "background",
    "store",
    "response_format",
    "generation_config",
    "previous_interaction_id",
    "webhook_config",
  ];
  onlyFields(body, "", known);
  if (typeof body["model"] !== "string") throw invalid("model is required");
  const previous = body["previous_interaction_id"];
  if (previous !== undefined && (typeof previous !== "string" || !made.has(previous))) throw invalid("Invalid interaction name.");
  const format = onlyFields(body["response_format"] ?? {}, "response_format", [
    "type",
    "aspect_ratio",
    "resolution",
    "duration",
    "delivery",
  ]);
  oneOf(format["type"], "response_format.type", ["video"]);
  oneOf(format["aspect_ratio"], "aspect_ratio", ["16:9", "9:16"]);
  oneOf(format["resolution"], "resolution", ["360p", "720p", "1080p", "4k"]);
  oneOf(format["delivery"], "delivery", ["inline", "uri"]);
  const { duration } = format;
  if (duration !== undefined && typeof duration !== "string")
    throw invalid("Invalid value at 'response_format.duration': a string is expected.");
  const seconds = duration === undefined ? 8 : Number(/^(\d+)s$/.exec(duration)?.[1]);
  if (!(seconds >= 3 && seconds <= (body["model"] === "gemini-omni-1.1-flash" ? 10 : 15))) throw invalid("Unsupported duration.");
  if (body["background"] === true && body["store"] === false) throw invalid("background needs store.");
  const config = onlyFields(body["generation_config"] ?? {}, "generation_config", ["video_config"]);
  oneOf(onlyFields(config["video_config"] ?? {}, "video_config", ["task"])["task"], "task", tasks);
  return readPrompt(body["input"]);
}

function readPrompt(input: unknown): string {
  if (typeof input === "string" && input !== "") return input;
  if (!Array.isArray(input)) throw invalid("input is required");
  let prompt = "";
  for (const content of input as Record<string, unknown>[]) {
    oneOf(content["type"] ?? "none", "input.type", ["text", "image"]);
    if (content["type"] === "text") prompt = content["text"] as string;
    else {
      onlyFields(content, "input", ["type", "data", "mime_type"]);
      checkImage(content["data"], content["mime_type"], "input");
    }
  }
  return prompt;
}

const view = (id: string, status: string, more: object = {}) => ({
  id,
  status,
  object: "interaction",
  model: made.get(id)!.model,
  created: new Date().toISOString(),
  updated: new Date().toISOString(),
  ...more,
});

function get(c: Context): Response {
  const id = c.req.param("id")!;
  const { prompt = "", isCancelled } = made.get(id) ?? {};
  // Not 404: an unknown name is refused as a bad one.
  if (!made.has(id) || hasDirective(prompt, "forgotten")) throw invalid("Invalid interaction name.");
  record({ upstream: "google", call: "poll", prompt });
  if (isCancelled) return c.json(view(id, "cancelled"));
  if (hasDirective(prompt, "queued")) return c.json(view(id, "queued"));
  if (hasDirective(prompt, "running")) return c.json(view(id, "in_progress"));
  if (hasDirective(prompt, "new-word")) return c.json(view(id, "polishing"));
  if (hasDirective(prompt, "fails")) return c.json(view(id, "failed", { errors: [{ code: "internal", message: "It did not work." }] }));
  if (hasDirective(prompt, "incomplete")) return c.json(view(id, "incomplete"));
  // Seen at the real one: it has ended, and only the input is in the answer.
  if (hasDirective(prompt, "hollow"))
    return c.json(view(id, "completed", { steps: [{ type: "user_input", content: [{ type: "text", text: prompt }] }] }));
  const output = (content: object, tokens: number) =>
    view(id, "completed", {
      steps: [
        { type: "thought", summary: [{ type: "text", text: "A video." }] },
        { type: "model_output", content: [content] },
      ],
      usage: { total_tokens: 100 + tokens, output_tokens_by_modality: [{ modality: tokens > 0 ? "video" : "text", tokens: tokens || 20 }] },
    });
  if (hasDirective(prompt, "moderated-later")) return c.json(output({ type: "text", text: "I cannot make this video." }, 0));
  if (hasDirective(prompt, "empty")) return c.json(output({ type: "text", text: "Done." }, 5000));
  if (hasDirective(prompt, "inline")) {
    const text = JSON.stringify(
      output({ type: "video", mime_type: "video/mp4", data: Buffer.from(makeFile(prompt, "video").bytes).toString("base64") }, 5000),
    );
    const whole = hasDirective(prompt, "truncated") ? text.slice(0, text.length / 2) : text;
    return new Response(whole, { headers: { "content-type": "application/json" } });
  }
  if (hasDirective(prompt, "foreign"))
    return c.json(output({ type: "video", uri: c.req.header(filesHeader) + publish("google", prompt, "video") }, 5000));
  const name = id.slice(3).replaceAll("-", "").slice(0, 12);
  files.set(name, prompt);
  return c.json(output({ type: "video", mime_type: "video/mp4", uri: `${ownBase(c)}/v1beta/files/${name}:download?alt=media` }, 5000));
}

/** The base URL at which the caller reaches this API. */
const ownBase = (c: Context) => {
  const host = c.req.header("x-emulator-host");
  return host === undefined ? `${new URL(c.req.url).origin}/google` : `https://${host}`;
};

function cancel(c: Context): Response {
  const id = c.req.param("id")!;
  const interaction = made.get(id);
  if (!interaction) throw invalid("Invalid interaction name.");
  record({ upstream: "google", call: "cancel", prompt: interaction.prompt });
  // Only work that still runs is cancelled; what has ended stays as it is.
  if (!/\[(?:queued|running)/.test(interaction.prompt)) return c.json(view(id, "completed"));
  interaction.isCancelled = true;
  return c.json(view(id, "cancelled"));
}

function file(c: Context): Response {
  const [name = "", method] = c.req.param("name")!.split(":");
  const prompt = files.get(name);
  const gone = () => new Refused("PERMISSION_DENIED", `You do not have permission to access the File ${name} or it may not exist.`);
  if (prompt === undefined) throw gone();
  if (method === undefined) {
    if (hasDirective(prompt, "gone")) throw gone();
    record({ upstream: "google", call: "file-state", prompt });
    const state = hasDirective(prompt, "processing") ? "PROCESSING" : hasDirective(prompt, "file-fails") ? "FAILED" : "ACTIVE";
    return c.json({ name: `files/${name}`, mimeType: "video/mp4", sizeBytes: String(makeFile(prompt, "video").bytes.byteLength), state });
  }
  if (method !== "download" || c.req.query("alt") !== "media") throw invalid("Invalid method.");
  if (hasDirective(prompt, "redirect")) return c.redirect(c.req.header(filesHeader) + publish("google", prompt, "video"));
  record({ upstream: "google", call: "file", prompt });
  if (hasDirective(prompt, "expired")) throw gone();
  const { bytes } = makeFile(prompt, "video");
  const sent = hasDirective(prompt, "truncated") ? bytes.slice(0, bytes.byteLength / 2) : bytes;
  return new Response(sent, { headers: { "content-type": "video/mp4" } });
}
