/** What the emulated xAI accepts, and its refusals in the real one's words: docs.x.ai, @ai-sdk/xai 5.0.12, and published answers of the real API. */

import { hasDirective } from "../emulator.ts";

const refuse = (status: number, code: string, error: string, more: object = {}, headers = {}) =>
  Response.json({ code, error, ...more }, { status, headers });

const invalidCode = "Client specified an invalid argument";
const invalid = (error: string, more: object = {}) => refuse(400, invalidCode, error, more);
/** The cost of a call in xAI's unit: ten thousand millions are a dollar. */
export const usage = { cost_in_usd_ticks: 2_500_000_000 };

export const wrongKey = () => invalid("Incorrect API key provided: wr***ng. You can obtain an API key from https://console.x.ai.");
export const notFound = (what: string) =>
  refuse(404, "Some requested entity was not found", `${what} does not exist or your team does not have access to it.`);
/** A work that was refused after it was made: it is billed. */
export const rejected = (what: "image" | "video") => invalid(`Generated ${what} rejected by content moderation.`, { usage });

const noMoney =
  "Your team 9e0f has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.";

const orders: Record<string, (model: string) => Response> = {
  limit: () => refuse(429, "Some resource has been exhausted", "Too many requests for team 9e0f.", {}, { "retry-after": "1" }),
  wallet: () => refuse(403, "The caller does not have permission to execute the specified operation", noMoney),
  spent: () => refuse(429, "Some resource has been exhausted", noMoney),
  retired: (model) => notFound(`The model ${model}`),
  broken: () => refuse(500, "Internal error", "Internal server error."),
  unavailable: () => refuse(503, "The service is currently unavailable", "Service temporarily unavailable."),
  moderated: () => invalid("Rejected by content moderation.", { usage }),
  forbidden: () =>
    refuse(
      403,
      "The caller does not have permission to execute the specified operation",
      "Content violates usage guidelines. Team: 9e0f, API key ID: 1f2e, Model: grok, Failed check: SAFETY_CHECK_TYPE_BIO",
    ),
  misfit: () => invalid("Argument not supported on this model: aspect_ratio"),
};

/** The refusal that the prompt's directive asks for, before anything is accepted. */
export const orderedRefusal = (prompt: string, model: string): Response | undefined =>
  Object.entries(orders).find(([word]) => hasDirective(prompt, word))?.[1](model);

const has = (list: readonly unknown[], value: unknown) => list.includes(value);

/** True if xAI accepts this image: a public URL, or a data URI. */
const isImage = (value: unknown) =>
  typeof value === "object" &&
  value !== null &&
  "url" in value &&
  typeof value.url === "string" &&
  /^(?:https?:\/\/|data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$)/.test(value.url);

/** A body with unknown fields, or with fields of another type, is refused before it is looked at: 422. */
function strangeField(body: Record<string, unknown>, known: string): Response | undefined {
  const names = new Set(known.split(" "));
  const name = Object.keys(body).find((one) => !names.has(one));
  return name === undefined ? undefined : refuse(422, invalidCode, `Failed to deserialize the JSON body: unknown field \`${name}\``);
}

interface ImageModel {
  resolutions: string[];
  maxImages: number;
}

const imageModels: Record<string, ImageModel> = {
  "grok-imagine-image": { resolutions: ["1k"], maxImages: 3 },
  "grok-imagine-image-quality": { resolutions: ["1k", "2k"], maxImages: 3 },
  "grok-imagine-image-2.0": { resolutions: ["1k", "2k"], maxImages: 5 },
};
const imageRatios = "1:1 16:9 9:16 4:3 3:4 3:2 2:3 2:1 1:2 19.5:9 9:19.5 20:9 9:20 auto".split(" ");

