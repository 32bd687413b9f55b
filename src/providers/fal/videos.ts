/** The inputs of the video families behind the fal queue. Pure. */

import { countCharacters, toPrompt } from "../shared/prompt.ts";
import { splitByRole } from "../shared/frames.ts";
import type { Plan, Unsupported } from "./plan.ts";
import type { GenerationRequest } from "../provider.ts";

const no = (unsupported: string): Unsupported => ({ unsupported });

export function planVeo(request: GenerationRequest, family: string): Plan | Unsupported {
  const { size = "16:9", duration = 8, resolution } = request;
  const { first, last, references } = splitByRole(request);
  if (![4, 6, 8].includes(duration)) return no("duration");
  if (!["16:9", "9:16", "auto"].includes(size)) return no("size");
  if (resolution !== undefined && !["720p", "1080p"].includes(resolution)) return no("metadata.resolution");
  const input = { prompt: toPrompt(request), aspect_ratio: size, duration: `${duration}s`, ...(resolution && { resolution }) };
  const hasFrames = first !== undefined || last !== undefined;
  if (references.length > 0) {
    // Google's own limits: at most three references, for eight seconds; lite supports none.
    if (hasFrames || references.length > 3 || duration !== 8 || family.endsWith("/lite")) return no("images");
    return { endpoint: `${family}/reference-to-video`, input, images: { image_urls: references } };
  }
  if (!hasFrames) return { endpoint: family, input, images: {} };
  if (first === undefined) return no("images");
  return last === undefined
    ? { endpoint: `${family}/image-to-video`, input, images: { image_url: first } }
    : { endpoint: `${family}/first-last-frame-to-video`, input, images: { first_frame_url: first, last_frame_url: last } };
}

interface SeedanceVersion {
  seconds: [from: number, to: number];
  resolutions: string[];
  hasFirst: boolean;
  hasLast: boolean;
  /** The field of the references, if it supports any. */
  references?: string;
}
const upTo720 = ["480p", "720p"];
const upTo1080 = [...upTo720, "1080p"];
const firstVersion: SeedanceVersion = { seconds: [2, 12], resolutions: upTo1080, hasFirst: true, hasLast: true };
const secondVersion: SeedanceVersion = { ...firstVersion, seconds: [4, 15], references: "image_urls" };
const seedanceVersions: [RegExp, SeedanceVersion][] = [
  [/\/seedance-2\.5/, { ...secondVersion, seconds: [4, 30], resolutions: upTo720 }], // fal.ai/models/bytedance/seedance-2.5
  [/\/seedance-.*\/(?:fast|mini|flash)$/, { ...secondVersion, resolutions: upTo720 }],
  [/\/seedance-/, secondVersion],
  [/\/seedance\/v1\/lite$/, { ...firstVersion, references: "reference_image_urls" }],
  [/\/seedance\/v1\/pro\/fast$/, { ...firstVersion, hasLast: false }],
  // Its image-to-video "has been redirected to seedance 1.0 pro fast" and ignores the last frame.
  [/\/seedance\/v1\/pro$/, { ...firstVersion, hasFirst: false, hasLast: false }],
];
const otherVersion: SeedanceVersion = { ...firstVersion, seconds: [4, 12] };

export function planSeedance(request: GenerationRequest, family: string): Plan | Unsupported {
  const { size = "16:9", duration = 5, resolution } = request;
  const { first, last, references } = splitByRole(request);
  const version = seedanceVersions.find(([pattern]) => pattern.test(family))?.[1] ?? otherVersion;
  if (duration < version.seconds[0] || duration > version.seconds[1]) return no("duration");
  if (!["21:9", "16:9", "4:3", "1:1", "3:4", "9:16", "auto"].includes(size)) return no("size");
  const isHighest = resolution === "1080p" && references.length > 0 && family.endsWith("/lite");
  if (isHighest || (resolution !== undefined && !version.resolutions.includes(resolution))) return no("metadata.resolution");
  const input = { prompt: toPrompt(request), aspect_ratio: size, duration: String(duration), ...(resolution && { resolution }) };
  const hasFrames = first !== undefined || last !== undefined;
  if (references.length > 0) {
    if (!version.references || hasFrames || references.length > 9) return no("images");
    return { endpoint: `${family}/reference-to-video`, input, images: { [version.references]: references } };
  }
  if (!hasFrames) return { endpoint: `${family}/text-to-video`, input, images: {} };
  if (first === undefined || !version.hasFirst || (last !== undefined && !version.hasLast)) return no("images");
  return {
    endpoint: `${family}/image-to-video`,
    input,
    images: { image_url: first, ...(last !== undefined && { end_image_url: last }) },
  };
}

const maxHailuoPrompt = 2000;

