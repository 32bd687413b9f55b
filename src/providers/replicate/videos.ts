/** The models on Replicate that make films: one input schema for each family. */

import type { GenerationRequest } from "../provider.ts";
import type { Family } from "./family.ts";

/** Which of the pictures plays which part. Without pictures only their numbers count. */
function splitByRole({ images, characters }: GenerationRequest, pictures: string[] = []) {
  const at = (index: number) => pictures[index] ?? "";
  const withRole = (role?: string) => images.flatMap((image, index) => (image.role === role ? [at(index)] : []));
  const references = [...withRole("reference"), ...characters.map((_, index) => at(images.length + index))];
  return { firsts: withRole("first_frame"), lasts: withRole("last_frame"), references, plain: withRole() };
}

const seedanceVersion = (model: string) => Number(/seedance-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? "1.5");

/** Whether the model takes pictures of what is to be seen, beside those that a film starts and ends with. */
export const hasReferences = (model: string) => seedance.of.test(model) && (seedanceVersion(model) >= 2 || model.includes("lite"));

/** A single picture without a role is what the film starts with; several, or one beside references, are references too. */
function toGuides({ plain, references }: ReturnType<typeof splitByRole>) {
  return plain.length > 1 || references.length > 0 ? [...plain, ...references] : [];
}

/** replicate.com/bytedance/seedance-{1-lite,1-pro,2.0,2.0-fast}/versions/…/api; resolutions of 2.x: developer.civitai.com, seedance. */
export const seedance: Family = {
  of: /^bytedance\/seedance-/,
  kind: "video",
  unable(request) {
    const { model, duration = 5, resolution } = request;
    const parts = splitByRole(request);
    const { firsts, lasts, references, plain } = parts;
    const version = seedanceVersion(model);
    const [least, most] = version >= 2 ? [4, 15] : version > 1 ? [4, 12] : [2, 12];
    if (duration < least || duration > most) return "duration";
    if (!["480p", "720p", "1080p"].includes(resolution ?? "720p")) return "metadata.resolution";
    if (resolution === "1080p" && version >= 2 && /fast|-2\.5/.test(model)) return "metadata.resolution";
    const isGuided = toGuides(parts).length > 0;
    if (plain.length > 1 && !hasReferences(model)) return "images";
    // Said of 1-lite; what 2.x does with both is not known.
    if (isGuided && resolution === "1080p") return "metadata.resolution";
    const isOdd = firsts.length > 1 || lasts.length > 1 || (lasts.length > 0 && firsts.length === 0) || (isGuided && firsts.length > 0);
    if (isOdd || (references.length > 0 && !hasReferences(model)) || (lasts.length > 0 && model.includes("pro-fast")))
      return "image_with_roles";
    // Of 1.x: "Ignored if an image is used", the film has the shape of its first frame. 16:9 is also what nobody asked for.
    const isStarted = firsts.length > 0 || (plain.length > 0 && !isGuided);
    return isStarted && version < 2 && (request.size ?? "16:9") !== "16:9" ? "size" : undefined;
  },
  input(request, pictures) {
    const parts = splitByRole(request, pictures);
    const guides = toGuides(parts);
    const [first = guides.length > 0 ? undefined : parts.plain[0]] = parts.firsts;
    return {
      duration: request.duration,
      aspect_ratio: request.size,
      resolution: request.resolution,
      image: first,
      last_frame_image: parts.lasts[0],
      ...(guides.length > 0 && { reference_images: guides }),
    };
  },
};

/** replicate.com/minimax/hailuo-{02,02-fast,2.3}/versions/…/api: films are landscape, or as the first frame is. 512p starts from a picture. */
export const hailuo: Family = {
  of: /^minimax\/hailuo-/,
  kind: "video",
  unable(request) {
    const { model, duration, resolution, size = "16:9", watermark } = request;
    const { firsts, lasts, references, plain } = splitByRole(request);
    const isFast = model.includes("fast");
    const is02 = model.includes("hailuo-02");
    const isStarted = firsts.length + plain.length === 1;
    if (plain.length > 1) return "images";
    if (references.length > 0 || firsts.length > 1 || lasts.length > 1) return "image_with_roles";
    const resolutions = is02 ? (isFast ? ["512p"] : ["512p", "768p", "1080p"]) : ["768p", "1080p"];
    if (resolution !== undefined && !resolutions.includes(resolution)) return "metadata.resolution";
    if (resolution === "512p" && !isFast && !isStarted) return "metadata.resolution";
    if (duration !== 6 && !(duration === 10 && (isFast && is02 ? true : resolution === "768p"))) return "duration";
    if (isFast && !isStarted) return "metadata.first_frame_image";
    if (lasts.length > 0 && (!isStarted || !is02 || isFast || resolution === "512p")) return "metadata.last_frame_image";
    if (size !== "16:9" && !isStarted) return "size";
    return watermark ? "metadata.watermark" : undefined;
  },
  input(request, pictures) {
    const { firsts, lasts, plain } = splitByRole(request, pictures);
    return {
      duration: request.duration,
      // 02-fast knows one resolution only, and no field for it.
      ...(!request.model.includes("hailuo-02-fast") && { resolution: request.resolution }),
      prompt_optimizer: request.promptOptimizer,
      first_frame_image: firsts[0] ?? plain[0],
      last_frame_image: lasts[0],
    };
  },
};

/** replicate.com/google/veo-3.1{,-fast}/versions/…/api: two pictures are both ends of the film, three guide it, at 16:9 and 8 s only. */
export const veo: Family = {
  of: /^google\/veo-3/,
  kind: "video",
  unable(request) {
    const { firsts, lasts, references, plain } = splitByRole(request);
    if (![4, 6, 8].includes(request.duration ?? 8)) return "duration";
    if (!["16:9", "9:16"].includes(request.size ?? "16:9")) return "size";
    if (!["720p", "1080p"].includes(request.resolution ?? "720p")) return "metadata.resolution";
    if (plain.length > 3 || (plain.length === 3 && /fast|lite/.test(request.model))) return "images";
    if (plain.length === 3 && request.size !== "16:9") return "size";
    if (references.length > 0 || firsts.length > 1 || lasts.length > firsts.length) return "image_with_roles";
    return undefined;
  },
  input(request, pictures) {
    const { firsts, lasts, plain } = splitByRole(request, pictures);
    const guides = plain.length === 3 ? plain : [];
    return {
      duration: request.duration,
      aspect_ratio: request.size,
      resolution: request.resolution,
      image: firsts[0] ?? (guides.length > 0 ? undefined : plain[0]),
      last_frame: lasts[0] ?? (guides.length > 0 ? undefined : plain[1]),
      ...(guides.length > 0 && { reference_images: guides }),
    };
  },
};
