/** The capabilities of MiniMax's models, and requests in the format of its two APIs: v1 for Hailuo, v2 for H3 and later. */

import { type Frames, splitByRole } from "../shared/frames.ts";
import { countCharacters, toPrompt } from "../shared/prompt.ts";
import type { GenerationRequest } from "../provider.ts";

/** `MiniMax-H3`, `MiniMax-H3-Max`; all other models (`MiniMax-Hailuo-02`, `MiniMax-Hailuo-2.3`) use v1. */
export const isV2 = (model: string) => /^MiniMax-H\d/i.test(model);

/** `MiniMax-H3-Max` and `-Max-Turbo`, which have fewer inputs and lower resolutions than H3, and no watermark. */
export const isMax = (model: string) => /-max(?:-turbo)?$/i.test(model);

const maxPromptV1 = 2000;
const ratios = new Set(["21:9", "16:9", "4:3", "1:1", "3:4", "9:16"]);
const maxReferences = 9;
/** H3's own default is 2K, its most expensive. */
const plainResolution = "768p";

/** The request field that the model does not support. */
export function unsupportedField(request: GenerationRequest): string | undefined {
  if (request.kind !== "video") return "model";
  const frames = splitByRole(request);
  return isV2(request.model) ? unsupportedByV2(request, frames) : unsupportedByV1(request, frames);
}

function unsupportedByV1({ model, duration, resolution, prompt, size }: GenerationRequest, { first, last, references }: Frames) {
  const is23 = /hailuo-2\.3/i.test(model);
  if (countCharacters(prompt) > maxPromptV1) return "prompt";
  if (references.length > 0) return "images";
  // cloudflare-docs, catalog-models/minimax-hailuo-2.3: only a first frame, 768P and 1080P.
  if (last !== undefined && (first === undefined || is23)) return "images";
  // novita.ai/docs, minimax-hailuo-2.3-fast-i2v: its image is required.
  if (first === undefined && /-fast$/i.test(model)) return "images";
  // It has no ratio field: a video has the ratio of its first frame, and is landscape without one.
  if (first === undefined && size !== undefined && size !== "16:9") return "size";
  if (duration !== 6 && duration !== 10) return "duration";
  const isPossible =
    resolution === undefined ||
    resolution === "768p" ||
    (resolution === "512p" && first !== undefined && last === undefined && !is23) ||
    (resolution === "1080p" && duration === 6);
  return isPossible ? undefined : "metadata.resolution";
}

function unsupportedByV2(request: GenerationRequest, { first, last, references }: Frames): string | undefined {
  const { duration, resolution, model, size, watermark } = request;
  const hasFrames = first !== undefined || last !== undefined;
  // A video has either frames or references; Max supports no references (@ai-sdk/minimax 3.0.45).
  if (references.length > 0 && (hasFrames || isMax(model) || references.length > maxReferences)) return "images";
  if (first === undefined && size !== undefined && !ratios.has(size)) return "size";
  if (duration === undefined || !Number.isInteger(duration) || duration < (isMax(model) ? 5 : 4) || duration > 15) return "duration";
  // H3 has 768P and 2K, Max 480P and 768P (@ai-sdk/minimax 3.0.45).
  const isPossible = resolution === undefined || resolution === "768p" || (resolution === "480p" && !/^minimax-h3$/i.test(model));
  if (!isPossible) return "metadata.resolution";
  if (watermark && isMax(model)) return "metadata.watermark";
  // It has no prompt optimizer, so only `false` is supported.
  return request.promptOptimizer ? "metadata.prompt_optimizer" : undefined;
}

const wireRoles = { first_frame: "first_frame", last_frame: "last_frame", reference: "reference_image" };

/** The body of `POST /v1/video_generation` or `POST /v2/video_generation`; `urls` are those of the request's images and then its characters'. */
export function toBody(request: GenerationRequest, urls: string[]): Record<string, unknown> {
  const { model, duration, resolution, watermark, label, promptOptimizer, size, images } = request;
  const withRoles = urls.map((url, at) => ({ role: images[at]?.role ?? "reference", url }));
  // It is off by default.
  const isLabelled = isMax(model) ? undefined : (watermark ?? (label === "on" || undefined));
  const common = { model, duration, ...(isLabelled !== undefined && { aigc_watermark: isLabelled }) };
  if (!isV2(model))
    return {
      ...common,
      prompt: toPrompt(request, maxPromptV1),
      ...(resolution !== undefined && { resolution: resolution.toUpperCase() }),
      ...(promptOptimizer !== undefined && { prompt_optimizer: promptOptimizer }),
      ...Object.fromEntries(withRoles.map(({ role, url }) => [`${role}_image`, url])),
    };
  const parts = withRoles.map(({ role, url }) => ({ type: "image_url", image_url: { url }, role: wireRoles[role] }));
  return {
    ...common,
    content: [{ type: "text", text: toPrompt(request) }, ...parts],
    resolution: (resolution ?? plainResolution).toUpperCase(),
    // With a first frame the video has that image's ratio.
    ...(size !== undefined && !images.some(({ role }) => role === "first_frame") && { ratio: size }),
  };
}
