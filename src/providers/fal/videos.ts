/** What the families of films behind the fal queue take. Pure. */

import { splitByRole, type Plan, picturesField, toPrompt, type Unable } from "./plan.ts";
import type { GenerationRequest } from "../provider.ts";

export function veoPlan(request: GenerationRequest, family: string): Plan | Unable {
  const { size = "16:9", duration = 8, resolution } = request;
  const { first, last, references } = splitByRole(request);
  if (![4, 6, 8].includes(duration)) return { unable: "duration" };
  if (!["16:9", "9:16"].includes(size)) return { unable: "size" };
  if (resolution !== undefined && !["720p", "1080p"].includes(resolution)) return { unable: "metadata.resolution" };
  const input = { prompt: toPrompt(request), aspect_ratio: size, duration: `${duration}s`, ...(resolution && { resolution }) };
  const hasFrames = first !== undefined || last !== undefined;
  if (references.length > 0) {
    // Only the full model takes references, always for eight seconds as Google has it.
    if (hasFrames || references.length > 3 || duration !== 8 || /\/(?:fast|lite)$/.test(family)) return { unable: picturesField(request) };
    return { endpoint: `${family}/reference-to-video`, input, pictures: { image_urls: references } };
  }
  if (!hasFrames) return { endpoint: family, input, pictures: {} };
  if (first === undefined) return { unable: picturesField(request) };
  return last === undefined
    ? { endpoint: `${family}/image-to-video`, input, pictures: { image_url: first } }
    : { endpoint: `${family}/first-last-frame-to-video`, input, pictures: { first_frame_url: first, last_frame_url: last } };
}

export function seedancePlan(request: GenerationRequest, family: string): Plan | Unable {
  const { size = "16:9", duration = 5, resolution } = request;
  const { first, last, references } = splitByRole(request);
  const isFirst = /\/seedance\/v1(?:$|\/)/.test(family);
  const isSecond = /\/seedance-/.test(family);
  const isFast = /\/(?:fast|mini|flash)$/.test(family);
  // fal.ai, bytedance/seedance-2.0: 4 to 15 seconds; its fast tier ends at 720p.
  if (duration < (isFirst ? 2 : 4) || duration > (isSecond ? 15 : 12)) return { unable: "duration" };
  if (!["21:9", "16:9", "4:3", "1:1", "3:4", "9:16"].includes(size)) return { unable: "size" };
  const highest = !(isSecond && isFast) && !(family.endsWith("/lite") && references.length > 0);
  if (resolution !== undefined && !["480p", "720p", ...(highest ? ["1080p"] : [])].includes(resolution))
    return { unable: "metadata.resolution" };
  const input = { prompt: toPrompt(request), aspect_ratio: size, duration: String(duration), ...(resolution && { resolution }) };
  const hasFrames = first !== undefined || last !== undefined;
  if (references.length > 0) {
    const field = isSecond ? "image_urls" : family.endsWith("/lite") ? "reference_image_urls" : undefined;
    if (!field || hasFrames) return { unable: picturesField(request) };
    return { endpoint: `${family}/reference-to-video`, input, pictures: { [field]: references } };
  }
  if (!hasFrames) return { endpoint: `${family}/text-to-video`, input, pictures: {} };
  // The fast tier of 1.0 has no last frame.
  if (first === undefined || (last !== undefined && isFirst && isFast)) return { unable: picturesField(request) };
  return {
    endpoint: `${family}/image-to-video`,
    input,
    pictures: { image_url: first, ...(last !== undefined && { end_image_url: last }) },
  };
}

/** `standard` makes 768p, and 512p from a first frame; `pro` makes 1080p and always six seconds. Films from text are landscape. */
export function hailuoPlan(request: GenerationRequest, family: string): Plan | Unable {
  const { size = "16:9", duration = 6, resolution = "768p", promptOptimizer } = request;
  const { first, last, references } = splitByRole(request);
  const model = family.replace(/\/(?:standard|pro)$/, "");
  const isSmall = model.endsWith("-02-fast");
  const tier = resolution === "1080p" ? "/pro" : "/standard";
  const isOffered = isSmall ? resolution === "512p" : family === model || family === model + tier;
  const isMade =
    isSmall || resolution === "768p" || resolution === "1080p" || (resolution === "512p" && model.endsWith("-02") && first !== undefined);
  if (!isOffered || !isMade) return { unable: "metadata.resolution" };
  if (duration !== 6 && (duration !== 10 || tier === "/pro")) return { unable: "duration" };
  if (references.length > 0) return { unable: picturesField(request) };
  if (first === undefined && (last !== undefined || model.endsWith("-fast"))) return { unable: "metadata.first_frame_image" };
  if (last !== undefined && !model.endsWith("-02")) return { unable: "metadata.last_frame_image" };
  if (!["16:9", ...(first === undefined ? [] : ["9:16"])].includes(size)) return { unable: "size" };
  const isFromFrame = first !== undefined;
  const input = {
    prompt: toPrompt(request),
    ...(tier === "/standard" && { duration: String(duration) }),
    ...(promptOptimizer !== undefined && { prompt_optimizer: promptOptimizer }),
    ...(isFromFrame && tier === "/standard" && model.endsWith("-02") && { resolution: resolution.toUpperCase() }),
  };
  return {
    endpoint: `${model}${isSmall ? "" : tier}/${isFromFrame ? "image" : "text"}-to-video`,
    input,
    pictures: { ...(isFromFrame && { image_url: first }), ...(last !== undefined && { end_image_url: last }) },
  };
}

/** A family that is not known here: asked in the words that most endpoints share, for what most can do. */
export function otherFilmPlan(request: GenerationRequest, family: string): Plan | Unable {
  const { size, duration, resolution } = request;
  const { first, last, references } = splitByRole(request);
  if (last !== undefined || references.length > 0) return { unable: picturesField(request) };
  const input = {
    prompt: toPrompt(request),
    ...(size !== undefined && { aspect_ratio: size }),
    ...(duration !== undefined && { duration: String(duration) }),
    ...(resolution !== undefined && { resolution }),
  };
  return first === undefined
    ? { endpoint: `${family}/text-to-video`, input, pictures: {} }
    : { endpoint: `${family}/image-to-video`, input, pictures: { image_url: first } };
}