/** `standard` generates 768p, and 512p from a first frame; `pro` generates 1080p and always six seconds. Videos from text are landscape. */
export function planHailuo(request: GenerationRequest, family: string): Plan | Unsupported {
  const { size = "16:9", duration = 6, resolution = "768p", promptOptimizer } = request;
  const { first, last, references } = splitByRole(request);
  const model = family.replace(/\/(?:standard|pro)$/, "");
  const isSmall = model.endsWith("-02-fast");
  const tier = resolution === "1080p" ? "/pro" : "/standard";
  const isOffered = isSmall ? resolution === "512p" : family === model || family === model + tier;
  const isMade =
    isSmall || resolution === "768p" || resolution === "1080p" || (resolution === "512p" && model.endsWith("-02") && first !== undefined);
  if (countCharacters(request.prompt) > maxHailuoPrompt) return no("prompt");
  if (!isOffered || !isMade) return no("metadata.resolution");
  if (duration !== 6 && (duration !== 10 || tier === "/pro")) return no("duration");
  if (references.length > 0 || (first === undefined && (last !== undefined || model.endsWith("-fast")))) return no("images");
  if (last !== undefined && !model.endsWith("-02")) return no("images");
  if (first === undefined && size !== "16:9") return no("size");
  const isFromFrame = first !== undefined;
  const input = {
    prompt: toPrompt(request, maxHailuoPrompt),
    ...(tier === "/standard" && { duration: String(duration) }),
    ...(promptOptimizer !== undefined && { prompt_optimizer: promptOptimizer }),
    ...(isFromFrame && tier === "/standard" && model.endsWith("-02") && { resolution: resolution.toUpperCase() }),
  };
  return {
    endpoint: `${model}${isSmall ? "" : tier}/${isFromFrame ? "image" : "text"}-to-video`,
    input,
    images: { ...(isFromFrame && { image_url: first }), ...(last !== undefined && { end_image_url: last }) },
  };
}

/** The longest prompt that Wan 3.0 takes at Cloudflare; fal states none. */
const maxWanPrompt = 2500;

/** 2 to 30 seconds (fal.ai/models/alibaba/wan-3.0). Its default resolution is the most expensive one. A first frame sets the ratio. */
export function planWan(request: GenerationRequest, family: string): Plan | Unsupported {
  const { size = "16:9", duration = 5, resolution = "720p" } = request;
  const { first, last, references } = splitByRole(request);
  if (countCharacters(request.prompt) > maxWanPrompt) return no("prompt");
  if (last !== undefined && first === undefined) return no("images");
  if (duration < 2 || duration > 30) return no("duration");
  if (!["16:9", "4:3", "1:1", "3:4", "9:16", "auto"].includes(size) || (first !== undefined && size !== "auto")) return no("size");
  if (!["480p", "720p", "1080p"].includes(resolution)) return no("metadata.resolution");
  const input = { prompt: toPrompt(request, maxWanPrompt), duration, resolution };
  const ratio = { aspect_ratio: size === "auto" ? "adaptive" : size };
  if (references.length > 0) {
    if (first !== undefined || references.length > 10) return no("images");
    return { endpoint: `${family}/reference-to-video`, input: { ...input, ...ratio }, images: { reference_image_urls: references } };
  }
  if (first === undefined) return { endpoint: `${family}/text-to-video`, input: { ...input, ...ratio }, images: {} };
  const images = { start_image_url: first, ...(last !== undefined && { end_image_url: last }) };
  return { endpoint: `${family}/image-to-video`, input, images };
}

const maxKlingPrompt = 2500;

/** Kling v3: the tier in its endpoint decides the resolution, and no page says which. A first frame sets the ratio. */
export function planKling(request: GenerationRequest, family: string): Plan | Unsupported {
  const { size = "16:9", duration = 5, resolution } = request;
  const { first, last, references } = splitByRole(request);
  if (countCharacters(request.prompt) > maxKlingPrompt) return no("prompt");
  if (!Number.isInteger(duration) || duration < 3 || duration > 15) return no("duration");
  if (resolution !== undefined) return no("metadata.resolution");
  if (references.length > 0 || (last !== undefined && first === undefined)) return no("images");
  if (first !== undefined ? size !== "auto" : !["16:9", "9:16", "1:1"].includes(size)) return no("size");
  const input = { prompt: toPrompt(request, maxKlingPrompt), duration: String(duration) };
  if (first === undefined) return { endpoint: `${family}/text-to-video`, input: { ...input, aspect_ratio: size }, images: {} };
  const images = { start_image_url: first, ...(last !== undefined && { end_image_url: last }) };
  return { endpoint: `${family}/image-to-video`, input, images };
}

/** An unknown family: gets the fields that most endpoints share, and only what most support. */
export function planOtherVideo(request: GenerationRequest, family: string): Plan | Unsupported {
  const { size, duration, resolution } = request;
  const { first, last, references } = splitByRole(request);
  if (last !== undefined || references.length > 0) return no("images");
  const input = {
    prompt: toPrompt(request),
    // Not all endpoints support `auto`; without it most use the ratio of the first frame.
    ...(size !== undefined && size !== "auto" && { aspect_ratio: size }),
    ...(duration !== undefined && { duration: String(duration) }),
    ...(resolution !== undefined && { resolution }),
  };
  return first === undefined
    ? { endpoint: `${family}/text-to-video`, input, images: {} }
    : { endpoint: `${family}/image-to-video`, input, images: { image_url: first } };
}
