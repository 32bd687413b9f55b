/** The video models on Replicate: one input schema for each family. */

import { countCharacters } from "../shared/prompt.ts";
import { fixedRatio, splitByRole } from "../shared/frames.ts";
import type { GenerationRequest } from "../provider.ts";
import type { Family } from "./family.ts";

/** The URLs of a request's images by role; undefined for roles without an image. */
function frameUrls(request: GenerationRequest, urls: string[]) {
  const { first, last, references } = splitByRole(request);
  return {
    first: first === undefined ? undefined : urls[first],
    last: last === undefined ? undefined : urls[last],
    references: references.length > 0 ? references.flatMap((at) => urls[at] ?? []) : undefined,
  };
}

const seedanceVersion = (model: string) => Number(/seedance-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? "1.5");

/** True if the model supports reference images in addition to a first and last frame. */
export const hasReferences = (model: string) =>
  /^google\/veo-3\.\d+$/.test(model) || (seedance.of.test(model) && (seedanceVersion(model) >= 2 || model.includes("lite")));

/** replicate.com/bytedance/seedance-{1-lite,1-pro,2.0,2.0-fast}/versions/…/api; resolutions of 2.x: developer.civitai.com, seedance. */
export const seedance: Family = {
  of: /^bytedance\/seedance-/,
  kind: "video",
  unsupportedField(request) {
    const { model, duration = 5, resolution = "720p", size = "16:9" } = request;
    const { first, last, references } = splitByRole(request);
    const version = seedanceVersion(model);
    const [min, max] = version >= 2.5 ? [4, 30] : version >= 2 ? [4, 15] : version > 1 ? [4, 12] : [2, 12];
    if (duration < min || duration > max) return "duration";
    if (!["480p", "720p", "1080p"].includes(resolution)) return "metadata.resolution";
    if (resolution === "1080p" && version >= 2 && /fast|-2\.5/.test(model)) return "metadata.resolution";
    if (references.length > 0 && (!hasReferences(model) || first !== undefined || last !== undefined)) return "images";
    // Documented for 1-lite; unknown for 2.x.
    if (references.length > 0 && resolution === "1080p") return "metadata.resolution";
    if (last !== undefined && (first === undefined || model.includes("pro-fast"))) return "images";
    // 1.x, aspect_ratio: "Ignored if an image is used". The video gets the ratio of its first frame.
    return first !== undefined && version < 2 && size !== "auto" ? "size" : undefined;
  },
  input(request, urls) {
    const { first, last, references } = frameUrls(request, urls);
    return {
      duration: request.duration,
      aspect_ratio: request.size === "auto" ? "adaptive" : request.size,
      resolution: request.resolution,
      image: first,
      last_frame_image: last,
      reference_images: references,
    };
  },
};

/** At MiniMax itself. */
const maxHailuoPrompt = 2000;

/** replicate.com/minimax/hailuo-{02,02-fast,2.3}/versions/…/api: videos are landscape, or have the ratio of the first frame. 512p needs one. */
export const hailuo: Family = {
  of: /^minimax\/hailuo-/,
  kind: "video",
  unsupportedField(request) {
    const { model, duration, resolution, size = "16:9", watermark } = request;
    const { first, last, references } = splitByRole(request);
    const isFast = model.includes("fast");
    const is02 = model.includes("hailuo-02");
    const hasFirst = first !== undefined;
    if (countCharacters(request.prompt) > maxHailuoPrompt) return "prompt";
    if (references.length > 0) return "images";
    const resolutions = is02 ? (isFast ? ["512p"] : ["512p", "768p", "1080p"]) : ["768p", "1080p"];
    if (resolution !== undefined && !resolutions.includes(resolution)) return "metadata.resolution";
    if (resolution === "512p" && !isFast && !hasFirst) return "metadata.resolution";
    if (duration !== 6 && !(duration === 10 && (isFast && is02 ? true : resolution === "768p"))) return "duration";
    if (isFast && !hasFirst) return "images";
    if (last !== undefined && (!hasFirst || !is02 || isFast || resolution === "512p")) return "images";
    if (size !== "16:9" && !hasFirst) return "size";
    return watermark ? "metadata.watermark" : undefined;
  },
  input(request, urls) {
    const { first, last } = frameUrls(request, urls);
    return {
      duration: request.duration,
      // 02-fast has one resolution, and no field for it.
      ...(!request.model.includes("hailuo-02-fast") && { resolution: request.resolution }),
      prompt_optimizer: request.promptOptimizer,
      first_frame_image: first,
      last_frame_image: last,
    };
  },
};

/** replicate.com/google/veo-3.1{,-fast}/versions/…/api: at most three references, only with 16:9 and 8 s; fast and lite support none. */
export const veo: Family = {
  of: /^google\/veo-3/,
  kind: "video",
  unsupportedField(request) {
    const { duration = 8, size = "16:9", resolution = "720p", model } = request;
    const { first, last, references } = splitByRole(request);
    if (![4, 6, 8].includes(duration)) return "duration";
    if (!["16:9", "9:16", "auto"].includes(size)) return "size";
    if (!["720p", "1080p"].includes(resolution)) return "metadata.resolution";
    if (last !== undefined && first === undefined) return "images";
    if (references.length === 0) return undefined;
    if (references.length > 3 || !hasReferences(model) || first !== undefined) return "images";
    return size !== "16:9" ? "size" : duration !== 8 ? "duration" : undefined;
  },
  input(request, urls) {
    const { first, last, references } = frameUrls(request, urls);
    return {
      duration: request.duration,
      aspect_ratio: fixedRatio(request.size),
      resolution: request.resolution,
      image: first,
      last_frame: last,
      reference_images: references,
    };
  },
};
