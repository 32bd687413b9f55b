/** Image models behind Cloudflare: the input of each family (cloudflare-docs `catalog-models/*.json`, workers-types 5.20261117.1). */

import { toUrl, toDataUri, type Family, inTurn } from "./inputs.ts";
import { toPrompt } from "../shared/prompt.ts";
import type { GenerationRequest, Job } from "../provider.ts";

const isHd = ({ quality }: GenerationRequest) => quality === "hd";

/** Seedream has a ratio and a resolution step; the steps differ by version. */
const seedreamSteps = (model: string): { standard: string; hd?: string } =>
  model.includes("-4.0")
    ? { standard: "1K", hd: "2K" }
    : model.includes("-4.5")
      ? { standard: "2K", hd: "4K" }
      : model.includes("-5-lite")
        ? { standard: "2K", hd: "3K" }
        : { standard: "2K" };

const seedream: Family = {
  kind: "image",
  ids: /\/seedream-(?!5-pro)/,
  unsupportedField: (request) => {
    if (isHd(request) && seedreamSteps(request.model).hd === undefined) return "quality";
    // 4.0 has no field for input images here.
    return request.model.includes("-4.0") && request.images.length > 0 ? "images" : undefined;
  },
  async input(job) {
    const { standard, hd } = seedreamSteps(job.model);
    return {
      prompt: job.prompt,
      aspect_ratio: job.size,
      size: isHd(job) ? hd : standard,
      ...(job.images.length > 0 && { image_input: await inTurn(job.images, toUrl) }),
    };
  },
};

/** It has no ratio field: `1K`, `2K`, or pixels. */
const seedreamPro: Family = {
  kind: "image",
  ids: /\/seedream-5-pro/,
  // Its maximum size in pixels is not documented.
  unsupportedField: (request) => (isHd(request) && request.size !== "1:1" ? "quality" : undefined),
  async input(job) {
    return {
      prompt: job.prompt,
      size: isHd(job) ? "2K" : job.size === "1:1" ? "1K" : choosePixels(job).join("x"),
      ...(job.images.length > 0 && { image: await inTurn(job.images, toUrl) }),
    };
  },
};

const gptSizes: Record<string, string> = { "1:1": "1024x1024", "3:2": "1536x1024", "2:3": "1024x1536" };

/** Images are sent in Base64 only. */
const gptImage: Family = {
  kind: "image",
  ids: /\/gpt-image-/,
  outputs: { formats: ["png", "jpeg", "webp"], backgrounds: ["opaque", "transparent"] },
  unsupportedField: ({ size = "1:1" }) => (gptSizes[size] === undefined ? "size" : undefined),
  async input(job) {
    return {
      prompt: job.prompt,
      size: gptSizes[job.size ?? "1:1"],
      quality: isHd(job) ? "high" : "medium",
      ...(job.outputFormat !== undefined && { output_format: job.outputFormat }),
      ...(job.background !== undefined && { background: job.background }),
      ...(job.images.length > 0 && { images: await inTurn(job.images, toDataUri) }),
    };
  },
};

/** It accepts images as strings of undocumented format: a data URI needs no download. */
const nanoBanana: Family = {
  kind: "image",
  ids: /\/nano-banana/,
  outputs: { formats: ["png", "jpeg", "webp"], backgrounds: ["opaque"] },
  unsupportedField: ({ images }) => (images.length > 3 ? "images" : undefined),
  async input(job) {
    return {
      prompt: job.prompt,
      aspect_ratio: job.size,
      image_size: isHd(job) ? "2K" : "1K",
      output_format: job.outputFormat === "jpeg" ? "jpg" : (job.outputFormat ?? "png"),
      ...(job.images.length > 0 && { image_input: await inTurn(job.images, toDataUri) }),
    };
  },
};

/** Hosted by Workers AI; the size is given in pixels. */
const lucid: Family = {
  kind: "image",
  ids: /^@cf\/leonardo\/lucid/,
  unsupportedField: promptOnly,
  input: ({ prompt, ...job }) => {
    const [width, height] = choosePixels(job);
    return Promise.resolve({ prompt, width, height });
  },
};

/** Hosted by Workers AI: only the prompt is common to all. flux-2 needs multipart bodies, which are not supported here. */
const hosted: Family = {
  kind: "image",
  ids: /^@cf\/(?!leonardo\/lucid|.*\/flux-2)/,
  unsupportedField: (request) => (request.size !== "1:1" ? "size" : promptOnly(request)),
  input: ({ prompt }) => Promise.resolve({ prompt }),
};

function promptOnly(request: GenerationRequest): string | undefined {
  if (request.images.length > 0) return "images";
  return isHd(request) ? "quality" : undefined;
}

/** About a million pixels, in multiples that all models accept. */
function choosePixels({ size = "1:1" }: Pick<Job, "size">): [number, number] {
  const [width = 1, height = 1] = size.split(":").map(Number);
  const step = (side: number) => Math.round((1024 * side) / Math.min(width, height) / 16) * 16;
  // 16:9 is 1792 pixels wide, the gateway's documented size.
  return width === 16 ? [1792, 1024] : height === 16 ? [1024, 1792] : [step(width), step(height)];
}

export const imageFamilies: Family[] = [seedream, seedreamPro, gptImage, nanoBanana, lucid, hosted].map((family) => ({
  ...family,
  input: async (job) => family.input({ ...job, prompt: toPrompt(job) }),
}));
