/** The video models on Replicate: one input schema for each family. */

import { byRole, fixedRatio, splitByRole } from "../shared/frames.ts";
import { beyondLimits, secondsFrom, upTo1080, upTo720 } from "../shared/video-limits.ts";
import type { Family } from "./family.ts";

const seedanceVersion = (model: string) => Number(/seedance-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? "1.5");

/** True if the model supports reference images in addition to a first and last frame. */
export const hasReferences = (model: string) =>
  /^google\/veo-3\.\d+$/.test(model) || (seedance.of.test(model) && (seedanceVersion(model) >= 2 || model.includes("lite")));

/** replicate.com/bytedance/seedance-{1-lite,1-pro,2.0,2.0-fast}/versions/…/api; resolutions of 2.x: developer.civitai.com, seedance. */
export const seedance: Family = {
  of: /^bytedance\/seedance-/,
  kind: "video",
  unsupportedField(request) {
    const { model } = request;
    const version = seedanceVersion(model);
    return beyondLimits(request, {
      seconds: version >= 2.5 ? secondsFrom(4, 30) : version >= 2 ? secondsFrom(4, 15) : secondsFrom(version > 1 ? 4 : 2, 12),
      resolutions: version >= 2 && /fast|-2\.5/.test(model) ? upTo720 : upTo1080,
      // 1.x, aspect_ratio: "Ignored if an image is used". The video gets the ratio of its first frame.
      ...(version < 2 && { ratioBesideFrame: "refused" }),
      frames: model.includes("pro-fast") ? ["first"] : ["first", "pair"],
      maxReferences: hasReferences(model) ? Infinity : 0,
      // Documented for 1-lite; unknown for 2.x.
      withReferences: { resolutions: upTo720 },
    });
  },
  input(request, urls) {
    const { first, last, references } = byRole(request, urls);
    return {
      duration: request.duration,
      aspect_ratio: request.size === "auto" ? "adaptive" : request.size,
      resolution: request.resolution,
      image: first,
      last_frame_image: last,
      reference_images: references.length > 0 ? references : undefined,
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
    const { model, duration, resolution } = request;
    const { first } = splitByRole(request);
    const isFast = model.includes("fast");
    const is02 = model.includes("hailuo-02");
    const resolutions = is02 ? (isFast ? ["512p"] : ["512p", "768p", "1080p"]) : ["768p", "1080p"];
    const beyond = beyondLimits(request, {
      maxPrompt: maxHailuoPrompt,
      ratios: ["16:9"],
      ratioBesideFrame: "ignored",
      seconds: [6, 10],
      resolutions,
      frames: is02 && !isFast && resolution !== "512p" ? ["first", "pair"] : ["first"],
      promptOptimizer: true,
    });
    if (beyond !== undefined) return beyond;
    if (resolution === "512p" && !isFast && first === undefined) return "metadata.resolution";
    if (duration === 10 && !(isFast && is02) && resolution !== "768p") return "duration";
    return isFast && first === undefined ? "images" : undefined;
  },
  input(request, urls) {
    const { first, last } = byRole(request, urls);
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
    return beyondLimits(request, {
      ratios: ["16:9", "9:16", "auto"],
      seconds: [4, 6, 8],
      resolutions: ["720p", "1080p"],
      frames: ["first", "pair"],
      maxReferences: hasReferences(request.model) ? 3 : 0,
      withReferences: { ratios: ["16:9"], seconds: [8] },
    });
  },
  input(request, urls) {
    const { first, last, references } = byRole(request, urls);
    return {
      duration: request.duration,
      aspect_ratio: fixedRatio(request.size),
      resolution: request.resolution,
      image: first,
      last_frame: last,
      reference_images: references.length > 0 ? references : undefined,
    };
  },
};
