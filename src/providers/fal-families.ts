/** What the model families behind the fal queue take: from a wish to an endpoint and its input, or the field that it cannot honour. Pure. */

import { promptWithNames } from "./prompt.ts";
import type { Wish } from "./provider.ts";

/** One call. `pictures` says which pictures go into which field: by their index among the wish's images and, after those, its characters. */
export interface Plan {
  endpoint: string;
  input: Record<string, unknown>;
  pictures: Record<string, number | number[]>;
}
export interface Unable {
  unable: string;
}

/**
 * A route names a family: an endpoint's id without its last part, which says what the thing is made from and is chosen here
 * (`fal-ai/bytedance/seedream/v4`, `fal-ai/veo3.1/fast`). A whole endpoint id means its family. The tiers of Hailuo are
 * resolutions: `fal-ai/minimax/hailuo-02` has them all, with `/standard` or `/pro` the route offers only that one.
 * Inputs are those of @fal-ai/client 1.10.1, `endpoints.d.ts`, where no other source is named.
 */
export function planOf(wish: Wish): Plan | Unable {
  const family = wish.model.replace(/\/+$/, "").replace(lastPart, "");
  if (wish.kind === "image") return filmFamilies.test(family) ? { unable: "model" } : imagePlan(wish, family);
  if (wish.kind !== "video" || imageFamilies.test(family)) return { unable: "model" };
  if (wish.watermark) return { unable: "metadata.watermark" };
  if (/\/hailuo-/.test(family)) return hailuoPlan(wish, family);
  if (wish.promptOptimizer) return { unable: "metadata.prompt_optimizer" };
  if (/\/veo/.test(family)) return veoPlan(wish, family);
  return /\/seedance[-/]/.test(family) ? seedancePlan(wish, family) : otherFilmPlan(wish, family);
}

const lastPart = /\/(?:text-to-image|edit(?:-image)?|(?:text|image|reference|first-last-frame)-to-video)$/;
const imageFamilies = /\/(?:seedream|gpt-image|nano-banana|gemini-[^/]*image)/;
const filmFamilies = /\/(?:seedance|veo|hailuo|sora)/;

/** Width and height by aspect ratio at the interface's reference size. */
const pixels: Record<string, readonly [number, number]> = {
  "1:1": [1024, 1024],
  "16:9": [1792, 1024],
  "9:16": [1024, 1792],
  "4:3": [1365, 1024],
  "3:4": [1024, 1365],
  "3:2": [1536, 1024],
  "2:3": [1024, 1536],
};

function imagePlan(wish: Wish, family: string): Plan | Unable {
  const { size = "1:1", images } = wish;
  const isHd = wish.quality === "hd";
  const known = pixels[size];
  if (!known) return { unable: "size" };
  const [width, height] = known;
  const plan = (endings: [string, string], input: Record<string, unknown>): Plan => ({
    endpoint: family + (images.length > 0 ? endings[1] : endings[0]),
    input: { prompt: wish.prompt, num_images: wish.n, ...input },
    pictures: images.length > 0 ? { image_urls: [...images.keys()] } : {},
  });

  if (family.includes("/seedream/")) return plan(["/text-to-image", "/edit"], { image_size: seedreamSize(family, size, isHd) });
  if (family.includes("/gpt-image-1")) {
    // Three sizes and no others.
    const only = ["1:1", "3:2", "2:3"].includes(size);
    return only ? plan(["", "/edit"], { image_size: `${width}x${height}`, quality: isHd ? "high" : "medium" }) : { unable: "size" };
  }
  if (family.includes("/gpt-image-")) {
    // Any size whose sides are multiples of 16 (fal.ai, openai/gpt-image-2).
    const image_size = { width: width - (width % 16), height: height - (height % 16) };
    return plan(["", "/edit"], { image_size, quality: isHd ? "high" : "medium" });
  }
  if (/\/(?:nano-banana|gemini-)/.test(family)) {
    const hasResolution = !/\/(?:nano-banana|gemini-25[^/]*)$/.test(family);
    if (isHd && !hasResolution) return { unable: "quality" };
    return plan(["", "/edit"], { aspect_ratio: size, ...(hasResolution && { resolution: isHd ? "2K" : "1K" }) });
  }
  // What most endpoints call it. Whether an unknown one has a better quality nobody can say.
  return isHd ? { unable: "quality" } : plan(["", "/edit"], { image_size: { width, height } });
}

