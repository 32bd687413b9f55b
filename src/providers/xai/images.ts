/** Grok Imagine's images: what its models support, and the body of a request (docs.x.ai, "Image Generation", "Multi-Image Editing"). Pure. */

import { toPrompt } from "../shared/prompt.ts";
import type { GenerationRequest } from "../provider.ts";

interface Version {
  /** True if it also makes images of 2K, which is the better quality here. */
  has2k: boolean;
  maxImages: number;
}

/** The first match is used; other ids get what all of them support. */
const versions: [RegExp, Version][] = [
  [/^grok-imagine-image-2/, { has2k: true, maxImages: 5 }],
  [/^grok-imagine-image-quality/, { has2k: true, maxImages: 3 }],
];
const other: Version = { has2k: false, maxImages: 3 };
const ratios = new Set(["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"]);

/** The field of an image request that the model does not support. */
export function unsupportedImage({ model, size = "1:1", quality, images }: GenerationRequest): string | undefined {
  const { has2k, maxImages } = versions.find(([pattern]) => pattern.test(model))?.[1] ?? other;
  if (!ratios.has(size)) return "size";
  if (quality === "hd" && !has2k) return "quality";
  return images.length > maxImages ? "images" : undefined;
}

/** The path of a request: images are edited, at a path of its own. */
export const imagePath = ({ images }: Pick<GenerationRequest, "images">) => (images.length > 0 ? "/images/edits" : "/images/generations");

/** The body of a request for `n` images; `urls` are those of its images. The name of the field depends on their number. */
export function imageBody(request: GenerationRequest, n: number, urls: string[]) {
  const [first, ...more] = urls.map((url) => ({ url, type: "image_url" }));
  return {
    model: request.model,
    prompt: toPrompt(request),
    n,
    aspect_ratio: request.size ?? "1:1",
    ...(request.quality === "hd" && { resolution: "2k" }),
    response_format: "url",
    ...(first && (more.length === 0 ? { image: first } : { images: [first, ...more] })),
  };
}
