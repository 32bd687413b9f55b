/** Seedance: the capabilities of its versions, and the body of a video request. */

import { withWatermark } from "./images.ts";
import { splitByRole } from "../shared/frames.ts";
import { toPrompt } from "../shared/prompt.ts";
import type { GenerationRequest } from "../provider.ts";

interface Version {
  /** Duration in whole seconds. */
  from: number;
  to: number;
  resolutions: string[];
  /** True if it supports a last frame beside the first one. */
  hasLastFrame: boolean;
  maxReferences: number;
  /** With a first frame the ratio must be the image's; another one is refused (InvalidParameter.TaskTypeConstraint). */
  isRatioOfFrame: boolean;
}

const upTo720 = ["480p", "720p"];
const upTo1080 = [...upTo720, "1080p"];
const first: Version = { from: 2, to: 12, resolutions: upTo1080, hasLastFrame: true, maxReferences: 0, isRatioOfFrame: false };
const second: Version = { from: 4, to: 15, resolutions: upTo1080, hasLastFrame: true, maxReferences: 9, isRatioOfFrame: false };

/**
 * The first match is used. Seconds and images: docs.byteplus.com/en/docs/ModelArk/1520757; resolutions of 2.x, and that a frame of
 * 2.5 sets the ratio: measured on ap-southeast by others in August and September 2026; 30 seconds: TanStack/ai 1146.
 */
const versions: [RegExp, Version][] = [
  [/seedance-1-0-pro-fast/, { ...first, hasLastFrame: false }],
  [/seedance-1-0-lite/, { ...first, maxReferences: 4 }],
  [/seedance-1-0/, first],
  [/seedance-1-5/, { ...first, from: 4 }],
  [/seedance-2-0-(?:fast|mini)/, { ...second, resolutions: upTo720 }],
  [/seedance-2-0/, second],
  [/seedance-2-5/, { ...second, to: 30, resolutions: upTo720, isRatioOfFrame: true }],
];
/** An endpoint id does not identify its model: only the common capabilities of 2.x and 1.x. */
const unknown: Version = { ...second, to: 12, maxReferences: 4, isRatioOfFrame: true };

const detectVersion = (model: string): Version => versions.find(([pattern]) => pattern.test(model))?.[1] ?? unknown;

const ratios = new Set(["16:9", "9:16", "1:1", "4:3", "3:4", "21:9"]);
const defaultRatio = "16:9";
const wireRoles = { first_frame: "first_frame", last_frame: "last_frame", reference: "reference_image" } as const;

/** The field of a video request that the model does not support. */
export function unsupportedVideo(request: GenerationRequest): string | undefined {
  const version = detectVersion(request.model);
  const { duration = 5, resolution, size = defaultRatio } = request;
  const { first, last, references } = splitByRole(request);
  if (!Number.isInteger(duration) || duration < version.from || duration > version.to) return "duration";
  if (resolution !== undefined && !version.resolutions.includes(resolution)) return "metadata.resolution";
  if (!ratios.has(size) && size !== "auto") return "size";
  if (request.promptOptimizer === true) return "metadata.prompt_optimizer";
  if (last !== undefined && (first === undefined || !version.hasLastFrame)) return "images";
  if (references.length > version.maxReferences) return "images";
  if (references.length > 0 && (first !== undefined || last !== undefined)) return "images";
  if (references.length > 0 && resolution === "1080p") return "metadata.resolution";
  return first !== undefined && version.isRatioOfFrame && size !== "auto" ? "size" : undefined;
}

/** The body of POST /contents/generations/tasks; `urls` are those of the request's images and then its characters'. */
export function videoBody(request: GenerationRequest, urls: string[]) {
  const { model, images, size = defaultRatio, resolution = "720p", duration = 5 } = request;
  const isSetByFrame = detectVersion(model).isRatioOfFrame && images.some(({ role }) => role === "first_frame");
  return {
    model,
    content: [
      { type: "text", text: toPrompt(request) },
      ...urls.map((url, at) => ({ type: "image_url", image_url: { url }, role: wireRoles[images[at]?.role ?? "reference"] })),
    ],
    // Without `adaptive` a portrait frame is cropped to 16:9 (Comfy-Org/ComfyUI 14251).
    ...(!isSetByFrame && { ratio: size === "auto" ? "adaptive" : size }),
    resolution,
    duration,
    // It is on by default in some versions.
    ...withWatermark(request),
    ...(request.thumbnail === true && { return_last_frame: true }),
  };
}
