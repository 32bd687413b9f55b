/** What a video model can make at a maker, as data; one check of these limits serves all makers. */

import type { GenerationRequest } from "../provider.ts";
import { splitByRole } from "./frames.ts";
import { countCharacters } from "./prompt.ts";

/** Without a field nothing of it is limited, except for what is an image or a switch: then the model does not take it. */
export interface VideoLimits {
  /** Characters. */
  maxPrompt?: number;
  /** `auto` is the ratio of the first frame. */
  ratios?: readonly string[];
  /** What becomes of a stated ratio beside a first frame if the video gets that frame's: it is ignored, or the route is passed over. */
  ratioBesideFrame?: "ignored" | "refused";
  seconds?: readonly number[];
  resolutions?: readonly string[];
  /** The frames that it takes: a first one, a first and a last one, a last one alone. */
  frames?: readonly ("first" | "pair" | "last")[];
  /** Never beside a frame. */
  maxReferences?: number;
  /** Limits that are other ones with references. */
  withReferences?: Pick<VideoLimits, "ratios" | "seconds" | "resolutions">;
  watermark?: boolean;
  promptOptimizer?: boolean;
}

/** Whole seconds. */
export const secondsFrom = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);

export const upTo720: readonly string[] = ["480p", "720p"];
export const upTo1080: readonly string[] = [...upTo720, "1080p"];

/** The field of a video request that is not within the limits. */
export function beyondLimits(request: GenerationRequest, limits: VideoLimits): string | undefined {
  const { size, duration, resolution } = request;
  const { first, last, references } = splitByRole(request);
  const { ratios, seconds, resolutions } = { ...limits, ...(references.length > 0 && limits.withReferences) };
  const besideFrame = first === undefined ? undefined : limits.ratioBesideFrame;
  if (countCharacters(request.prompt) > (limits.maxPrompt ?? Infinity)) return "prompt";
  const frames = first === undefined ? last !== undefined && "last" : last === undefined ? "first" : "pair";
  if (frames && !limits.frames?.includes(frames)) return "images";
  if (references.length > (frames ? 0 : (limits.maxReferences ?? 0))) return "images";
  if (besideFrame === "refused" ? size !== "auto" : besideFrame !== "ignored" && isOutside(size, ratios)) return "size";
  if (isOutside(duration, seconds)) return "duration";
  if (isOutside(resolution, resolutions)) return "metadata.resolution";
  if (request.watermark && !limits.watermark) return "metadata.watermark";
  return request.promptOptimizer && !limits.promptOptimizer ? "metadata.prompt_optimizer" : undefined;
}

const isOutside = <T>(value: T | undefined, allowed: readonly T[] | undefined): boolean =>
  value !== undefined && allowed !== undefined && !allowed.includes(value);
