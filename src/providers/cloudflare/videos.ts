/** Video models behind Cloudflare: the input of each family (cloudflare-docs `catalog-models/*.json`). */

import { toUrl, toBase64, type Family, inTurn } from "./inputs.ts";
import { allImages, fixedRatio, splitByRole } from "../shared/frames.ts";
import { toPrompt } from "../shared/prompt.ts";
import type { GenerationRequest, InputImage, Job } from "../provider.ts";

const toSet = (...values: string[]) => new Set(values);
const isLong = ({ prompt }: GenerationRequest, max: number) => prompt.length > max;

/** The images of a job by role; those of its characters are references. */
function frameImages(job: Job): { first?: InputImage; last?: InputImage; references: InputImage[] } {
  const all = allImages(job);
  const { first, last, references } = splitByRole(job);
  const at = (index: number | undefined) => (index === undefined ? undefined : all[index]);
  const [firstImage, lastImage] = [at(first), at(last)];
  return {
    ...(firstImage && { first: firstImage }),
    ...(lastImage && { last: lastImage }),
    references: references.flatMap((index) => all[index] ?? []),
  };
}

const veoSizes = toSet("16:9", "9:16", "1:1", "auto");
const veoSeconds = new Set([4, 6, 8]);
const veoResolutions = toSet("720p", "1080p");

/** It accepts one image, the first frame, in bare Base64. Every other field is required. */
const veo: Family = {
  kind: "video",
  ids: /\/veo-/,
  unsupportedField(request) {
    const { last, references } = splitByRole(request);
    if (!veoSizes.has(request.size ?? "")) return "size";
    if (!veoSeconds.has(request.duration ?? 0)) return "duration";
    if (!veoResolutions.has(request.resolution ?? "720p")) return "metadata.resolution";
    if (request.watermark) return "metadata.watermark";
    if (last !== undefined || references.length > 0) return "images";
    return request.promptOptimizer ? "metadata.prompt_optimizer" : undefined;
  },
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

const seedanceSizes = toSet("16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "auto");
const maxSeedancePrompt = 2000;
const maxSeedanceReferences = 4;

/** fast, mini and 2.5 have at most 720p. */
const seedanceResolutions = (model: string) =>
  /-(?:fast|mini)|-2\.5/.test(model) ? toSet("480p", "720p") : toSet("480p", "720p", "1080p");

const seedance: Family = {
  kind: "video",
  ids: /\/seedance-/,
  labelSwitch: "always",
  unsupportedField(request) {
    const { duration = 0, resolution = "720p", size = "" } = request;
    const { first, last, references } = splitByRole(request);
    if (isLong(request, maxSeedancePrompt)) return "prompt";
    if (!seedanceSizes.has(size)) return "size";
    if (duration < 4 || duration > (request.model.includes("-2.5") ? 30 : 12)) return "duration";
    if (!seedanceResolutions(request.model).has(resolution)) return "metadata.resolution";
    if (request.promptOptimizer) return "metadata.prompt_optimizer";
    // "Only works if an image start frame is also given."
    if (last !== undefined && first === undefined) return "images";
    // "Cannot be used with 1080p resolution or first/last frame images."
    if (references.length > maxSeedanceReferences || (references.length > 0 && first !== undefined)) return "images";
    if (references.length > 0 && resolution === "1080p") return "metadata.resolution";
    // "Ignored if an image is used": the video gets the ratio of its first frame.
    return first !== undefined && size !== "auto" ? "size" : undefined;
  },
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

/** It has no ratio field: a video is 16:9, or has the ratio of its first frame. */
const hailuo: Family = {
  kind: "video",
  ids: /\/hailuo-/,
  unsupportedField(request) {
    const { first, last, references } = splitByRole(request);
    if (isLong(request, maxHailuoPrompt)) return "prompt";
    if (request.duration !== 6 && request.duration !== 10) return "duration";
    if (request.resolution !== undefined && request.resolution !== "768p" && request.resolution !== "1080p") return "metadata.resolution";
    // platform.minimax.io: 1080P videos are six seconds long.
    if (request.resolution === "1080p" && request.duration === 10) return "metadata.resolution";
    if (request.watermark) return "metadata.watermark";
    if (last !== undefined || references.length > 0) return "images";
    return request.size !== "16:9" && first === undefined ? "size" : undefined;
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

const h3Sizes = toSet("21:9", "16:9", "4:3", "1:1", "3:4", "9:16", "auto");

/** The prompt and the images are parts of `content`. A last frame is possible without a first one. */
const h3: Family = {
  kind: "video",
  ids: /\/h3/,
  unsupportedField(request) {
    const { duration = 0 } = request;
    const { first, last, references } = splitByRole(request);
    if (!h3Sizes.has(request.size ?? "")) return "size";
    if (duration < 4 || duration > 15) return "duration";
    if (request.resolution !== undefined && request.resolution !== "768p") return "metadata.resolution";
    if (request.watermark) return "metadata.watermark";
    if (request.promptOptimizer) return "metadata.prompt_optimizer";
    return references.length > 0 && (first ?? last) !== undefined ? "images" : undefined;
  },
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
const klingSizes = toSet("16:9", "9:16", "1:1", "auto");

/** v3 and v3-omni: one image, the first frame, in bare Base64. Every other field is required. */
const kling: Family = {
  kind: "video",
  ids: /\/kling-v3(?:-omni)?$/,
  unsupportedField(request) {
    const { duration = 0 } = request;
    const { last, references } = splitByRole(request);
    if (isLong(request, maxKlingPrompt)) return "prompt";
    if (!klingSizes.has(request.size ?? "")) return "size";
    if (duration < 3 || duration > 15) return "duration";
    if (request.resolution !== undefined) return "metadata.resolution";
    if (request.watermark) return "metadata.watermark";
    if (last !== undefined || references.length > 0) return "images";
    return request.promptOptimizer ? "metadata.prompt_optimizer" : undefined;
  },
  async input(job) {
    const { first } = frameImages(job);
    const input = { prompt: toPrompt(job, maxKlingPrompt), duration: job.duration, aspect_ratio: fixedRatio(job.size), sound: "on" };
    return { ...input, ...(first && { image_input: await toBase64(first) }) };
  },
};

const wanSizes = toSet("16:9", "9:16", "1:1", "4:3", "3:4");
const wanResolutions = toSet("480p", "720p", "1080p");
const maxWanPrompt = 2500;

/** 3.0 and its prime, from text only here, and at most half as long as at its maker. */
const wan: Family = {
  kind: "video",
  ids: /\/wan-3\.0(?:-prime)?$/,
  unsupportedField(request) {
    const { duration = 0, resolution = "720p", size = "" } = request;
    const { first, last, references } = splitByRole(request);
    if (isLong(request, maxWanPrompt)) return "prompt";
    if (first !== undefined || last !== undefined || references.length > 0) return "images";
    if (!wanSizes.has(size)) return "size";
    if (duration < 1 || duration > 15) return "duration";
    if (!wanResolutions.has(resolution)) return "metadata.resolution";
    if (request.watermark) return "metadata.watermark";
    return request.promptOptimizer ? "metadata.prompt_optimizer" : undefined;
  },
  input: (job) =>
    Promise.resolve({
      prompt: toPrompt(job, maxWanPrompt),
      duration: job.duration,
      resolution: (job.resolution ?? "720p").toUpperCase(),
      ratio: job.size,
    }),
};

export const videoFamilies: Family[] = [veo, seedance, hailuo, h3, kling, wan];
