/** Seedance: the capabilities of its versions, and the body of a video request. */

import { withWatermark } from "./images.ts";
import { toContent } from "../shared/prompt.ts";
import { beyondLimits, secondsFrom, upTo1080, upTo720, type VideoLimits } from "../shared/video-limits.ts";
import type { GenerationRequest } from "../provider.ts";

const ratios = ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "auto"];
const first: VideoLimits = { ratios, seconds: secondsFrom(2, 12), resolutions: upTo1080, frames: ["first", "pair"], watermark: true };
const withReferences = { resolutions: upTo720 };
const second: VideoLimits = { ...first, seconds: secondsFrom(4, 15), maxReferences: 9, withReferences };

/**
 * The first match is used. Seconds and images: docs.byteplus.com/en/docs/ModelArk/1520757; resolutions of 2.x, and that a frame of
 * 2.5 sets the ratio: measured on ap-southeast by others in August and September 2026; 30 seconds: TanStack/ai 1146.
 */
const versions: [RegExp, VideoLimits][] = [
  [/seedance-1-0-pro-fast/, { ...first, frames: ["first"] }],
  [/seedance-1-0-lite/, { ...first, maxReferences: 4, withReferences }],
  [/seedance-1-0/, first],
  [/seedance-1-5/, { ...first, seconds: secondsFrom(4, 12) }],
  [/seedance-2-0-(?:fast|mini)/, { ...second, resolutions: upTo720 }],
  [/seedance-2-0/, second],
  // Another ratio than the first frame's is refused (InvalidParameter.TaskTypeConstraint).
  [/seedance-2-5/, { ...second, seconds: secondsFrom(4, 30), resolutions: upTo720, ratioBesideFrame: "refused" }],
];
/** An endpoint id does not identify its model: only the common capabilities of 2.x and 1.x. */
const unknown: VideoLimits = { ...second, seconds: secondsFrom(4, 12), maxReferences: 4, ratioBesideFrame: "refused" };
const detectLimits = (model: string): VideoLimits => versions.find(([pattern]) => pattern.test(model))?.[1] ?? unknown;

/** The field of a video request that the model does not support. */
export const unsupportedVideo = (request: GenerationRequest) => beyondLimits(request, detectLimits(request.model));

/** The body of POST /contents/generations/tasks; `urls` are those of the request's images and then its characters'. */
export function videoBody(request: GenerationRequest, urls: string[]) {
  const { model, images, size = "16:9", resolution = "720p", duration = 5 } = request;
  const isSetByFrame = detectLimits(model).ratioBesideFrame === "refused" && images.some(({ role }) => role === "first_frame");
  return {
    model,
    content: toContent(request, urls),
    // Without `adaptive` a portrait frame is cropped to 16:9 (Comfy-Org/ComfyUI 14251).
    ...(!isSetByFrame && { ratio: size === "auto" ? "adaptive" : size }),
    resolution,
    duration,
    // It is on by default in some versions.
    ...withWatermark(request),
    ...(request.thumbnail === true && { return_last_frame: true }),
  };
}
