/** Grok Imagine's videos: what its models support, and the body of a request (docs.x.ai, "Video Generation"; @ai-sdk/xai 5.0.12). Pure. */

import { byRole } from "../shared/frames.ts";
import { toPrompt } from "../shared/prompt.ts";
import { beyondLimits, secondsFrom, upTo1080, upTo720, type VideoLimits } from "../shared/video-limits.ts";
import type { GenerationRequest } from "../provider.ts";

const maxPrompt = 4096;
const other: VideoLimits = {
  maxPrompt,
  ratios: ["16:9", "9:16", "1:1", "4:3", "3:4"],
  // A ratio beside a first frame stretches the frame.
  ratioBesideFrame: "refused",
  seconds: secondsFrom(1, 15),
  resolutions: upTo720,
  frames: ["first"],
  // As resellers document it (docs.argil.ai).
  withReferences: { seconds: secondsFrom(1, 10), resolutions: upTo720 },
};
/** The first match is used; other ids get what all of them support. */
const versions: [RegExp, VideoLimits][] = [
  [/^grok-imagine-video-1\.5$/, { ...other, resolutions: upTo1080, frames: ["first", "pair"], maxReferences: 7 }],
  [/^grok-imagine-video-1\.5-lite$/, { ...other, resolutions: upTo1080 }],
  [/^grok-imagine-video$/, { ...other, maxReferences: 7 }],
];

/** The field of a video request that the model does not support. */
export const unsupportedVideo = (request: GenerationRequest) =>
  beyondLimits(request, versions.find(([pattern]) => pattern.test(request.model))?.[1] ?? other);

/** The body of POST /videos/generations; `urls` are those of the request's images and then its characters'. */
export function videoBody(request: GenerationRequest, urls: string[]) {
  const { model, duration = 8, size = "16:9", resolution = "720p" } = request;
  const { first, last, references } = byRole(
    request,
    urls.map((url) => ({ url })),
  );
  return {
    model,
    prompt: toPrompt(request, maxPrompt),
    duration,
    ...(size !== "auto" && { aspect_ratio: size }),
    resolution,
    ...(first && { image: first }),
    ...(last && { last_frame: last }),
    ...(references.length > 0 && { reference_images: references }),
  };
}
