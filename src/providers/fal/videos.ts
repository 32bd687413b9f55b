/** The limits and inputs of the video families behind the fal queue. Pure. */

import { toPrompt } from "../shared/prompt.ts";
import { beyondLimits, secondsFrom, upTo1080, upTo720, type VideoLimits } from "../shared/video-limits.ts";
import { type Frames, splitByRole } from "../shared/frames.ts";
import type { Plan, Unsupported } from "./plan.ts";
import type { GenerationRequest } from "../provider.ts";

/** A request with the indexes of its images by role, and with the prompt as it is sent. */
type Sorted = GenerationRequest & Frames<number>;

interface Family {
  /** Endpoint ids without their last part. */
  ids: RegExp;
  limits: (family: string) => VideoLimits;
  /** The call for a request within the limits. */
  plan: (request: Sorted, family: string) => Plan | Unsupported;
}

export function planVideo(request: GenerationRequest, family: string): Plan | Unsupported {
  const { limits, plan } = families.find(({ ids }) => ids.test(family)) ?? other;
  const within = limits(family);
  const unsupported = beyondLimits(request, within);
  if (unsupported !== undefined) return { unsupported };
  return plan({ ...request, ...splitByRole(request), prompt: toPrompt(request, within.maxPrompt) }, family);
}

/** Google's own limits: at most three references, for eight seconds; lite supports none. */
const veo: Family = {
  ids: /\/veo/,
  limits: (family) => ({
    ratios: ["16:9", "9:16", "auto"],
    seconds: [4, 6, 8],
    resolutions: ["720p", "1080p"],
    frames: ["first", "pair"],
    maxReferences: family.endsWith("/lite") ? 0 : 3,
    withReferences: { seconds: [8] },
  }),
  plan({ prompt, size = "16:9", duration = 8, resolution, first, last, references }, family) {
    const input = { prompt, aspect_ratio: size, duration: `${duration}s`, ...(resolution && { resolution }) };
    if (references.length > 0) return { endpoint: `${family}/reference-to-video`, input, images: { image_urls: references } };
    if (first === undefined) return { endpoint: family, input, images: {} };
    return last === undefined
      ? { endpoint: `${family}/image-to-video`, input, images: { image_url: first } }
      : { endpoint: `${family}/first-last-frame-to-video`, input, images: { first_frame_url: first, last_frame_url: last } };
  },
};

const first: VideoLimits = {
  ratios: ["21:9", "16:9", "4:3", "1:1", "3:4", "9:16", "auto"],
  seconds: secondsFrom(2, 12),
  resolutions: upTo1080,
  frames: ["first", "pair"],
};
const second: VideoLimits = { ...first, seconds: secondsFrom(4, 15), maxReferences: 9 };
const seedanceVersions: [RegExp, VideoLimits][] = [
  [/\/seedance-2\.5/, { ...second, seconds: secondsFrom(4, 30), resolutions: upTo720 }], // fal.ai/models/bytedance/seedance-2.5
  [/\/seedance-.*\/(?:fast|mini|flash)$/, { ...second, resolutions: upTo720 }],
  [/\/seedance-/, second],
  [/\/seedance\/v1\/lite$/, { ...first, maxReferences: 9, withReferences: { resolutions: upTo720 } }],
  [/\/seedance\/v1\/pro\/fast$/, { ...first, frames: ["first"] }],
  // Its image-to-video "has been redirected to seedance 1.0 pro fast" and ignores the last frame.
  [/\/seedance\/v1\/pro$/, { ...first, frames: [] }],
];
const otherVersion: VideoLimits = { ...first, seconds: secondsFrom(4, 12) };

const seedance: Family = {
  ids: /\/seedance[-/]/,
  limits: (family) => seedanceVersions.find(([pattern]) => pattern.test(family))?.[1] ?? otherVersion,
  plan({ prompt, size = "16:9", duration = 5, resolution, first, last, references }, family) {
    const input = { prompt, aspect_ratio: size, duration: String(duration), ...(resolution && { resolution }) };
    if (references.length > 0) {
      const field = family.includes("/v1/") ? "reference_image_urls" : "image_urls";
      return { endpoint: `${family}/reference-to-video`, input, images: { [field]: references } };
    }
    return fromFrames(family, input, { image_url: first, end_image_url: last });
  },
};

