/** What the emulated ModelArk accepts as an image: docs.byteplus.com/en/docs/ModelArk/1541523. */

import { errorBody, invalidParameter, isImage, notFound, refuse } from "./errors.ts";

export interface ImageRequest {
  model: string;
  prompt: string;
  image?: unknown;
  size?: unknown;
  response_format?: unknown;
  watermark?: unknown;
  sequential_image_generation?: unknown;
}

/** Minimum and maximum number of pixels. */
const models: Record<string, [number, number]> = {
  "seedream-4-0-250828": [921_600, 16_777_216],
  "seedream-4-5-251128": [3_686_400, 16_777_216],
  "seedream-5-0-260128": [3_686_400, 10_404_496],
  "dola-seedream-5-0-pro-260628": [921_600, 4_194_304],
};
const fields = new Set(
  "model prompt image size response_format output_format watermark seed stream sequential_image_generation sequential_image_generation_options optimize_prompt_options".split(
    " ",
  ),
);

/** Without the envelope of all other refusals: observed on ap-southeast, 2026-09-30. */
const badSize = (why: string) =>
  Response.json(errorBody("InvalidParameter", `The parameter \`size\` specified in the request is not valid: ${why}`, "", ""), {
    status: 400,
  });

/** The refusal of a request, or undefined if it is valid. */
export function imageRefusal(body: Partial<ImageRequest>): Response | undefined {
  const { model, prompt, image, size, watermark } = body;
  if (typeof model !== "string" || !model) return refuse(400, "MissingParameter", "The request is missing the parameter `model`.", "model");
  const pixels = models[model];
  if (!pixels) return notFound(model);
  if (typeof prompt !== "string" || !prompt)
    return refuse(400, "MissingParameter", "The request is missing the parameter `prompt`.", "prompt");
  // There is no parameter `n`.
  const stranger = Object.keys(body).find((name) => !fields.has(name));
  if (stranger !== undefined) return invalidParameter(stranger);
  if (model.includes("5-0-pro") && body.sequential_image_generation !== undefined) return invalidParameter("sequential_image_generation");
  if (watermark !== undefined && typeof watermark !== "boolean") return invalidParameter("watermark");
  if (body.response_format !== undefined && !["url", "b64_json"].includes(body.response_format as string))
    return invalidParameter("response_format");
  const images = image === undefined ? [] : Array.isArray(image) ? (image as unknown[]) : [image];
  if (images.length > 14 || !images.every(isImage)) return invalidParameter("image");
  return size === undefined ? undefined : sizeRefusal(size, pixels);
}

function sizeRefusal(size: unknown, [from, to]: [number, number]): Response | undefined {
  if (typeof size !== "string") return badSize("not a string");
  if (/^[1-4]K$/.test(size)) return undefined;
  const [, width, height] = /^(\d+)x(\d+)$/.exec(size)?.map(Number) ?? [];
  if (!width || !height) return badSize("WIDTHxHEIGHT or 1K, 2K, 4K");
  if (width * height < from) return badSize(`image size must be at least ${from} pixels.`);
  if (width * height > to) return badSize(`image size must be at most ${to} pixels.`);
  if (width / height > 16 || height / width > 16) return badSize("aspect ratio must be within 1:16 and 16:1");
  return undefined;
}