/** 4.0 takes 960x960 to 4096x4096 pixels; later ones at least 2560x1440, and 5.0 at most 3072x3072. */
function seedreamSize(family: string, size: string, isHd: boolean): { width: number; height: number } {
  if (/\/seedream\/v4(?:$|\/)/.test(family)) {
    const [width, height] = pixels[size]!;
    return isHd ? { width: width * 2, height: height * 2 } : { width, height };
  }
  const [across = 1, down = 1] = size.split(":").map(Number);
  const even = isHd ? (side: number) => 2 * Math.floor(side / 2) : (side: number) => 2 * Math.ceil(side / 2);
  const area = isHd ? 3072 * 3072 : 2560 * 1440;
  return { width: even(Math.sqrt((area * across) / down)), height: even(Math.sqrt((area * down) / across)) };
}

/**
 * The wish's pictures by the part they play. Without roles one is the first frame, two are first and last, more are references;
 * all are when there are characters, which can be nothing else.
 */
function partsOf({ images, characters }: Wish): { first?: number; last?: number; references: number[] } {
  const all = [...images.keys()];
  const having = (role: string) => all.filter((at) => images[at]!.role === role);
  const plain = all.filter((at) => images[at]!.role === undefined);
  const areFrames = plain.length < 3 && characters.length === 0;
  const [first = areFrames ? plain[0] : undefined] = having("first_frame");
  const [last = areFrames ? plain[1] : undefined] = having("last_frame");
  const named = characters.map((_, at) => images.length + at);
  return {
    ...(first !== undefined && { first }),
    ...(last !== undefined && { last }),
    references: [...having("reference"), ...(areFrames ? [] : plain), ...named],
  };
}

/** The caller's field that pictures came in; characters are named in the prompt. */
const picturesField = ({ images, characters }: Wish) =>
  images.some(({ role }) => role) ? "image_with_roles" : images.length === 0 && characters.length > 0 ? "prompt" : "images";

/** A style is advice: no endpoint has a field for it. */
const promptOf = (wish: Wish) => promptWithNames(wish) + (wish.style ? `\n\nStyle: ${wish.style}.` : "");

function veoPlan(wish: Wish, family: string): Plan | Unable {
  const { size = "16:9", duration = 8, resolution } = wish;
  const { first, last, references } = partsOf(wish);
  if (![4, 6, 8].includes(duration)) return { unable: "duration" };
  if (!["16:9", "9:16"].includes(size)) return { unable: "size" };
  if (resolution !== undefined && !["720p", "1080p"].includes(resolution)) return { unable: "metadata.resolution" };
  const input = { prompt: promptOf(wish), aspect_ratio: size, duration: `${duration}s`, ...(resolution && { resolution }) };
  const hasFrames = first !== undefined || last !== undefined;
  if (references.length > 0) {
    // Only the full model takes references, always for eight seconds as Google has it.
    if (hasFrames || references.length > 3 || duration !== 8 || /\/(?:fast|lite)$/.test(family)) return { unable: picturesField(wish) };
    return { endpoint: `${family}/reference-to-video`, input, pictures: { image_urls: references } };
  }
  if (!hasFrames) return { endpoint: family, input, pictures: {} };
  if (first === undefined) return { unable: picturesField(wish) };
  return last === undefined
    ? { endpoint: `${family}/image-to-video`, input, pictures: { image_url: first } }
    : { endpoint: `${family}/first-last-frame-to-video`, input, pictures: { first_frame_url: first, last_frame_url: last } };
}

