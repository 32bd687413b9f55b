/** What MiniMax's models can do, and a request in the words of its two APIs: v1 for Hailuo, v2 for H3 and later. */

import { promptWithNames } from "../shared/prompt.ts";
import type { GenerationRequest } from "../provider.ts";

/** `MiniMax-H3`, `MiniMax-H3-Max`; everything else (`MiniMax-Hailuo-02`, `MiniMax-Hailuo-2.3`) is asked through v1. */
export const isV2 = (model: string) => /^MiniMax-H\d/i.test(model);

const mostPromptV1 = 2000;
const ratios = new Set(["21:9", "16:9", "4:3", "1:1", "3:4", "9:16"]);
const mostReferences = 9;
/** Left to itself, H3 makes the dearest there is: 2K. */
const plainResolution = "768p";

/** The field of the caller that the model cannot honour. */
export function unable(request: GenerationRequest): string | undefined {
  if (request.kind !== "video") return "model";
  return isV2(request.model) ? unableV2(request) : unableV1(request);
}

function unableV1(request: GenerationRequest): string | undefined {
  const { model, duration, resolution } = request;
  const { hasFirst, hasLast, others } = findFrames(request);
  const is23 = /hailuo-2\.3/i.test(model);
  // Nor has it a field for the pictures of characters.
  if (request.characters.length > 0 || countCharacters(request.prompt) > mostPromptV1) return "prompt";
  if (others.length > 0) return others[0]!.role ? "image_with_roles" : "images";
  // cloudflare-docs, catalog-models/minimax-hailuo-2.3: a first frame and no other, 768P and 1080P.
  if (hasLast && (!hasFirst || is23)) return frameField(request, "last_frame");
  // novita.ai/docs, minimax-hailuo-2.3-fast-i2v: its picture is required.
  if (!hasFirst && /-fast$/i.test(model)) return frameField(request, "first_frame");
  // There is no field for it: a film follows its first frame, and is landscape without one.
  if (!hasFirst && request.size !== undefined && request.size !== "16:9") return "size";
  if (duration !== 6 && duration !== 10) return "duration";
  const isPossible =
    resolution === undefined ||
    resolution === "768p" ||
    (resolution === "512p" && hasFirst && !hasLast && !is23) ||
    (resolution === "1080p" && duration === 6);
  return isPossible ? undefined : "metadata.resolution";
}

function unableV2(request: GenerationRequest): string | undefined {
  const { duration, resolution } = request;
  const { hasFirst, hasLast, others } = findFrames(request);
  const isMax = /-max$/i.test(request.model);
  const isPlain = /^minimax-h3$/i.test(request.model);
  if (hasLast && !hasFirst) return frameField(request, "last_frame");
  // A film follows frames or references, not both; Max takes no references (@ai-sdk/minimax 3.0.45).
  const references = others.length + request.characters.length;
  if (references > 0 && (hasFirst || isMax || references > mostReferences))
    return others.length === 0 ? "prompt" : others[0]!.role ? "image_with_roles" : "images";
  if (!hasFirst && request.size !== undefined && !ratios.has(request.size)) return "size";
  if (duration === undefined || !Number.isInteger(duration) || duration < (isMax ? 5 : 4) || duration > 15) return "duration";
  // H3 has 768P and 2K, Max 480P and 768P (@ai-sdk/minimax 3.0.45).
  const isPossible = resolution === undefined || resolution === "768p" || (resolution === "480p" && !isPlain);
  if (!isPossible) return "metadata.resolution";
  // It writes no prompts anew: not to do so is all it can promise.
  return request.promptOptimizer ? "metadata.prompt_optimizer" : undefined;
}

const findFrames = ({ images }: GenerationRequest) => ({
  hasFirst: images.some(({ role }) => role === "first_frame"),
  hasLast: images.some(({ role }) => role === "last_frame"),
  others: images.filter(({ role }) => role !== "first_frame" && role !== "last_frame"),
});

/** Only models that take frames one by one have these resolutions. */
const frameField = ({ resolution }: GenerationRequest, role: "first_frame" | "last_frame") =>
  resolution === "512p" || resolution === "768p" ? `metadata.${role}_image` : "image_with_roles";

const countCharacters = (text: string) => Array.from(text).length;

/** A style is advice: it goes into the prompt where there is room for it. */
function toPrompt(request: GenerationRequest): string {
  const { style, model } = request;
  const prompt = promptWithNames(request);
  if (style === undefined) return prompt;
  const styled = `${prompt}\n\nStyle: ${style}.`;
  return !isV2(model) && countCharacters(styled) > mostPromptV1 ? prompt : styled;
}

/** The body of `POST /v1/video_generation` or `POST /v2/video_generation`; `urls` are those of the caller's pictures and then the characters'. */
export function toBody(job: GenerationRequest, urls: string[]): Record<string, unknown> {
  const pictures = urls.map((url, at) => {
    const role = job.images[at]?.role ?? "reference";
    return { role: role === "reference" ? "reference_image" : role, url };
  });
  const { model, duration, resolution, watermark, promptOptimizer, size } = job;
  const common = { model, duration, ...(watermark !== undefined && { aigc_watermark: watermark }) };
  if (!isV2(model))
    return {
      ...common,
      prompt: toPrompt(job),
      ...(resolution !== undefined && { resolution: resolution.toUpperCase() }),
      ...(promptOptimizer !== undefined && { prompt_optimizer: promptOptimizer }),
      ...Object.fromEntries(pictures.map(({ role, url }) => [`${role}_image`, url])),
    };
  return {
    ...common,
    content: [{ type: "text", text: toPrompt(job) }, ...pictures.map(({ role, url }) => ({ type: "image_url", image_url: { url }, role }))],
    resolution: (resolution ?? plainResolution).toUpperCase(),
    // Frames decide it themselves.
    ...(size !== undefined && !findFrames(job).hasFirst && { ratio: size }),
  };
}
