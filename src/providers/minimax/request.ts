/** The capabilities of MiniMax's models, and requests in the format of its two APIs: v1 for Hailuo, v2 for H3 and later. */

import { splitByRole } from "../shared/frames.ts";
import { toContent, toPrompt } from "../shared/prompt.ts";
import { beyondLimits, secondsFrom, type VideoLimits } from "../shared/video-limits.ts";
import type { GenerationRequest } from "../provider.ts";

/** `MiniMax-H3`, `MiniMax-H3-Max`; all other models (`MiniMax-Hailuo-02`, `MiniMax-Hailuo-2.3`) use v1. */
export const isV2 = (model: string) => /^MiniMax-H\d/i.test(model);

/** `MiniMax-H3-Max` and `-Max-Turbo`, which have fewer inputs and lower resolutions than H3, and no watermark. */
export const isMax = (model: string) => /-max(?:-turbo)?$/i.test(model);

const maxPromptV1 = 2000;
/** H3's own default is 2K, its most expensive. */
const plainResolution = "768p";

/** The request field that the model does not support. */
export function unsupportedField(request: GenerationRequest): string | undefined {
  if (request.kind !== "video") return "model";
  return isV2(request.model) ? beyondLimits(request, limitsV2(request.model)) : unsupportedByV1(request);
}

function unsupportedByV1(request: GenerationRequest): string | undefined {
  const { model, duration, resolution } = request;
  const { first, last } = splitByRole(request);
  const is23 = /hailuo-2\.3/i.test(model);
  const beyond = beyondLimits(request, {
    maxPrompt: maxPromptV1,
    // It has no ratio field: a video has the ratio of its first frame, and is landscape without one.
    ratios: ["16:9"],
    ratioBesideFrame: "ignored",
    seconds: [6, 10],
    // cloudflare-docs, catalog-models/minimax-hailuo-2.3: only a first frame, 768P and 1080P.
    resolutions: is23 || first === undefined || last !== undefined ? ["768p", "1080p"] : ["512p", "768p", "1080p"],
    frames: is23 ? ["first"] : ["first", "pair"],
    watermark: true,
    promptOptimizer: true,
  });
  if (beyond !== undefined) return beyond;
  // novita.ai/docs, minimax-hailuo-2.3-fast-i2v: its image is required.
  if (first === undefined && /-fast$/i.test(model)) return "images";
  return resolution === "1080p" && duration !== 6 ? "metadata.resolution" : undefined;
}

const limitsV2 = (model: string): VideoLimits => ({
  ratios: ["21:9", "16:9", "4:3", "1:1", "3:4", "9:16"],
  ratioBesideFrame: "ignored",
  seconds: secondsFrom(isMax(model) ? 5 : 4, 15),
  // H3 has 768P and 2K, Max 480P and 768P (@ai-sdk/minimax 3.0.45).
  resolutions: /^minimax-h3$/i.test(model) ? ["768p"] : ["480p", "768p"],
  frames: ["first", "pair", "last"],
  // Max supports none (@ai-sdk/minimax 3.0.45).
  maxReferences: isMax(model) ? 0 : 9,
  watermark: !isMax(model),
});

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
  return {
    ...common,
    content: toContent(request, urls),
    resolution: (resolution ?? plainResolution).toUpperCase(),
    // With a first frame the video has that image's ratio.
    ...(size !== undefined && !images.some(({ role }) => role === "first_frame") && { ratio: size }),
  };
}
