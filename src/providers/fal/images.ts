/** The inputs of the image families behind the fal queue. Pure. */

import type { Plan, Unsupported } from "./plan.ts";
import type { GenerationRequest, ImageOutputs } from "../provider.ts";

const formats: ImageOutputs["formats"] = ["png", "jpeg", "webp"];

export function planImage(request: GenerationRequest, family: string): Plan | Unsupported {
  const { size = "1:1", pixels, images } = request;
  const isHd = request.quality === "hd";
  if (!pixels) return { unsupported: "size" };
  const format = request.outputFormat !== undefined && { output_format: request.outputFormat };
  const [width, height] = pixels;
  const plan = (endings: [string, string], input: Record<string, unknown>): Plan => ({
    endpoint: family + (images.length > 0 ? endings[1] : endings[0]),
    input: { prompt: request.prompt, num_images: request.n, ...input },
    images: images.length > 0 ? { image_urls: [...images.keys()] } : {},
  });

  if (family.includes("/seedream/")) return plan(["/text-to-image", "/edit"], { image_size: seedreamSize(family, size, pixels, isHd) });
  if (family.includes("/gpt-image-1")) {
    // It supports only these three sizes.
    const only = ["1:1", "3:2", "2:3"].includes(size);
    return only ? plan(["", "/edit"], { image_size: `${width}x${height}`, quality: isHd ? "high" : "medium" }) : { unsupported: "size" };
  }
  if (family.includes("/gpt-image-")) {
    // Any size whose sides are multiples of 16 (fal.ai, openai/gpt-image-2).
    const image_size = { width: width - (width % 16), height: height - (height % 16) };
    const input = { image_size, quality: isHd ? "high" : "medium", ...format };
    // It has no field for the background, which the model chooses by the prompt.
    return { ...plan(["", "/edit"], input), outputs: { formats, backgrounds: [] } };
  }
  if (/\/(?:nano-banana|gemini-)/.test(family)) {
    const hasResolution = !/\/(?:nano-banana|gemini-25[^/]*)$/.test(family);
    if (isHd && !hasResolution) return { unsupported: "quality" };
    const input = { aspect_ratio: size, ...(hasResolution && { resolution: isHd ? "2K" : "1K" }), ...format };
    return { ...plan(["", "/edit"], input), outputs: { formats, backgrounds: ["opaque"] } };
  }
  // The size field that most endpoints have. It is unknown whether this family has a better quality.
  return isHd ? { unsupported: "quality" } : plan(["", "/edit"], { image_size: { width, height } });
}

/** 4.0 accepts 960x960 to 4096x4096 pixels, 5.0 pro 1024x1024 to 2048x2048; the others at least 2560x1440, and 5.0 lite at most 3072x3072. */
function seedreamSize(family: string, size: string, pixels: readonly [number, number], isHd: boolean): { width: number; height: number } {
  const isPro = family.endsWith("/seedream/v5/pro");
  if (/\/seedream\/v4(?:$|\/)/.test(family) || (isPro && !isHd)) {
    const [width, height] = pixels;
    return isHd ? { width: width * 2, height: height * 2 } : { width, height };
  }
  const [across = 1, down = 1] = size.split(":").map(Number);
  const even = isHd ? (side: number) => 2 * Math.floor(side / 2) : (side: number) => 2 * Math.ceil(side / 2);
  const area = isPro ? 2048 * 2048 : isHd ? 3072 * 3072 : 2560 * 1440;
  return { width: even(Math.sqrt((area * across) / down)), height: even(Math.sqrt((area * down) / across)) };
}
