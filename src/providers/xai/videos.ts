/** Grok Imagine's videos: what its models support, and the body of a request (docs.x.ai, "Video Generation"; @ai-sdk/xai 5.0.12). Pure. */

import { splitByRole } from "../shared/frames.ts";
import { countCharacters, toPrompt } from "../shared/prompt.ts";
import type { GenerationRequest } from "../provider.ts";

interface Version {
  resolutions: string[];
  hasLastFrame: boolean;
  maxReferences: number;
}

const upTo720 = ["480p", "720p"];
const upTo1080 = [...upTo720, "1080p"];

/** The first match is used; other ids get what all of them support. */
const versions: [RegExp, Version][] = [
  [/^grok-imagine-video-1\.5$/, { resolutions: upTo1080, hasLastFrame: true, maxReferences: 7 }],
  [/^grok-imagine-video-1\.5-lite$/, { resolutions: upTo1080, hasLastFrame: false, maxReferences: 0 }],
  [/^grok-imagine-video$/, { resolutions: upTo720, hasLastFrame: false, maxReferences: 7 }],
];
const other: Version = { resolutions: upTo720, hasLastFrame: false, maxReferences: 0 };
const ratios = new Set(["16:9", "9:16", "1:1", "4:3", "3:4", "auto"]);
const maxSeconds = 15;
/** With references, as resellers document it (docs.argil.ai). */
const maxSecondsWithReferences = 10;
const maxPrompt = 4096;

/** The field of a video request that the model does not support. */
export function unsupportedVideo(request: GenerationRequest): string | undefined {
  const { model, duration = 8, size = "16:9", resolution = "720p" } = request;
  const { resolutions, hasLastFrame, maxReferences } = versions.find(([pattern]) => pattern.test(model))?.[1] ?? other;
  const { first, last, references } = splitByRole(request);
  const hasReferences = references.length > 0;
  if (countCharacters(request.prompt) > maxPrompt) return "prompt";
  if (!Number.isInteger(duration) || duration < 1 || duration > (hasReferences ? maxSecondsWithReferences : maxSeconds)) return "duration";
  if (!ratios.has(size)) return "size";
  // A ratio beside a first frame stretches the frame.
  if (first !== undefined && size !== "auto") return "size";
  if (!resolutions.includes(resolution) || (hasReferences && resolution === "1080p")) return "metadata.resolution";
  if (request.watermark === true) return "metadata.watermark";
  if (request.promptOptimizer === true) return "metadata.prompt_optimizer";
  if (last !== undefined && (first === undefined || !hasLastFrame)) return "images";
  return references.length > maxReferences || (hasReferences && first !== undefined) ? "images" : undefined;
}

/** The body of POST /videos/generations; `urls` are those of the request's images and then its characters'. */
export function videoBody(request: GenerationRequest, urls: string[]) {
  const { model, duration = 8, size = "16:9", resolution = "720p" } = request;
  const { first, last, references } = splitByRole(request);
  const at = (index: number | undefined) => (index === undefined ? undefined : { url: urls[index] });
  return {
    model,
    prompt: toPrompt(request, maxPrompt),
    duration,
    ...(size !== "auto" && { aspect_ratio: size }),
    resolution,
    ...(first !== undefined && { image: at(first) }),
    ...(last !== undefined && { last_frame: at(last) }),
    ...(references.length > 0 && { reference_images: references.map(at) }),
  };
}
