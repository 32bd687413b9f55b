/** Video models behind Cloudflare: the input of each family (cloudflare-docs `catalog-models/*.json`). */

import { toUrl, toBase64, type Family, inTurn } from "./inputs.ts";
import { allImages, byRole, fixedRatio } from "../shared/frames.ts";
import { toPrompt } from "../shared/prompt.ts";
import { beyondLimits, secondsFrom, upTo1080, upTo720, type VideoLimits } from "../shared/video-limits.ts";
import type { GenerationRequest, InputImage, Job } from "../provider.ts";

const limitedTo = (limits: VideoLimits) => (request: GenerationRequest) => beyondLimits(request, limits);

const frameImages = (job: Job) => byRole(job, allImages(job));

/** It accepts one image, the first frame, in bare Base64. Every other field is required. */
const veo: Family = {
  kind: "video",
  ids: /\/veo-/,
  unsupportedField: limitedTo({
    ratios: ["16:9", "9:16", "1:1", "auto"],
    seconds: [4, 6, 8],
    resolutions: ["720p", "1080p"],
    frames: ["first"],
  }),
  async input(job) {
    const { first } = frameImages(job);
    return {
      prompt: toPrompt(job),
      duration: `${job.duration}s`,
      aspect_ratio: fixedRatio(job.size),
      resolution: job.resolution ?? "720p",
      generate_audio: true,
      ...(first && { image_input: await toBase64(first) }),
    };
  },
};

const maxSeedancePrompt = 2000;

const seedanceLimits = (model: string): VideoLimits => ({
  maxPrompt: maxSeedancePrompt,
  ratios: ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "auto"],
  // "Ignored if an image is used": the video gets the ratio of its first frame.
  ratioBesideFrame: "refused",
  seconds: secondsFrom(4, model.includes("-2.5") ? 30 : 12),
  // fast, mini and 2.5 have at most 720p.
  resolutions: /-(?:fast|mini)|-2\.5/.test(model) ? upTo720 : upTo1080,
  // "Only works if an image start frame is also given."
  frames: ["first", "pair"],
  // "Cannot be used with 1080p resolution or first/last frame images."
  maxReferences: 4,
  withReferences: { resolutions: upTo720 },
  watermark: true,
});

const seedance: Family = {
  kind: "video",
  ids: /\/seedance-/,
  labelSwitch: "always",
  unsupportedField: (request) => beyondLimits(request, seedanceLimits(request.model)),
  async input(job) {
    const { first, last, references } = frameImages(job);
    return {
      prompt: toPrompt(job, maxSeedancePrompt),
      duration: job.duration,
      resolution: job.resolution ?? "720p",
      aspect_ratio: fixedRatio(job.size),
      fps: 24,
      camera_fixed: false,
      watermark: job.watermark ?? job.label === "on",
      ...(first && { image: await toUrl(first) }),
      ...(last && { last_frame_image: await toUrl(last) }),
      ...(references.length > 0 && { reference_images: await inTurn(references, toUrl) }),
    };
  },
};

const maxHailuoPrompt = 2000;
const hailuoLimits: VideoLimits = {
  maxPrompt: maxHailuoPrompt,
  ratios: ["16:9"],
  ratioBesideFrame: "ignored",
  seconds: [6, 10],
  resolutions: ["768p", "1080p"],
  frames: ["first"],
  promptOptimizer: true,
};

/** It has no ratio field: a video is 16:9, or has the ratio of its first frame. */
const hailuo: Family = {
  kind: "video",
  ids: /\/hailuo-/,
  unsupportedField(request) {
    // platform.minimax.io: 1080P videos are six seconds long.
    if (request.resolution === "1080p" && request.duration === 10) return "metadata.resolution";
    return beyondLimits(request, hailuoLimits);
  },
  async input(job) {
    const { first } = frameImages(job);
    return {
      prompt: toPrompt(job, maxHailuoPrompt),
      duration: job.duration,
      resolution: (job.resolution ?? "768p").toUpperCase(),
      prompt_optimizer: job.promptOptimizer ?? true,
      fast_pretreatment: false,
      ...(first && { first_frame_image: await toUrl(first) }),
    };
  },
};

/** The prompt and the images are parts of `content`. A last frame is possible without a first one. */
const h3: Family = {
  kind: "video",
  ids: /\/h3/,
  unsupportedField: limitedTo({
    ratios: ["21:9", "16:9", "4:3", "1:1", "3:4", "9:16", "auto"],
    seconds: secondsFrom(4, 15),
    resolutions: ["768p"],
    frames: ["first", "pair", "last"],
    maxReferences: Infinity,
  }),
  async input(job) {
    const { first, last, references } = frameImages(job);
    const toPart = async (image: InputImage, role: string) => ({ type: "image_url", image_url: { url: await toUrl(image) }, role });
    const content: unknown[] = [{ type: "text", text: toPrompt(job) }];
    if (first) content.push(await toPart(first, "first_frame"));
    if (last) content.push(await toPart(last, "last_frame"));
    for (const image of references) content.push(await toPart(image, "reference_image"));
    return { content, duration: job.duration, resolution: "768P", ratio: job.size === "auto" ? "adaptive" : job.size };
  },
};

const maxKlingPrompt = 2500;

/** v3 and v3-omni: one image, the first frame, in bare Base64. Every other field is required. */
const kling: Family = {
  kind: "video",
  ids: /\/kling-v3(?:-omni)?$/,
  unsupportedField: limitedTo({
    maxPrompt: maxKlingPrompt,
    ratios: ["16:9", "9:16", "1:1", "auto"],
    seconds: secondsFrom(3, 15),
    resolutions: [],
    frames: ["first"],
  }),
  async input(job) {
    const { first } = frameImages(job);
    const input = { prompt: toPrompt(job, maxKlingPrompt), duration: job.duration, aspect_ratio: fixedRatio(job.size), sound: "on" };
    return { ...input, ...(first && { image_input: await toBase64(first) }) };
  },
};

const maxWanPrompt = 2500;

/** 3.0 and its prime, from text only here, and at most half as long as at its maker. */
const wan: Family = {
  kind: "video",
  ids: /\/wan-3\.0(?:-prime)?$/,
  unsupportedField: limitedTo({
    maxPrompt: maxWanPrompt,
    ratios: ["16:9", "9:16", "1:1", "4:3", "3:4"],
    seconds: secondsFrom(1, 15),
    resolutions: upTo1080,
  }),
  input: (job) =>
    Promise.resolve({
      prompt: toPrompt(job, maxWanPrompt),
      duration: job.duration,
      resolution: (job.resolution ?? "720p").toUpperCase(),
      ratio: job.size,
    }),
};

export const videoFamilies: Family[] = [veo, seedance, hailuo, h3, kling, wan];
