/** Film models behind Cloudflare: what each family takes (cloudflare-docs `catalog-models/*.json`). */

import { toAddress, base64Of, type Family, inTurn, styled } from "./inputs.ts";
import type { GenerationRequest } from "../provider.ts";

const sizes = (...ratios: string[]) => new Set(ratios);
const isLong = ({ prompt }: GenerationRequest, most: number) => prompt.length > most;

/** The pictures of a request by the part they play; those without a role are references, but a single one is where the film starts. */
function splitByRole<T extends GenerationRequest["images"][number]>(
  images: T[],
): { first: T | undefined; last: T | undefined; references: T[] } {
  const with_ = (role: string) => images.find((image) => image.role === role);
  const [only] = images;
  if (images.length === 1 && only && only.role === undefined) return { first: only, last: undefined, references: [] };
  const references = images.filter(({ role }) => role === undefined || role === "reference");
  return { first: with_("first_frame"), last: with_("last_frame"), references };
}

const veoSizes = sizes("16:9", "9:16", "1:1");
const veoSeconds = new Set([4, 6, 8]);
const veoResolutions = sizes("720p", "1080p");

/** One picture, in bare base64. Every other field is required. */
const veo: Family = {
  kind: "video",
  ids: /\/veo-/,
  unable(request) {
    const { last, references } = splitByRole(request.images);
    if (!veoSizes.has(request.size ?? "")) return "size";
    if (!veoSeconds.has(request.duration ?? 0)) return "duration";
    if (!veoResolutions.has(request.resolution ?? "720p")) return "metadata.resolution";
    if (request.watermark) return "metadata.watermark";
    if (last || references.length > 0) return references.some(({ role }) => role === undefined) ? "images" : "image_with_roles";
    return request.promptOptimizer ? "metadata.prompt_optimizer" : undefined;
  },
  async input(job) {
    const { first } = splitByRole(job.images);
    return {
      prompt: styled(job),
      duration: `${job.duration}s`,
      aspect_ratio: job.size,
      resolution: job.resolution ?? "720p",
      generate_audio: true,
      ...(first && { image_input: await base64Of(first) }),
    };
  },
};

const seedanceSizes = sizes("16:9", "4:3", "1:1", "3:4", "9:16", "21:9");
const seedanceMostPrompt = 2000;

/** fast, mini and 2.5 end at 720p. */
const seedanceResolutions = (model: string) =>
  /-(?:fast|mini)|-2\.5/.test(model) ? sizes("480p", "720p") : sizes("480p", "720p", "1080p");

const seedance: Family = {
  kind: "video",
  ids: /\/seedance-/,
  unable(request) {
    const { images, duration = 0, resolution = "720p" } = request;
    const { first, last, references } = splitByRole(images);
    const pictures = images.some(({ role }) => role) ? "image_with_roles" : "images";
    if (isLong(request, seedanceMostPrompt)) return "prompt";
    if (!seedanceSizes.has(request.size ?? "")) return "size";
    if (duration < 4 || duration > (request.model.includes("-2.5") ? 30 : 12)) return "duration";
    if (!seedanceResolutions(request.model).has(resolution)) return "metadata.resolution";
    if (request.promptOptimizer) return "metadata.prompt_optimizer";
    // "Only works if an image start frame is also given."
    if (last && !first) return pictures;
    if (references.length > 4) return pictures;
    // "Cannot be used with 1080p resolution or first/last frame images."
    if (references.length > 0 && first) return pictures;
    if (references.length > 0 && resolution === "1080p") return "metadata.resolution";
    // "Ignored if an image is used": the film has the shape of its first frame. 16:9 is also what nobody asked for.
    return first && request.size !== "16:9" ? "size" : undefined;
  },
  async input(job) {
    const { first, last, references } = splitByRole(job.images);
    return {
      prompt: styled(job, seedanceMostPrompt),
      duration: job.duration,
      resolution: job.resolution ?? "720p",
      aspect_ratio: job.size,
      fps: 24,
      camera_fixed: false,
      watermark: job.watermark ?? false,
      ...(first && { image: await toAddress(first) }),
      ...(last && { last_frame_image: await toAddress(last) }),
      ...(references.length > 0 && { reference_images: await inTurn(references, toAddress) }),
    };
  },
};

const hailuoMostPrompt = 2000;

/** No field for the shape: without a picture it is 16:9, with one it is the picture's. */
const hailuo: Family = {
  kind: "video",
  ids: /\/hailuo-/,
  unable(request) {
    const { first, last, references } = splitByRole(request.images);
    if (isLong(request, hailuoMostPrompt)) return "prompt";
    if (request.duration !== 6 && request.duration !== 10) return "duration";
    if (request.resolution !== undefined && request.resolution !== "768p" && request.resolution !== "1080p") return "metadata.resolution";
    // platform.minimax.io: 1080P films have six seconds.
    if (request.resolution === "1080p" && request.duration === 10) return "metadata.resolution";
    if (request.watermark) return "metadata.watermark";
    if (last) return "metadata.last_frame_image";
    if (references.length > 0) return "images";
    return request.size !== "16:9" && !(first && request.size === "9:16") ? "size" : undefined;
  },
  async input(job) {
    const { first } = splitByRole(job.images);
    return {
      prompt: styled(job, hailuoMostPrompt),
      duration: job.duration,
      resolution: (job.resolution ?? "768p").toUpperCase(),
      prompt_optimizer: job.promptOptimizer ?? true,
      fast_pretreatment: false,
      ...(first && { first_frame_image: await toAddress(first) }),
    };
  },
};

const h3Sizes = sizes("21:9", "16:9", "4:3", "1:1", "3:4", "9:16");

/** The prompt and the pictures are parts of `content`. */
const h3: Family = {
  kind: "video",
  ids: /\/h3/,
  unable(request) {
    const { duration = 0 } = request;
    const { first, last, references } = splitByRole(request.images);
    if (!h3Sizes.has(request.size ?? "")) return "size";
    if (duration < 4 || duration > 15) return "duration";
    if (request.resolution !== undefined && request.resolution !== "768p") return "metadata.resolution";
    if (request.watermark) return "metadata.watermark";
    if (request.promptOptimizer) return "metadata.prompt_optimizer";
    return references.length > 0 && (first ?? last) ? "image_with_roles" : undefined;
  },
  async input(job) {
    const { first, last, references } = splitByRole(job.images);
    const picture = async (image: (typeof job.images)[number], role: string) => ({
      type: "image_url",
      image_url: { url: await toAddress(image) },
      role,
    });
    const content: unknown[] = [{ type: "text", text: styled(job) }];
    if (first) content.push(await picture(first, "first_frame"));
    if (last) content.push(await picture(last, "last_frame"));
    for (const image of references) content.push(await picture(image, "reference_image"));
    return { content, duration: job.duration, resolution: "768P", ratio: job.size };
  },
};

export const filmFamilies: Family[] = [veo, seedance, hailuo, h3];