/** `standard` generates 768p, and 512p from a first frame; `pro` generates 1080p and always six seconds. Videos from text are landscape. */
const hailuo: Family = {
  ids: /\/hailuo-/,
  limits: (family) => ({
    maxPrompt: 2000,
    ratios: ["16:9"],
    ratioBesideFrame: "ignored",
    seconds: [6, 10],
    frames: withoutTier(family).endsWith("-02") ? ["first", "pair"] : ["first"],
    promptOptimizer: true,
  }),
  plan({ prompt, duration = 6, resolution = "768p", promptOptimizer, first, last }, family) {
    const model = withoutTier(family);
    const is02 = model.endsWith("-02");
    const isSmall = model.endsWith("-02-fast");
    const tier = resolution === "1080p" ? "/pro" : "/standard";
    const isOffered = isSmall ? resolution === "512p" : family === model || family === model + tier;
    const isMade = isSmall || resolution === "768p" || resolution === "1080p" || (resolution === "512p" && is02 && first !== undefined);
    if (!isOffered || !isMade) return { unsupported: "metadata.resolution" };
    if (tier === "/pro" && duration !== 6) return { unsupported: "duration" };
    if (first === undefined && model.endsWith("-fast")) return { unsupported: "images" };
    const input = {
      prompt,
      ...(tier === "/standard" && { duration: String(duration) }),
      ...(promptOptimizer !== undefined && { prompt_optimizer: promptOptimizer }),
      ...(first !== undefined && tier === "/standard" && is02 && { resolution: resolution.toUpperCase() }),
    };
    return fromFrames(isSmall ? model : model + tier, input, { image_url: first, end_image_url: last });
  },
};

const withoutTier = (family: string) => family.replace(/\/(?:standard|pro)$/, "");

/** fal.ai/models/alibaba/wan-3.0; its longest prompt is the one at Cloudflare. Its default resolution is the most expensive one. A first frame sets the ratio. */
const wan: Family = {
  ids: /\/wan-3\.0$/,
  limits: () => ({
    maxPrompt: 2500,
    ratios: ["16:9", "4:3", "1:1", "3:4", "9:16"],
    ratioBesideFrame: "refused",
    seconds: secondsFrom(2, 30),
    resolutions: upTo1080,
    frames: ["first", "pair"],
    maxReferences: 10,
  }),
  plan({ prompt, size = "16:9", duration = 5, resolution = "720p", first, last, references }, family) {
    const input = { prompt, duration, resolution, ...(first === undefined && { aspect_ratio: size }) };
    if (references.length > 0) return { endpoint: `${family}/reference-to-video`, input, images: { reference_image_urls: references } };
    return fromFrames(family, input, { start_image_url: first, end_image_url: last });
  },
};

/** Kling v3: the tier in its endpoint decides the resolution, and no page says which. A first frame sets the ratio. */
const kling: Family = {
  ids: /\/kling-video\/v3\//,
  limits: () => ({
    maxPrompt: 2500,
    ratios: ["16:9", "9:16", "1:1"],
    ratioBesideFrame: "refused",
    seconds: secondsFrom(3, 15),
    resolutions: [],
    frames: ["first", "pair"],
  }),
  plan({ prompt, size = "16:9", duration = 5, first, last }, family) {
    const input = { prompt, duration: String(duration), ...(first === undefined && { aspect_ratio: size }) };
    return fromFrames(family, input, { start_image_url: first, end_image_url: last });
  },
};

/** An unknown family: gets the fields that most endpoints share, and only what most support. */
const other: Family = {
  ids: /./,
  limits: () => ({ frames: ["first"] }),
  plan({ prompt, size, duration, resolution, first }, family) {
    const input = {
      prompt,
      // Not all endpoints support `auto`; without it most use the ratio of the first frame.
      ...(size !== undefined && size !== "auto" && { aspect_ratio: size }),
      ...(duration !== undefined && { duration: String(duration) }),
      ...(resolution !== undefined && { resolution }),
    };
    return fromFrames(family, input, { image_url: first });
  },
};

const families = [hailuo, veo, wan, kling, seedance];

/** A call of the endpoint for videos from text, or of the one for videos from an image if a frame is given. */
function fromFrames(family: string, input: Plan["input"], frames: Record<string, number | undefined>): Plan {
  const images = Object.fromEntries(Object.entries(frames).filter((one): one is [string, number] => one[1] !== undefined));
  return { endpoint: `${family}/${Object.keys(images).length > 0 ? "image" : "text"}-to-video`, input, images };
}