function seedancePlan(wish: Wish, family: string): Plan | Unable {
  const { size = "16:9", duration = 5, resolution } = wish;
  const { first, last, references } = partsOf(wish);
  const isFirst = /\/seedance\/v1(?:$|\/)/.test(family);
  const isSecond = /\/seedance-/.test(family);
  const isFast = /\/(?:fast|mini|flash)$/.test(family);
  // fal.ai, bytedance/seedance-2.0: 4 to 15 seconds; its fast tier ends at 720p.
  if (duration < (isFirst ? 2 : 4) || duration > (isSecond ? 15 : 12)) return { unable: "duration" };
  if (!["21:9", "16:9", "4:3", "1:1", "3:4", "9:16"].includes(size)) return { unable: "size" };
  const highest = !(isSecond && isFast) && !(family.endsWith("/lite") && references.length > 0);
  if (resolution !== undefined && !["480p", "720p", ...(highest ? ["1080p"] : [])].includes(resolution))
    return { unable: "metadata.resolution" };
  const input = { prompt: promptOf(wish), aspect_ratio: size, duration: String(duration), ...(resolution && { resolution }) };
  const hasFrames = first !== undefined || last !== undefined;
  if (references.length > 0) {
    const field = isSecond ? "image_urls" : family.endsWith("/lite") ? "reference_image_urls" : undefined;
    if (!field || hasFrames) return { unable: picturesField(wish) };
    return { endpoint: `${family}/reference-to-video`, input, pictures: { [field]: references } };
  }
  if (!hasFrames) return { endpoint: `${family}/text-to-video`, input, pictures: {} };
  // The fast tier of 1.0 has no last frame.
  if (first === undefined || (last !== undefined && isFirst && isFast)) return { unable: picturesField(wish) };
  return {
    endpoint: `${family}/image-to-video`,
    input,
    pictures: { image_url: first, ...(last !== undefined && { end_image_url: last }) },
  };
}

/** `standard` makes 768p, and 512p from a first frame; `pro` makes 1080p and always six seconds. Films from text are landscape. */
function hailuoPlan(wish: Wish, family: string): Plan | Unable {
  const { size = "16:9", duration = 6, resolution = "768p", promptOptimizer } = wish;
  const { first, last, references } = partsOf(wish);
  const model = family.replace(/\/(?:standard|pro)$/, "");
  const isSmall = model.endsWith("-02-fast");
  const tier = resolution === "1080p" ? "/pro" : "/standard";
  const isOffered = isSmall ? resolution === "512p" : family === model || family === model + tier;
  const isMade =
    isSmall || resolution === "768p" || resolution === "1080p" || (resolution === "512p" && model.endsWith("-02") && first !== undefined);
  if (!isOffered || !isMade) return { unable: "metadata.resolution" };
  if (duration !== 6 && (duration !== 10 || tier === "/pro")) return { unable: "duration" };
  if (references.length > 0) return { unable: picturesField(wish) };
  if (first === undefined && (last !== undefined || model.endsWith("-fast"))) return { unable: "metadata.first_frame_image" };
  if (last !== undefined && !model.endsWith("-02")) return { unable: "metadata.last_frame_image" };
  if (!["16:9", ...(first === undefined ? [] : ["9:16"])].includes(size)) return { unable: "size" };
  const isFromFrame = first !== undefined;
  const input = {
    prompt: promptOf(wish),
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
function otherFilmPlan(wish: Wish, family: string): Plan | Unable {
  const { size, duration, resolution } = wish;
  const { first, last, references } = partsOf(wish);
  if (last !== undefined || references.length > 0) return { unable: picturesField(wish) };
  const input = {
    prompt: promptOf(wish),
    ...(size !== undefined && { aspect_ratio: size }),
    ...(duration !== undefined && { duration: String(duration) }),
    ...(resolution !== undefined && { resolution }),
  };
  return first === undefined
    ? { endpoint: `${family}/text-to-video`, input, pictures: {} }
    : { endpoint: `${family}/image-to-video`, input, pictures: { image_url: first } };
}
