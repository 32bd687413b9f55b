/** Converts requests to OpenAI's `/v1/videos` format, which has seconds, a size in pixels, a first frame, and its own characters. Pure. */

import { fixedRatio } from "../shared/frames.ts";
import type { GenerationRequest } from "../provider.ts";

/** The parameters of a video; part of its operation, because a remix uses the same. */
export interface VideoFacts {
  model: string;
  seconds: string;
  /** Pixels, `1280x720`. */
  size: string;
}

/** Sora's own values (openai 7.55.0, `VideoSeconds`, `VideoSize`). The larger sizes there are 7:4, which the interface does not have. */
const soraFamily = /^sora-/;
const soraSeconds = new Set([4, 8, 12]);
const soraRatios = new Set(["16:9", "9:16"]);

/** Width and height of a ratio at a resolution; undefined unless both are whole and even. */
function choosePixels(size: string, resolution = "720p"): string | undefined {
  const [width = 0, height = 0] = size.split(":").map(Number);
  const short = Number.parseInt(resolution, 10);
  const long = (short * Math.max(width, height)) / Math.min(width, height);
  if (!Number.isInteger(long) || long % 2 !== 0) return undefined;
  return width >= height ? `${long}x${short}` : `${short}x${long}`;
}

/** The parameters to send. Only for requests that `unsupportedVideo` accepts. */
export const requestFacts = (request: GenerationRequest): VideoFacts => ({
  model: request.model,
  seconds: String(request.duration ?? 8),
  size: choosePixels(fixedRatio(request.size), request.resolution) ?? "",
});

/**
 * The field of a video request that is not supported. `isMaker`: the base URL is OpenAI's own, where Sora accepts 4, 8 or 12 seconds; other
 * upstreams serve models of that name with more.
 */
export function unsupportedVideo(request: GenerationRequest, source: VideoFacts | undefined, isMaker: boolean): string | undefined {
  // It supports only its own characters, two in a video (developers.openai.com, "Video generation"), and none in a remix.
  const maxCharacters = request.kind === "remix" ? 0 : 2;
  if (request.characters.length > maxCharacters || request.characters.some(({ handle }) => handle === undefined)) return "prompt";
  if (request.watermark === true) return "metadata.watermark";
  if (request.promptOptimizer === true) return "metadata.prompt_optimizer";
  if (request.kind === "remix") return unsupportedRemix(request, source);
  const { duration = 8 } = request;
  const size = fixedRatio(request.size);
  if (soraFamily.test(request.model)) {
    if (!soraRatios.has(size)) return "size";
    if (request.resolution !== undefined && request.resolution !== "720p") return "metadata.resolution";
    if (isMaker && !soraSeconds.has(duration)) return "duration";
  }
  if (choosePixels(size, request.resolution) === undefined) return "metadata.resolution";
  // `input_reference` is one image, the first frame.
  return request.images.some(({ role }) => role !== "first_frame") ? "images" : undefined;
}

/** A remix takes only a prompt: model, seconds and size are those of its source. */
function unsupportedRemix(request: GenerationRequest, source: VideoFacts | undefined): string | undefined {
  const wanted = requestFacts(request);
  if (!source || source.model !== wanted.model) return "model";
  if (source.size !== wanted.size) return "size";
  return source.seconds === wanted.seconds ? undefined : "duration";
}
