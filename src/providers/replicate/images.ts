/** The image models on Replicate: one input schema for each family. */

import type { Family } from "./family.ts";

const aspectRatios = new Set(["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "21:9"]);

/** replicate.com/bytedance/seedream-4.5/versions/…/api; the name of the fifth version's larger size is unknown. */
export const seedream: Family = {
  of: /^bytedance\/seedream-[4-9]/,
  kind: "image",
  unsupportedField: ({ model, quality, size }) =>
    quality === "hd" && !/seedream-4/.test(model) ? "quality" : aspectRatios.has(size ?? "1:1") ? undefined : "size",
  input: ({ size, quality }, images) => ({
    size: quality === "hd" ? "4K" : "2K",
    aspect_ratio: size,
    ...(images.length > 0 && { image_input: images }),
  }),
};

/** replicate.com/google/nano-banana{,-2,-pro}/versions/…/api: the first has no choice of resolution, the others default to different ones. */
const hasResolution = (model: string) => /nano-banana-(?:pro|[2-9])/.test(model);
export const nanoBanana: Family = {
  of: /^google\/nano-banana/,
  kind: "image",
  outputs: { formats: ["png", "jpeg"], backgrounds: ["opaque"] },
  unsupportedField: ({ model, quality, size }) =>
    quality === "hd" && !hasResolution(model) ? "quality" : aspectRatios.has(size ?? "1:1") ? undefined : "size",
  input: ({ model, size, quality, outputFormat }, images) => ({
    aspect_ratio: size,
    output_format: outputFormat === "jpeg" ? "jpg" : outputFormat,
    ...(hasResolution(model) && { resolution: quality === "hd" ? "2K" : "1K" }),
    ...(images.length > 0 && { image_input: images }),
  }),
};

/** replicate.com/openai/gpt-image-2: one prediction makes up to ten images. */
export const gptImage: Family = {
  of: /^openai\/gpt-image/,
  kind: "image",
  makesSeveral: true,
  // It has no field for the background, which the model chooses by the prompt.
  outputs: { formats: ["png", "jpeg", "webp"], backgrounds: [] },
  unsupportedField: ({ size }) => (["1:1", "3:2", "2:3", "4:3", "3:4", "16:9", "9:16"].includes(size ?? "1:1") ? undefined : "size"),
  input: ({ size, quality, n, outputFormat }, images) => ({
    aspect_ratio: size,
    output_format: outputFormat,
    quality: quality === "hd" ? "high" : "medium",
    ...(n > 1 && { number_of_images: n }),
    ...(images.length > 0 && { input_images: images }),
  }),
};
