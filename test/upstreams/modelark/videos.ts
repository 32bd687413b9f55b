/** What the emulated ModelArk accepts as a video: docs.byteplus.com/en/docs/ModelArk/1520757, and published measurements of 2.x. */

import { invalidParameter, isImage, notFound, refuse } from "./errors.ts";

interface Content {
  type?: unknown;
  text?: unknown;
  image_url?: { url?: unknown };
  role?: unknown;
}

export interface VideoRequest {
  model: string;
  content: Content[];
  ratio?: unknown;
  resolution?: unknown;
  duration?: unknown;
  watermark?: unknown;
  return_last_frame?: unknown;
}

interface Limits {
  seconds: [number, number];
  resolutions: string[];
  roles: string[];
  ratioOfFrame?: boolean;
}

const frames = ["first_frame", "last_frame"];
const second = { seconds: [4, 15] as [number, number], roles: [...frames, "reference_image"] };
const models: Record<string, Limits> = {
  "seedance-1-0-pro-250528": { seconds: [2, 12], resolutions: ["480p", "720p", "1080p"], roles: frames },
  "seedance-1-0-pro-fast-251015": { seconds: [2, 12], resolutions: ["480p", "720p", "1080p"], roles: ["first_frame"] },
  "dreamina-seedance-2-0-260128": { ...second, resolutions: ["480p", "720p", "1080p", "4k"] },
  "dreamina-seedance-2-0-fast-260128": { ...second, resolutions: ["480p", "720p"] },
  "dreamina-seedance-2-5-260628": { ...second, seconds: [4, 30], resolutions: ["480p", "720p"], ratioOfFrame: true },
};
const fields = new Set(
  "model content ratio resolution duration frames seed camera_fixed watermark generate_audio draft return_last_frame service_tier execution_expires_after callback_url safety_identifier priority output_format".split(
    " ",
  ),
);
const ratios = new Set<unknown>(["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"]);

/** The text of a request, for its directives. */
export const readText = ({ content }: Partial<VideoRequest>): string => {
  const text = Array.isArray(content) ? content.find(({ type }) => type === "text")?.text : undefined;
  return typeof text === "string" ? text : "";
};

/** The refusal of a request, or undefined if it is valid. */
export function videoRefusal(body: Partial<VideoRequest>): Response | undefined {
  const { model, content, ratio, resolution, duration } = body;
  if (typeof model !== "string" || !model) return refuse(400, "MissingParameter", "The request is missing the parameter `model`.", "model");
  const limits = models[model];
  if (!limits) return notFound(model);
  const stranger = Object.keys(body).find((name) => !fields.has(name));
  if (stranger !== undefined) return invalidParameter(stranger);
  if (!Array.isArray(content) || content.length === 0)
    return refuse(400, "MissingParameter", "The request is missing the parameter `content`.", "content");
  if (
    duration !== undefined &&
    !(Number.isInteger(duration) && Number(duration) >= limits.seconds[0] && Number(duration) <= limits.seconds[1])
  )
    return invalidParameter("duration", `not valid for model ${model}`);
  if (resolution !== undefined && !limits.resolutions.includes(resolution as string)) return invalidParameter("resolution");
  if (ratio !== undefined && !ratios.has(ratio)) return invalidParameter("ratio");
  for (const flag of ["watermark", "return_last_frame"] as const)
    if (body[flag] !== undefined && typeof body[flag] !== "boolean") return invalidParameter(flag);
  return contentRefusal(content, limits) ?? frameRefusal(content, limits, body);
}

function contentRefusal(content: Content[], { roles }: Limits): Response | undefined {
  const images = content.filter(({ type }) => type === "image_url");
  for (const [at, item] of content.entries()) {
    if (item.type === "text" ? typeof item.text !== "string" || !item.text : item.type !== "image_url")
      return invalidParameter(`content[${at}].type`, "supported values are: `text`, `image_url`, `audio_url`, `video_url`");
    if (item.type !== "image_url") continue;
    if (!isImage(item.image_url?.url)) return invalidParameter("content.image_url");
    if (item.role === undefined && images.length > 1) return invalidParameter("content", "role must be specified for image contents");
    if (item.role !== undefined && !roles.includes(item.role as string))
      return invalidParameter("content", "invalid role specified for image content");
  }
  return undefined;
}

function frameRefusal(content: Content[], { ratioOfFrame }: Limits, { ratio, resolution }: Partial<VideoRequest>): Response | undefined {
  const count = (wanted: string) => content.filter(({ role }) => role === wanted).length;
  const [firsts, lasts, references] = [count("first_frame"), count("last_frame"), count("reference_image")];
  if (firsts > 1 || lasts > 1)
    return invalidParameter("content", `expected at most one first frame image content but got ${firsts} instead`);
  if (lasts > firsts) return invalidParameter("content", "last frame image content needs a first frame");
  if (references > 0 && firsts + lasts > 0)
    return invalidParameter("content", "first/last frame content cannot be mixed with reference media content");
  if (references > 9) return invalidParameter("content", "too many reference images");
  if (references > 0 && resolution === "1080p") return invalidParameter("resolution");
  if (firsts > 0 && ratioOfFrame && ratio !== undefined && ratio !== "adaptive")
    return refuse(
      400,
      "InvalidParameter.TaskTypeConstraint",
      "The parameter ratio specified in the request is not valid. For first-frame or first-last-frame generation, the output ratio follows the first-frame image.",
      "ratio",
    );
  return undefined;
}