/** The refusal of a request for images, or undefined if it is valid. `isEdit`: at the path for edits, which needs images and makes one. */
export function imageRefusal(body: Record<string, unknown>, isEdit: boolean): Response | undefined {
  const strange = strangeField(body, "model prompt n aspect_ratio resolution quality response_format image images user output_format");
  if (strange) return strange;
  const limits = imageModels[String(body["model"])];
  if (!limits) return notFound(`The model ${String(body["model"])}`);
  if (typeof body["prompt"] !== "string" || body["prompt"] === "") return invalid("prompt: must not be empty");
  if (!Number.isInteger(body["n"] ?? 1) || Number(body["n"] ?? 1) < 1 || Number(body["n"] ?? 1) > 10) return invalid("n: must be 1 to 10");
  if (!has(imageRatios, body["aspect_ratio"] ?? "1:1")) return refuse(422, invalidCode, "aspect_ratio: unknown variant");
  if (!has(limits.resolutions, body["resolution"] ?? "1k")) return refuse(422, invalidCode, "resolution: unknown variant");
  const images = [body["image"] ?? [], body["images"] ?? []].flat();
  if (body["image"] !== undefined && body["images"] !== undefined) return invalid("image and images are exclusive");
  if (images.length > limits.maxImages || !images.every(isImage)) return invalid("images: too many, or not an image");
  return isEdit === images.length > 0 ? undefined : invalid("edits need an image, generations take none");
}

interface VideoModel {
  resolutions: string[];
  hasLastFrame: boolean;
  maxReferences: number;
}

const upTo720 = ["480p", "720p"];
const videoModels: Record<string, VideoModel> = {
  "grok-imagine-video": { resolutions: upTo720, hasLastFrame: false, maxReferences: 7 },
  "grok-imagine-video-1.5": { resolutions: [...upTo720, "1080p"], hasLastFrame: true, maxReferences: 7 },
  "grok-imagine-video-1.5-lite": { resolutions: [...upTo720, "1080p"], hasLastFrame: false, maxReferences: 0 },
};
const videoRatios = "1:1 16:9 9:16 4:3 3:4 3:2 2:3".split(" ");

/** The refusal of a request for a video, or undefined if it is valid. */
export function videoRefusal(body: Record<string, unknown>): Response | undefined {
  const strange = strangeField(body, "model prompt duration aspect_ratio resolution image last_frame reference_images generate_audio user");
  if (strange) return strange;
  const limits = videoModels[String(body["model"])];
  if (!limits) return notFound(`The model ${String(body["model"])}`);
  const { prompt, duration = 8, aspect_ratio: ratio = "16:9", resolution = "480p", image, last_frame: last } = body;
  const references = (body["reference_images"] ?? []) as unknown[];
  if (typeof prompt !== "string" || prompt === "" || prompt.length > 4096) return invalid("prompt: 1 to 4096 characters");
  const most = references.length > 0 ? 10 : 15;
  if (!Number.isInteger(duration) || Number(duration) < 1 || Number(duration) > most) return invalid(`duration: 1 to ${most} seconds`);
  if (!has(videoRatios, ratio)) return refuse(422, invalidCode, "aspect_ratio: unknown variant");
  if (!has(limits.resolutions, resolution) || (references.length > 0 && resolution === "1080p"))
    return invalid("resolution: not supported here");
  if (image !== undefined && (!isImage(image) || body["aspect_ratio"] !== undefined)) return invalid("image: stretched, or not an image");
  if (last !== undefined && (!limits.hasLastFrame || image === undefined || !isImage(last)))
    return invalid("last_frame: not supported here");
  if (references.length > limits.maxReferences || !references.every(isImage) || (references.length > 0 && image !== undefined))
    return invalid("reference_images: not supported here");
  return undefined;
}

const chatFields =
  "model messages stream stream_options max_completion_tokens max_tokens temperature top_p seed tools tool_choice parallel_tool_calls response_format reasoning_effort n user";

/** The refusal of a chat: reasoning models take neither stop words nor penalties (theopenco/llmgateway 3573). */
export function chatRefusal(body: Record<string, unknown>): Response | undefined {
  const model = String(body["model"]);
  if (!/^grok-4\.\d/.test(model)) return notFound(`The model ${model}`);
  const name = Object.keys(body).find((one) => !chatFields.split(" ").includes(one));
  if (name !== undefined) return invalid(`Model ${model} does not support parameter ${name}.`);
  const effort = body["reasoning_effort"];
  const efforts = model.startsWith("grok-4.20") ? [] : ["low", "medium", "high"];
  return effort === undefined || has(efforts, effort) ? undefined : invalid("reasoning_effort: not supported here");
}
