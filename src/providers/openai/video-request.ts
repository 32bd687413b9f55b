/** Which films OpenAI's `/v1/videos` format can be asked for: it knows seconds, a size in pixels, one picture to begin with, and its own characters. Pure. */

import type { GenerationRequest } from "../provider.ts";

/** What a film was asked for with; kept in its operation, for a remix follows it. */
export interface FilmFacts {
  model: string;
  seconds: string;
  /** Pixels, `1280x720`. */
  size: string;
}

/** Sora's own values (openai 7.55.0, `VideoSeconds`, `VideoSize`). The larger sizes there are 7:4, which nobody can ask for. */
const soraFamily = /^sora-/;
const soraSeconds = new Set([4, 8, 12]);
const soraRatios = new Set(["16:9", "9:16"]);

/** Width and height of a ratio at a resolution, where both are whole and even; 720p unless told. */
function choosePixels(size: string, resolution = "720p"): string | undefined {
  const [width = 0, height = 0] = size.split(":").map(Number);
  const short = Number.parseInt(resolution, 10);
  const long = (short * Math.max(width, height)) / Math.min(width, height);
  if (!Number.isInteger(long) || long % 2 !== 0) return undefined;
  return width >= height ? `${long}x${short}` : `${short}x${long}`;
}

/** What the format would be asked for. Only for wishes that `unableFilm` lets pass. */
export const requestFacts = (request: GenerationRequest): FilmFacts => ({
  model: request.model,
  seconds: String(request.duration ?? 8),
  size: choosePixels(request.size ?? "16:9", request.resolution) ?? "",
});

/**
 * The field of a film's request that cannot be honoured. `isMaker`: it is asked for at the maker's own address, where Sora takes
 * 4, 8 or 12 seconds; others serve models of that name with more.
 */
export function unableFilm(request: GenerationRequest, source: FilmFacts | undefined, isMaker: boolean): string | undefined {
  // It knows its own characters alone, two to a film (developers.openai.com, "Video generation"), and none in a remix.
  const mostCharacters = request.kind === "remix" ? 0 : 2;
  if (request.characters.length > mostCharacters || request.characters.some(({ handle }) => handle === undefined)) return "prompt";
  if (request.watermark === true) return "metadata.watermark";
  if (request.promptOptimizer === true) return "metadata.prompt_optimizer";
  if (request.kind === "remix") return unableRemix(request, source);
  const { size = "16:9", duration = 8 } = request;
  if (soraFamily.test(request.model)) {
    if (!soraRatios.has(size)) return "size";
    if (request.resolution !== undefined && request.resolution !== "720p") return "metadata.resolution";
    if (isMaker && !soraSeconds.has(duration)) return "duration";
  }
  if (choosePixels(size, request.resolution) === undefined) return "metadata.resolution";
  // `input_reference` is one picture, and the film begins with it.
  if (request.images.some(({ role }) => role !== undefined && role !== "first_frame")) return "image_with_roles";
  return request.images.length > 1 ? "images" : undefined;
}

/** A remix takes a prompt alone: model, seconds and size are those of its source. */
function unableRemix(request: GenerationRequest, source: FilmFacts | undefined): string | undefined {
  const wanted = requestFacts(request);
  if (!source || source.model !== wanted.model) return "model";
  if (source.size !== wanted.size) return "size";
  return source.seconds === wanted.seconds ? undefined : "duration";
}
